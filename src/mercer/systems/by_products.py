"""The ridge system of a basis by products only: no matrix of moments is ever formed.

.. math:: (S/W - m m' + \\lambda \\Gamma)\\, c = t/W - m \\bar y, \\qquad
          S c = \\sum_j S_j c

Each shard multiplies with its own rows, kept as values of the basis where they fit in memory, and
sends a vector a step.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.engines import count_numbers
from mercer.moments.products import product_of, vector_sums_of
from mercer.rows.rowset import Placed
from mercer.validation import check_total_weight


class ProductSystem:
    """Products with the rows of all shards, and the penalty, for one alpha.

    Parameters
    ----------
    products : Placed
        :class:`mercer.moments.products.RowProducts` of every shard, where the shard is.
    basis : BasisTransformer
        The functions.
    alpha : float
        The penalty.
    intercept : bool
        Whether a constant is fitted.
    preconditioner : callable
        R -> P^-1 R.
    keeps_values : bool
        Whether shards keep the values of all rows; there is room for those of the landmarks then.
    """

    offers = frozenset({"products"})
    #: Of the error in f, where none is asked for: the basis is an approximation itself.
    tolerance = 1e-2

    def __init__(
        self,
        products: Placed,
        basis: Any,
        alpha: float,
        intercept: bool,
        preconditioner: Any,
        keeps_values: bool = False,
    ) -> None:
        total = products.sum(vector_sums_of, operator.add, label="rows", record="sums")
        sums, self._between = total.joined()
        check_total_weight(sums.weight)
        self._products, self.basis, self.alpha = products, basis, alpha
        self.weight = sums.weight
        self.count = max(sums.weight, float(sums.rows))
        size, outputs = sums.cross.shape
        self.mean_h = sums.sum_h / self.weight if intercept else np.zeros(size)
        self.mean_y = sums.sum_y / self.weight if intercept else np.zeros(outputs)
        self.b = sums.cross / self.weight - np.outer(self.mean_h, self.mean_y)
        self.precondition = preconditioner
        self._gram = basis.fast_gram() if keeps_values else None

    @property
    def mixed(self) -> bool:
        """Whether fast products are coarser than exact ones."""
        return bool(self.basis.precision_ == "float32")

    def product(self, V: Array, exact: bool) -> Array:
        """Return the system times V."""
        image = self._products.sum(
            product_of,
            operator.add,
            V,
            exact,
            record="product",
            to_shard=count_numbers(V),
            light=True,
        )
        if len(self._between):
            image = image + self._between.T @ (self._between @ V)
        image = image / self.weight
        image -= np.outer(self.mean_h, self.mean_h @ V)
        if self.alpha:
            if exact or self._gram is None:
                image += self.alpha * self.basis.penalty(V, exact)
            else:
                image += self.alpha * (self._gram @ V.astype(self._gram.dtype))
        return np.asarray(image)

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return the coefficients, and the constant (k,) that goes with them."""
        return value, np.asarray(self.mean_y - self.mean_h @ value)

    def kept(self) -> dict[str, Any]:
        """Return what a fit remembers of the rows: nothing."""
        return {}

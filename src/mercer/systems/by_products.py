"""The ridge system of a basis by products only: no matrix of moments is ever formed.

.. math:: (S/W - m m' + \\lambda \\Gamma)\\, c = t/W - m \\bar y, \\qquad
          S c = \\sum_j S_j c

Each shard multiplies by its own rows, stored as basis values if they fit in memory, and sends one
vector per step.
"""

from __future__ import annotations

import operator
from functools import cached_property
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Solution
from mercer.engines import count_numbers
from mercer.moments.products import product_of, vector_sums_of
from mercer.rows.rowset import Placed
from mercer.systems.preconditioners import LandmarkPreconditioner, SamplePreconditioner
from mercer.validation import check_total_weight

#: Random vectors that estimate the trace of an inverse.
PROBES = 8
#: Errors of rounding are taken to be so many times as large as they usually are.
MARGIN = 2.0


class ProductSystem:
    """``(S/W - m m' + alpha Gamma) c = t/W - m ybar`` by products, for one alpha.

    Parameters
    ----------
    products : Placed
        :class:`mercer.moments.products.RowProducts` of every shard, held by that shard.
    basis : BasisTransformer
        The functions.
    alpha : float
        The penalty.
    intercept : bool
        Whether to fit an intercept.
    preconditioner : callable
        R -> P^-1 R.
    keeps_values : bool
        Whether shards store the basis values of all rows; then Gamma can be stored too.
    """

    offers = frozenset({"products"})
    #: Default tolerance of the relative error in f: far below what n rows can say about it, so that
    #: squared errors change by a part in a million.
    tolerance = 1e-3

    def __init__(
        self,
        products: Placed,
        basis: BasisTransformer,
        alpha: float,
        intercept: bool,
        preconditioner: SamplePreconditioner | LandmarkPreconditioner,
        keeps_values: bool = False,
    ) -> None:
        total = products.sum(vector_sums_of, operator.add, label="rows", record="sums")
        sums, self.between = total.joined()
        check_total_weight(sums.weight)
        self.products, self.basis, self.alpha = products, basis, alpha
        self.sums, self.intercept = sums, intercept
        self.weight = sums.weight
        self.count = max(sums.weight, float(sums.rows))
        size, outputs = sums.cross.shape
        self.mean_h = sums.sum_h / self.weight if intercept else np.zeros(size)
        self.mean_y = sums.sum_y / self.weight if intercept else np.zeros(outputs)
        self.b = sums.cross / self.weight - np.outer(self.mean_h, self.mean_y)
        #: Mean square of y, centered with an intercept; shape (k,).
        self.target_square = np.maximum(sums.sum_yy / self.weight - self.mean_y**2, 0.0)
        self.precondition = preconditioner
        self._gram = basis.fast_gram() if keeps_values else None

    @property
    def mixed(self) -> bool:
        """Whether fast products have a lower precision than exact ones."""
        return bool(self.basis.precision_ == "float32")

    def product(self, V: Array, exact: bool) -> Array:
        """Return ``(S/W - m m' + alpha Gamma) V``."""
        image = self.products.sum(
            product_of,
            operator.add,
            V,
            exact,
            record="product",
            to_shard=count_numbers(V),
            light=True,
        )
        if len(self.between):
            image = image + self.between.T @ (self.between @ V)
        image = image / self.weight
        image -= np.outer(self.mean_h, self.mean_h @ V)
        return np.asarray(image + self.penalty(V, exact))

    @property
    def weakest(self) -> float:
        """The eigenvalue of ``P^-1 A`` for functions that neither the rows nor the sample show."""
        return float(self.precondition.weakest) if self.alpha else 1.0

    def rounding(self, value: Array, sizes: Array) -> Array:
        """Return what rounding adds to the squared error of each column, in the norm of A.

        With values h + e, where e are independent errors of deviation s, ``A c - b`` changes by
        ``sum_i (h_i e_i'c - e_i (y_i - f_i)) / n``. The first part is a projection of errors s
        ||c|| of f; the second is of size ``s rms(y - f) / root n`` in every direction. Sums over
        rows, ``alpha Gamma c`` and ``m'c`` are rounded in float64.
        """
        sums = MARGIN * np.finfo(np.float64).eps
        values = MARGIN * self.precondition.rounding
        f_square = np.maximum(np.einsum("ij,ij->j", value, self.b), 0.0)
        left = np.maximum(self.target_square - f_square, 0.0)
        trace, mean = self._inverse_sizes
        projected = values**2 + sums**2 * (1.0 + mean)
        spread = values**2 * left / self.sums.rows + sums**2 * self.target_square
        squares = np.einsum("ij,ij->j", sizes, sizes)
        spread += (sums * self.alpha) ** 2 * squares
        return np.asarray(projected * squares + spread * trace)

    @cached_property
    def _inverse_sizes(self) -> tuple[float, float]:
        """The trace of ``A^-1`` (Hutchinson, 1990), and ``m' A^-1 m``: at most, by P^-1."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(self.b), PROBES))
        probes = np.column_stack([signs, self.mean_h])
        sizes = np.einsum("ij,ij->j", probes, self.precondition(probes))
        sizes /= max(self.weakest, np.finfo(np.float64).eps)
        return float(sizes[:-1].mean()), float(sizes[-1])

    def penalty(self, V: Array, exact: bool) -> Array | float:
        """Return ``alpha Gamma V``."""
        if not self.alpha:
            return 0.0
        if exact or self._gram is None:
            return np.asarray(self.alpha * self.basis.penalty(V, exact))
        return np.asarray(self.alpha * (self._gram @ V.astype(self._gram.dtype)))

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return the coefficients (M, k) and the intercept (k,)."""
        return value, np.asarray(self.mean_y - self.mean_h @ value)

    def residual_square(self, solution: Solution) -> Array | None:
        """Return ``sum_i w_i (y_i - f(x_i))^2``, of shape (k,), without another product.

        With A = S/W - m m', ``2 b'c - c'Ac`` is the gain of the solve plus ``alpha c' Gamma c``.
        """
        if solution.gain is None:
            return None
        c = solution.value
        norms = np.einsum("ij,ij->j", c, self.basis.penalty(c, exact=True))
        left = self.target_square - solution.gain - self.alpha * norms
        return np.asarray(self.weight * np.maximum(left, 0.0))

    def kept(self) -> dict[str, Any]:
        """Return what a fit stores of the rows: nothing."""
        return {}

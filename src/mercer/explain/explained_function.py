"""One output of a fitted model as a function of encoded rows, with its gradient.

.. math:: f(u) = \\sum_j c_j h_j(u) + b, \\qquad
          \\nabla f(u) = 2\\, s'(u) \\circ Q \\Big(u \\sum_j a_j - Z'a\\Big)

with ``a_j = c_j k'(s_j)`` for a kernel of the distance in the metric ``Q = PP'`` of scaled columns
(Radhakrishnan, Beaglehole, Pandit and Belkin, 2024). A kernel without a gradient is differentiated
by central differences, in float64.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer.bases import BasisTransformer, RandomFeatures
from mercer.columns.scaling import MeanSlopes
from mercer.contracts import Array, Rows
from mercer.kernels import InMetric
from mercer.kernels.feature_maps import FeaturesInMetric

#: Kernel values, and entries of gradients, that are held at a time.
ENTRIES = 2**22
#: The step of central differences, in standard deviations.
STEP = 1e-5


@dataclass(frozen=True)
class ExplainedFunction:
    """``f(u) = h(u)'c + intercept`` for rows u of numbers.

    Parameters
    ----------
    basis : BasisTransformer
        The fitted functions.
    coefficients : array of shape (M, 1)
        The coefficients c.
    intercept : float
        The constant.

    Examples
    --------
    >>> from mercer import KernelRegressor, Linear
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> model = KernelRegressor(Linear(), alpha=1e-9, scale=None).fit(X, X @ [3.0, -1.0])
    >>> f = ExplainedFunction(model.basis_, model.dual_coef_, 0.0)
    >>> f.gradients(X[:1], np.ones(2)).round(3)
    array([[ 3., -1.]])
    """

    basis: BasisTransformer
    coefficients: Array
    intercept: float

    @property
    def has_gradient(self) -> bool:
        """Whether gradients are exact, or central differences."""
        return self.basis.has_gradient

    def values(self, U: Array) -> Array:
        """Return f(u), of shape (rows,)."""
        return self._values(self.basis, U) + self.intercept

    def gradients(self, U: Array, spread: Array) -> Array:
        """Return the gradient at each row; ``spread`` are the units of differences, if needed."""
        basis = with_mean_slopes(self.basis)
        basis.widen()  # terms may cancel
        if not basis.has_gradient:
            return self._differences(basis, U, spread)
        gradients = basis.gradients(self.coefficients)
        return _in_pieces(lambda rows: gradients(rows)[0], U, U.shape[1])

    def _differences(self, basis: BasisTransformer, U: Array, spread: Array) -> Array:
        found = np.empty(U.shape)
        for column, unit in enumerate(np.where(spread > 0, spread, 1.0)):
            sides = []
            for step in (STEP * unit, -STEP * unit):
                moved = U.copy()
                moved[:, column] += step
                sides.append(self._values(basis, moved))
            found[:, column] = (sides[0] - sides[1]) / (2 * STEP * unit)
        return found

    def _values(self, basis: BasisTransformer, U: Array) -> Array:
        evaluate, coefficients, width = basis.prediction(self.coefficients)

        def piece(rows: Rows) -> Array:
            H = evaluate(rows, np.empty((rows.shape[0], width), dtype=basis.precision_))
            return np.asarray(H.astype(np.float64, copy=False) @ coefficients)

        return _in_pieces(piece, U, width)[:, 0]


def with_mean_slopes(basis: BasisTransformer) -> BasisTransformer:
    """Return a copy whose gradient at a kink of the scaling is the mean of those on both sides.

    Rows of the fit are at such kinks: the knots of quantiles are values of these rows.
    """
    found = copy.copy(basis)
    kernel = found.kernel_
    if isinstance(kernel, InMetric) and kernel.metric.scaling is not None:
        metric = replace(kernel.metric, scaling=MeanSlopes(kernel.metric.scaling))
        found.kernel_ = InMetric(kernel.kernel, metric)
        if isinstance(found, RandomFeatures) and isinstance(found.features_, FeaturesInMetric):
            found.features_ = replace(found.features_, metric=metric)
    return found


def _in_pieces(function: Callable[[Rows], Array], U: Array, width: int) -> Array:
    """Return a function of rows, a few of which are taken at a time."""
    step = max(1, min(4096, ENTRIES // max(1, width)))
    return np.concatenate([function(U[at : at + step]) for at in range(0, len(U), step)])

"""The variance of a fit to the functions of a basis, from its moments.

.. math:: \\frac{v(x)}{\\sigma^2} =
          \\frac1W \\big(1 + (g - \\bar g)'(A + \\lambda)^{-1}(g - \\bar g)\\big)
          + \\frac1{W\\lambda} \\big(K(x, x) - g'g\\big), \\qquad g = R'h(x)

Coefficients have the prior variance ``sigma^2 / (W lambda)`` in each direction, the intercept a
flat prior (it adds the 1 and the means; without it there are neither), and rows have noise
``sigma^2 / w_i``: the first term is the posterior variance of Bayesian linear regression (Rasmussen
and Williams, 2006, section 2.1). The second is the prior variance of what the functions do not
span: without it, rows far from every landmark would look certain (Quinonero-Candela and Rasmussen,
2005, who call the first term alone the subset of regressors, and the sum the projected process).
Random features approximate the kernel itself and have no such part.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Rows
from mercer.inference.shifted_inverse import ShiftedInverse
from mercer.moments import Moments
from mercer.systems import MomentSystem


class MomentVariance:
    """``v(x) / sigma^2`` for the functions of a basis; M^2 multiplications a row.

    Parameters
    ----------
    folds : sequence of Moments
        The moments of the fit.
    basis : BasisTransformer
        The fitted basis. Rows are evaluated in float64, whatever its precision.
    alpha : float
        The penalty, positive.
    intercept : bool
        Whether an unpenalized intercept was fitted.

    Attributes
    ----------
    weight : float
        W, the weight of the labelled rows.
    width : int
        M, the number of values held for each row.
    """

    shape: tuple[int, ...] = ()

    def __init__(
        self, folds: Sequence[Moments], basis: BasisTransformer, alpha: float, intercept: bool
    ) -> None:
        self.system = MomentSystem(folds, basis, intercept, np.ones(len(folds[0].sum_y)))
        self.alpha, self.intercept, self.width = alpha, intercept, basis.size
        # The sums over all rows, labelled or not, approximate those over labelled rows.
        self.weight = self.system.total.target_weight
        self._inverse = ShiftedInverse(self.system.A, alpha)
        self._mean = self.system.whitener.vectors(self.system.mean_h)[:, None]
        self._basis, self._whitener = basis, self.system.whitener
        if basis.precision_ != "float64":  # K(x, x) - g'g cancels
            self._basis = copy.copy(basis)
            self._basis.widen()
            self._whitener = self._basis.whitener()

    @property
    def effective_dimension(self) -> float:
        """``trace(A (A + alpha)^-1)``."""
        return self._inverse.effective_dimension

    def residual_square(self, coefficients: Array) -> Array | None:
        """Return ``sum_i w_i (y_i - f(x_i))^2``, given the coefficients (M, k) of h; shape (k,).

        None if some rows have no label: the sum of ``f(x_i)^2`` is then over more rows.
        """
        if self.system.total.target_rows != self.system.total.rows:
            return None
        basis, system = self._basis, self.system
        v = self._whitener.vectors(basis.vectors(basis.penalty(coefficients, exact=True)))
        explained = np.einsum("ij,ij->j", v, 2.0 * system.b - system.A @ v)
        return np.asarray(self.weight * np.maximum(system.target_square - explained, 0.0))

    def _parts(self, X: Rows) -> tuple[Array, Array]:
        """Return what the functions span, and K(x, x) less the part that they span."""
        g = self._whitener.vectors(self._basis.orthogonalized(X).T)
        half = self._inverse.half(g - self._mean)
        spanned = np.einsum("ij,ij->j", half, half) + float(self.intercept)
        if not self._basis.projects:
            return spanned, np.zeros(len(spanned))
        missed = self._basis.kernel_.diag(X) - np.einsum("ij,ij->j", g, g)
        return spanned, np.maximum(missed, 0.0)

    def of_rows(self, X: Rows) -> Array:
        """Return ``v(x) / sigma^2`` for every row of a block."""
        spanned, missed = self._parts(X)
        return np.asarray((spanned + missed / self.alpha) / self.weight)

    def leverage(self, X: Rows) -> Array:
        """Return by how much f(x) follows the target of a row x of weight 1 that was fitted."""
        return np.asarray(self._parts(X)[0] / self.weight)

"""The inverse of a shifted matrix by one factor, for quadratic forms and the effective dimension.

.. math:: (A + \\alpha)^{-1} = P'P, \\qquad
          \\operatorname{tr} A (A + \\alpha)^{-1} = r - \\alpha \\|P\\|_F^2
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array
from mercer.systems.direct import safe_factor
from mercer.systems.spectrum import Spectrum


class ShiftedInverse:
    """``(A + alpha)^-1 = P'P`` for symmetric positive semi-definite A and alpha > 0.

    P is the inverse of a Cholesky factor. Where rounding in A is not clearly below alpha, it comes
    from the eigenvalues, those below rounding set to 0: such directions keep their prior variance.

    Parameters
    ----------
    A : array of shape (r, r)
        Symmetric positive semi-definite.
    alpha : float
        The shift, positive.

    Examples
    --------
    >>> inverse = ShiftedInverse(np.array([[3.0]]), 1.0)
    >>> half = inverse.half(np.array([[2.0]]))
    >>> half.item(), inverse.back(half).item(), inverse.effective_dimension
    (1.0, 0.5, 0.75)
    """

    def __init__(self, A: Array, alpha: float) -> None:
        self.alpha, self.size = alpha, len(A)
        self._factor: Array | None = safe_factor(A, alpha)
        if self._factor is None:
            spectrum = Spectrum.of(np.array(A), np.zeros((len(A), 0)))
            self._values, self._vectors = spectrum.values, spectrum.vectors
            self._root = np.sqrt(spectrum.values + alpha)[:, None]

    def half(self, V: Array) -> Array:
        """Return ``P V``, whose columns have the squared norms ``v'(A + alpha)^-1 v``."""
        if self._factor is None:
            return np.asarray(self._vectors.T @ V / self._root)
        return np.asarray(solve_triangular(self._factor, V, lower=True, check_finite=False))

    def back(self, V: Array) -> Array:
        """Return ``P'V``."""
        if self._factor is None:
            return np.asarray(self._vectors @ (V / self._root))
        solved = solve_triangular(self._factor, V, lower=True, trans="T", check_finite=False)
        return np.asarray(solved)

    @cached_property
    def effective_dimension(self) -> float:
        """``trace(A (A + alpha)^-1)``."""
        if self._factor is None:
            return float(np.sum(self._values / (self._values + self.alpha)))
        if not self.size:
            return 0.0
        inverse, info = lapack.dtrtri(self._factor, lower=1)
        if info != 0:
            raise ValueError(f"LAPACK dtrtri refused its argument {-info}")
        return float(self.size - self.alpha * np.einsum("ij,ij->", inverse, inverse))

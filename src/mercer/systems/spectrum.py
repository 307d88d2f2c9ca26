"""One eigendecomposition, from which every alpha costs almost nothing.

.. math:: A = U \\operatorname{diag}(s) U', \\quad \\beta = U'b, \\quad
          v(\\lambda) = U \\operatorname{diag}\\Big(\\frac{1}{s + \\lambda}\\Big) \\beta
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from mercer.contracts import Array
from mercer.engines import available_cores, blas_threads

#: Size from which the eigendecomposition runs on all cores.
THREADED = 1000


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and vectors of A, with those that rounding has made set to zero.

    Rounding moves eigenvalues up as far as down: a negative one measures it. Directions whose
    eigenvalue is not above that are dropped (their filter is 0), as the pseudo-inverse does.
    """

    values: Array  # (r,), increasing, at least 0
    vectors: Array  # (r, r)
    beta: Array  # (r, k)
    #: Whether alpha is a threshold, below which eigenvalues are cut off, instead of a penalty.
    cutoff: bool = False

    @classmethod
    def of(cls, A: Array, b: Array, cutoff: bool = False) -> Spectrum:
        """Decompose A; it may be overwritten."""
        if A.size == 0:
            return cls(np.zeros(0), np.zeros((0, 0)), np.zeros((0, b.shape[1])), cutoff)
        # For a small matrix a second thread saves nothing, and on a busy machine it costs much.
        with blas_threads(available_cores() if len(A) >= THREADED else 1):
            values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
        floor = max(-2.0 * values[0], 4 * np.finfo(float).eps * len(values) * values[-1])
        return cls(np.where(values > floor, values, 0.0), vectors, vectors.T @ b, cutoff)

    @property
    def dropped(self) -> int:
        """How many directions are below the noise."""
        return int(np.count_nonzero(self.values == 0.0))

    def filter(self, alpha: float) -> Array:
        """Return ``1 / (s + alpha)``, or ``1 / s`` where s is at least alpha for the cut-off.

        It is 0 for dropped directions.
        """
        kept = self.values > 0
        inverse = np.zeros_like(self.values)
        if self.cutoff:
            kept &= self.values >= alpha
        np.divide(1.0, self.values + alpha * (not self.cutoff), out=inverse, where=kept)
        return inverse

    def solve(self, alpha: float) -> Array:
        """Return v(alpha) in the coordinates of A, of shape (r, k)."""
        return np.asarray(self.vectors @ (self.filter(alpha)[:, None] * self.beta))

    def effective_dimension(self, alpha: float) -> float:
        """Return ``trace(A (A + alpha)^-1)``."""
        return float(self.values @ self.filter(alpha))

    def explained(self, alpha: float) -> Array:
        """Return ``2 b'v - v'Av``, what the fit takes off the mean square of y; shape (k,)."""
        inverse = self.filter(alpha)
        return np.asarray((inverse * (2.0 - inverse * self.values)) @ self.beta**2)

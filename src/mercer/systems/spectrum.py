"""One eigendecomposition, which makes every alpha cheap.

.. math:: A = U \\operatorname{diag}(s) U', \\quad \\beta = U'b, \\quad
          v(\\lambda) = U \\operatorname{diag}\\Big(\\frac{1}{s + \\lambda}\\Big) \\beta
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from mercer.contracts import Array
from mercer.engines import available_cores, blas_threads

#: From this size on, the eigendecomposition runs on all cores.
THREADED = 1000


@dataclass(frozen=True)
class Spectrum:
    """``A = U diag(s) U'``, with eigenvalues below rounding set to zero, and ``beta = U'b``.

    Rounding moves eigenvalues up as far as down, so the most negative one measures it. Directions
    with an eigenvalue not above that level are dropped (their filter is 0), as in a pseudo-inverse.
    """

    values: Array  # (r,), increasing, at least 0
    vectors: Array  # (r, r)
    beta: Array  # (r, k)
    #: Whether alpha is a threshold below which eigenvalues are cut off, instead of a penalty.
    cutoff: bool = False

    @classmethod
    def of(cls, A: Array, b: Array, cutoff: bool = False) -> Spectrum:
        """Decompose A; it may be overwritten."""
        if A.size == 0:
            return cls(np.zeros(0), np.zeros((0, 0)), np.zeros((0, b.shape[1])), cutoff)
        # For a small matrix more threads save nothing, and on a busy machine they cost a lot.
        with blas_threads(available_cores() if len(A) >= THREADED else 1):
            values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
        floor = max(-2.0 * values[0], 4 * np.finfo(float).eps * len(values) * values[-1])
        return cls(np.where(values > floor, values, 0.0), vectors, vectors.T @ b, cutoff)

    @property
    def dropped(self) -> int:
        """The number of dropped directions."""
        return int(np.count_nonzero(self.values == 0.0))

    def filter(self, alpha: float) -> Array:
        """Return ``1 / (s + alpha)``; for the cut-off, ``1 / s`` where s >= alpha, else 0.

        It is 0 for dropped directions.
        """
        kept = self.values > 0
        inverse = np.zeros_like(self.values)
        if self.cutoff:
            kept &= self.values >= alpha
        np.divide(1.0, self.values + alpha * (not self.cutoff), out=inverse, where=kept)
        return inverse

    def solve(self, alpha: float) -> Array:
        """Return ``v(alpha) = U diag(1 / (s + alpha)) beta``, of shape (r, k)."""
        return np.asarray(self.vectors @ (self.filter(alpha)[:, None] * self.beta))

    def effective_dimension(self, alpha: float) -> float:
        """Return ``trace(A (A + alpha)^-1)``."""
        return float(self.values @ self.filter(alpha))

    def explained(self, alpha: float) -> Array:
        """Return ``2 b'v - v'Av``, by which the fit reduces the mean square of y; shape (k,)."""
        inverse = self.filter(alpha)
        return np.asarray((inverse * (2.0 - inverse * self.values)) @ self.beta**2)

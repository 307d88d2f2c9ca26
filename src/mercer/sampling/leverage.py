"""Ridge leverage scores: what each row matters to a fit with penalty alpha.

.. math:: \\ell_i(\\alpha) = \\big(K (K + \\alpha n I)^{-1}\\big)_{ii}, \\qquad
          \\sum_i \\ell_i(\\alpha) = \\mathcal{N}(\\alpha),

the effective dimension. Exact scores take a matrix of all rows. Through a dictionary of rows Z,
each there with probability p_j, they are

.. math:: \\tilde\\ell(x) = \\frac{1}{\\alpha n}
          \\big(K(x, x) - k_Z(x)' (K_{ZZ} + \\alpha n P)^{-1} k_Z(x)\\big), \\qquad
          P = \\operatorname{diag}(p),

for any number of rows, block by block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel

#: Entries of kernel values that are in memory together.
ENTRIES = 2**22
#: How often a Cholesky factorization is tried, each time with more added.
ATTEMPTS = 16


def exact_scores(kernel: Kernel, X: Rows, alpha: float) -> Array:
    """Return the scores of all rows by their definition; n^3 steps, for tests and small n.

    >>> from mercer.kernels import Linear
    >>> exact_scores(Linear(), np.array([[1.0], [1.0], [2.0]]), alpha=1.0).round(3)
    array([0.111, 0.111, 0.444])
    """
    K = kernel(X)
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)
    return np.asarray(vectors**2 @ (values / (values + alpha * n)))


@dataclass(frozen=True)
class Dictionary:
    """Rows that stand for all rows, and with which probability each was taken.

    ``penalty`` is ``alpha n`` of the rows that it stands for.
    """

    kernel: Kernel
    points: Rows
    probability: Array
    penalty: float
    indices: Array  # which rows the points are

    def __post_init__(self) -> None:
        # Scaled by the roots of probabilities the penalty is the same everywhere.
        root = np.sqrt(self.probability)
        K = self.kernel(self.points) / np.outer(root, root)
        jitter = np.finfo(float).eps * float(np.trace(K))
        # Less than rounding is no penalty; without any kernel values there is nothing to divide.
        least = max(jitter / len(K), np.finfo(float).tiny)
        object.__setattr__(self, "penalty", max(self.penalty, least))
        for attempt in range(ATTEMPTS):
            A = K.copy()
            np.einsum("ii->i", A)[...] += self.penalty + jitter * (4**attempt if attempt else 0)
            factor, info = lapack.dpotrf(A, lower=1, clean=1)
            if info == 0:
                break
        else:
            raise ValueError(
                "the kernel matrix of the rows that were drawn has no Cholesky factor: scale the "
                "columns, or use a larger alpha"
            )
        object.__setattr__(self, "_factor", factor)
        object.__setattr__(self, "_root", root)

    def scores(self, X: Rows) -> Array:
        """Return the scores of rows, at most 1."""
        step = max(1, ENTRIES // max(1, len(self.probability)))
        parts = [self._block(X[start : start + step]) for start in range(0, X.shape[0], step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _block(self, X: Rows) -> Array:
        factor, root = self.__dict__["_factor"], self.__dict__["_root"]
        right = (self.kernel(X, self.points) / root).T
        half = solve_triangular(factor, right, lower=True, check_finite=False)
        left = self.kernel.diag(X) - np.einsum("ij,ij->j", half, half)
        return np.asarray(np.clip(left / self.penalty, 0.0, 1.0))

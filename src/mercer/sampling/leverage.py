"""Ridge leverage scores: the influence of each row on a fit with penalty alpha.

.. math:: \\ell_i(\\alpha) = \\big(K (K + \\alpha n I)^{-1}\\big)_{ii}, \\qquad
          \\sum_i \\ell_i(\\alpha) = \\mathcal{N}(\\alpha),

the effective dimension. Exact scores need the kernel matrix of all rows. With a dictionary of rows
Z, each included with probability p_j, they are approximated by

.. math:: \\tilde\\ell(x) = \\frac{1}{\\alpha n}
          \\big(K(x, x) - k_Z(x)' (K_{ZZ} + \\alpha n P)^{-1} k_Z(x)\\big), \\qquad
          P = \\operatorname{diag}(p),

which can be evaluated for any number of rows, block by block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel

#: Number of kernel values held in memory at a time.
ENTRIES = 2**22
#: How often a Cholesky factorization is attempted, each time with a larger diagonal shift.
ATTEMPTS = 16


def exact_scores(kernel: Kernel, X: Rows, alpha: float) -> Array:
    """Return ``diag(K (K + alpha n I)^-1)`` by definition, in O(n^3): for tests and small n.

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
    """A weighted sample of rows that represents all rows: the points Z and probabilities p.

    ``penalty`` is ``alpha n`` for the n rows that the sample represents.
    """

    kernel: Kernel
    points: Rows
    probability: Array
    penalty: float
    indices: Array  # which rows the points are
    counted: bool = True  # whether rows to score are among those that the sample was drawn from

    def __post_init__(self) -> None:
        # Scaled by the square roots of the probabilities, the penalty is the same everywhere.
        root = np.sqrt(self.probability)
        K = self.kernel(self.points) / np.outer(root, root)
        jitter = np.finfo(float).eps * float(np.trace(K))
        # A penalty below rounding has no effect; if all kernel values are 0, use a positive scale.
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
                "the kernel matrix of the sampled rows has no Cholesky factor: scale the "
                "columns, or use a larger alpha"
            )
        object.__setattr__(self, "_factor", factor)
        object.__setattr__(self, "_root", root)

    def of_more_rows(self, factor: float) -> Dictionary:
        """Return the dictionary of ``factor`` times as many rows, of which these were a sample.

        The same alpha is a penalty ``factor`` times as large, and every row is in the dictionary
        with a probability that many times smaller. The weights of the points stay, so scores are
        divided by the factor. Most rows are not in the sample, and the formula is the score s that
        such a row would have if it counted nothing; counted once, it has ``s / (1 + s)``.
        """
        return replace(
            self,
            probability=self.probability / factor,
            penalty=self.penalty * factor,
            counted=factor <= 1.0,
        )

    def own_scores(self) -> Array:
        """Return the scores of the points as of rows that are not in the dictionary.

        A point counts ``1 / p_j`` times: without it the score s would be ``s / (1 - s / p_j)``.
        """
        score = self.scores(self.points)
        alone = score if self.counted else score / (1.0 - score)
        rest = np.maximum(1.0 - alone / self.probability, np.finfo(float).eps)
        return np.asarray(alone / (alone + rest))

    def scores(self, X: Rows) -> Array:
        """Return ``(K(x, x) - k_Z(x)'(K_ZZ + alpha n P)^-1 k_Z(x)) / (alpha n)``, at most 1.

        For rows that are not counted, with s that number, return ``s / (1 + s)``.
        """
        step = max(1, ENTRIES // max(1, len(self.probability)))
        parts = [self._block(X[start : start + step]) for start in range(0, X.shape[0], step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _block(self, X: Rows) -> Array:
        factor, root = self.__dict__["_factor"], self.__dict__["_root"]
        right = (self.kernel(X, self.points) / root).T
        half = solve_triangular(factor, right, lower=True, check_finite=False)
        left = self.kernel.diag(X) - np.einsum("ij,ij->j", half, half)
        score = np.maximum(left / self.penalty, 0.0)
        return np.asarray(np.minimum(score, 1.0) if self.counted else score / (1.0 + score))

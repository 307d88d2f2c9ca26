"""Randomly pivoted Cholesky: a low-rank factor of a kernel matrix that is never formed.

.. math:: K \\approx F F', \\qquad F \\in \\mathbb{R}^{n \\times r}

Pivots are drawn with probability proportional to the diagonal of the residual ``K - F F'`` (Chen,
Epperly, Tropp and Webber, 2022), several at a time. ``(r + 1) n`` kernel values are evaluated.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from mercer.contracts import Array
from mercer.engines.memory import large_array
from mercer.kernels import Kernel

#: Rows drawn at a time, at most.
DRAWN = 64
#: The factor is complete when the trace of the residual, relative to that of K, is below this.
COMPLETE = 1e-13


def pivoted_cholesky(
    kernel: Kernel, X: Array, rank: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return F (n, r') with ``F F'`` close to K(X, X), and the indices of the pivots.

    r' is at most ``rank``; it is lower if the kernel matrix has a lower rank.

    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> F, pivots = pivoted_cholesky(Linear(), X, 3, np.random.default_rng(0))
    >>> F.shape[1], bool(np.allclose(F @ F.T, X @ X.T))
    (2, True)
    """
    n_rows = len(X)
    left = np.array(kernel.diag(X), dtype=np.float64)
    total = float(left.sum())
    F = large_array((min(rank, n_rows), n_rows), "float64").T  # in Fortran order
    batch = min(DRAWN, max(1, F.shape[1] // 10))  # rows of one batch are drawn independently
    pivots: list[int] = []
    while len(pivots) < F.shape[1] and left.sum() > COMPLETE * total > 0:
        done = len(pivots)
        drawn = rng.choice(n_rows, size=min(batch, F.shape[1] - done), p=left / left.sum())
        drawn = np.unique(drawn)
        block = np.ascontiguousarray(kernel(X, X[drawn]), dtype=np.float64)
        if done:
            known = F[:, :done]
            blas.dgemm(-1.0, known[drawn], known, 1.0, block.T, trans_b=1, overwrite_c=1)
        # Rows drawn in one batch may be dependent: drop those that are.
        tolerance = np.finfo(float).eps * len(drawn) * float(block[drawn].diagonal().max())
        factor, order, found, _ = lapack.dpstrf(block[drawn], lower=1, tol=tolerance)
        if found == 0:
            break
        kept = order[:found] - 1
        F[:, done : done + found] = solve_triangular(
            factor[:found, :found], block[:, kept].T, lower=True
        ).T
        left = np.maximum(left - np.einsum("ij,ij->i", *[F[:, done : done + found]] * 2), 0.0)
        pivots += drawn[kept].tolist()
        left[pivots] = 0.0
    return F[:, : len(pivots)], np.array(pivots, dtype=np.intp)

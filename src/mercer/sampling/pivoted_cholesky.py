"""Randomly pivoted Cholesky: a low-rank factor of a kernel matrix that is never formed.

.. math:: K \\approx F F', \\qquad F \\in \\mathbb{R}^{n \\times r}

Pivots are drawn with probability proportional to the diagonal of the residual ``K - F F'`` (Chen,
Epperly, Tropp and Webber, 2022), several at a time. ``(r + 1) n`` kernel values are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array
from mercer.engines import Lanes, blas_threads
from mercer.engines.memory import large_array
from mercer.kernels import Kernel

#: Rows drawn at a time, at most.
DRAWN = 64
#: Rows of the factor that are computed at a time, so that they stay in cache.
PART = 2048
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
        columns, known = _columns(kernel, X, drawn), F[drawn, :done]
        corner = columns(drawn) - known @ known.T
        # Rows drawn in one batch may be dependent: drop those that are.
        tolerance = np.finfo(float).eps * len(drawn) * float(corner.diagonal().max())
        factor, order, found, _ = lapack.dpstrf(corner, lower=1, tol=tolerance)
        if found == 0:
            break
        kept = order[:found] - 1
        columns, known = _columns(kernel, X, drawn[kept]), known[kept]
        _extend(F, left, done, factor[:found, :found], columns, known)
        pivots += drawn[kept].tolist()
        left[pivots] = 0.0
    return F[:, : len(pivots)], np.array(pivots, dtype=np.intp)


def _columns(kernel: Kernel, X: Array, drawn: Array) -> Callable[[slice | Array], Array]:
    """Return the function that evaluates ``K(X[rows], X[drawn])`` at some rows."""
    if kernel.pairwise:
        return lambda rows: np.asarray(X[rows][:, drawn], dtype=np.float64)
    block = kernel.against(X[drawn], "float64")
    return lambda rows: block(X[rows])


def _extend(
    F: Array,
    left: Array,
    done: int,
    triangle: Array,
    columns: Callable[[slice], Array],
    known: Array,
) -> None:
    """Compute columns of F after the first ``done``, and subtract their squares from ``left``."""
    new = slice(done, done + len(triangle))

    def fill(_: None, rows: slice) -> None:
        block = columns(rows) - F[rows, :done] @ known.T
        block = solve_triangular(triangle, block.T, lower=True)
        F[rows, new] = block.T
        left[rows] = np.maximum(left[rows] - np.einsum("ji,ji->i", block, block), 0.0)

    parts = [slice(start, start + PART) for start in range(0, len(F), PART)]
    with blas_threads(1):
        Lanes(lambda: None, 1 if len(parts) == 1 else None).run(parts, fill)

"""Ridge fits of shards and their average, at several penalties, from the values of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from experiments.scaffold import Array


def shard_rows(known: int, total: int, shards: int) -> Iterator[tuple[Array, int]]:
    """Return the rows of each shard, those with labels first, and how many have labels.

    Rows are dealt out in turn, so that every shard has its share of both kinds.

    >>> [(rows.tolist(), labeled) for rows, labeled in shard_rows(3, 5, 2)]
    [([0, 2, 3], 2), ([1, 4], 1)]
    """
    for j in range(shards):
        labeled, others = np.arange(j, known, shards), np.arange(known + j, total, shards)
        yield np.concatenate([labeled, others]), len(labeled)


def averaged(
    H: Array, Y: Array, alphas: Sequence[float], shards: int, intercept: bool = False
) -> tuple[Array, Array]:
    """Return coefficients (alphas, M, k) and constants (alphas, k) of the mean over shards of

    ``w_j = (H_j' H_j / n_j + alpha)^-1 H_j' u_j``, where ``u_j`` has the labels of shard j divided
    by their number, and 0 for rows without labels.

    That is equation (7) of Li, Liu and Wang (2022), and equation (10) where Y has labels of only
    the first rows of H. One matrix serves all alphas: that of the functions, or of the rows where
    they are fewer. ``intercept`` centers each shard, and needs labels of all rows.

    >>> H, Y = np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]])
    >>> averaged(H, Y, [0.0, 2.5], 1)[0].ravel()
    array([1. , 0.5])
    """
    if intercept and len(Y) < len(H):
        raise ValueError("an intercept needs labels of all rows")
    w = np.zeros((len(alphas), H.shape[1], Y.shape[1]))
    constants = np.zeros((len(alphas), Y.shape[1]))
    for rows, labeled in shard_rows(len(Y), len(H), shards):
        own, values = H[rows], Y[rows[:labeled]]
        middle, mean = np.zeros(H.shape[1]), np.zeros(Y.shape[1])
        if intercept:
            middle, mean = own.mean(axis=0), values.mean(axis=0)
            own, values = own - middle, values - mean
        u = np.zeros((len(rows), Y.shape[1]))
        u[:labeled] = values / labeled
        for i, found in enumerate(_paths(own, u, alphas)):
            w[i] += found / shards
            constants[i] += (mean - middle @ found) / shards
    return w, constants


def _paths(H: Array, u: Array, alphas: Sequence[float]) -> Iterator[Array]:
    """Return ``(H'H / n + alpha)^-1 H'u`` at each alpha."""
    n, M = H.shape
    by_rows = n < M
    A, b = (H @ H.T / n, u) if by_rows else (H.T @ H / n, H.T @ u)
    diagonal = np.diagonal(A).copy()
    for alpha in alphas:
        np.fill_diagonal(A, diagonal + alpha)
        solved = cho_solve(cho_factor(A, lower=True, check_finite=False), b, check_finite=False)
        yield H.T @ solved if by_rows else solved

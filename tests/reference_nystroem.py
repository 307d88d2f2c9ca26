"""Leverage scores and distributed Nystroem as the paper writes them, for whole matrices.

Li, Liu and Wang (2023), *Optimal Convergence Rates for Distributed Nystroem Approximation*. Nothing
here imports the library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray
Kernel = Callable[[Array, Array], Array]


def leverage_scores(K: Array, lam: float) -> Array:
    """Equation (4): l_i = (K_NN (K_NN + lambda N I)^-1)_ii"""
    N = len(K)
    return np.diag(K @ np.linalg.inv(K + lam * N * np.eye(N)))


def sampling_probabilities(K: Array, lam: float) -> Array:
    """p_i = l_i / sum_i l_i"""
    scores = leverage_scores(K, lam)
    return scores / scores.sum()


def dnystroem(
    kernel: Kernel, centers: Array, shards: Sequence[tuple[Array, Array]], lam: float
) -> Callable[[Array], Array]:
    """Equation (6): f = sum_j (|D_j| / |D|) f_j, f_j = sum_i alpha_i K(center_i, x), and
    alpha = (K_nM' K_nM + lambda n K_MM)^+ K_nM' y_n of the rows of shard j."""
    rows = sum(len(X) for X, _ in shards)
    K_MM = kernel(centers, centers)
    mean = np.zeros(len(centers))
    for X, y in shards:
        n, K_nM = len(X), kernel(X, centers)
        alpha = np.linalg.pinv(K_nM.T @ K_nM + lam * n * K_MM, rcond=1e-14) @ (K_nM.T @ y)
        mean += n / rows * alpha
    return lambda X: kernel(X, centers) @ mean

"""Slow and obvious: least-squares ranking over shards, as its paper writes it.

*Distributed Least Square Ranking with Random Features*, sections 2 and 3. Nothing here imports the
library.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

Array = np.ndarray


def pair_shares(shards: Sequence[Array]) -> list[float]:
    """|D_j|^2 / sum_k |D_k|^2, for the row numbers of each shard."""
    return [len(D) ** 2 / sum(len(other) ** 2 for other in shards) for D in shards]


def shard_system(phi: Array, y: Array, D: Array, alpha: float) -> tuple[Array, Array]:
    """H = Phi W Phi' + (alpha / 2) I and Phi W ybar of equations (3) and (8), for the rows D.

    ``phi`` (n, m) has a row phi_m(x_i)' for every x_i; Phi (m, |D|) and ybar are over sqrt(|D|).
    """
    n = len(D)
    Phi, ybar = phi[D].T / sqrt(n), y[D] / sqrt(n)
    W = np.eye(n) - np.ones((n, n)) / n
    return Phi @ W @ Phi.T + alpha / 2 * np.eye(len(Phi)), Phi @ W @ ybar


def drank_rf(phi: Array, y: Array, shards: Sequence[Array], alpha: float) -> Array:
    """Equation (4): the mean of the shards' solutions, by their pairs."""
    total = np.zeros(phi.shape[1])
    for share, D in zip(pair_shares(shards), shards, strict=True):
        total += share * np.linalg.solve(*shard_system(phi, y, D, alpha))
    return total


def drank_rf_c(
    phi: Array, y: Array, shards: Sequence[Array], alpha: float, rounds: int
) -> list[Array]:
    """Algorithm 1: g_0 = 0, and g_1, ..., g_M by equations (7) to (9)."""
    systems = [shard_system(phi, y, D, alpha) for D in shards]
    found = [np.zeros(phi.shape[1])]
    for _ in range(rounds):
        g = found[-1]
        gradient = np.zeros_like(g)
        for share, (H, right) in zip(pair_shares(shards), systems, strict=True):
            gradient += share * (H @ g - right)
        step = np.zeros_like(g)
        for share, (H, _) in zip(pair_shares(shards), systems, strict=True):
            step += share * np.linalg.solve(H, gradient)
        found.append(g - step)
    return found


def lsrank(K: Array, y: Array, D: Array, alpha: float) -> Array:
    """The coefficients of LSRank at the rows D: (W K W / n + alpha / 2) a = W y / n.

    The minimizer is sum_i a_i K(x_i, .) with a = W a: the gradient of the mean over pairs,
    4 K W (K a - y) / n + 2 alpha K a, vanishes.
    """
    n = len(D)
    W = np.eye(n) - np.ones((n, n)) / n
    return np.linalg.solve(W @ K[np.ix_(D, D)] @ W / n + alpha / 2 * np.eye(n), W @ y[D] / n)


def drank(K: Array, y: Array, shards: Sequence[Array], alpha: float) -> Array:
    """Equation (2), as coefficients at all rows: the mean of LSRank of shards, by their pairs."""
    a = np.zeros(len(y))
    for share, D in zip(pair_shares(shards), shards, strict=True):
        a[D] += share * lsrank(K, y, D, alpha)
    return a


def drank_c(K: Array, y: Array, shards: Sequence[Array], alpha: float, rounds: int) -> list[Array]:
    """The same rounds with functions sum_i a_i K(x_i, .), from the mean of the shards' models.

    With A_j f = sum_(i in D_j) (f(x_i) - mean) K(x_i, .) / n_j, the operator H_j = A_j + alpha / 2
    acts on coefficients as the n by n matrix that is written here, and inverted as it is.
    """
    n = len(y)
    shares = pair_shares(shards)
    found = [drank(K, y, shards, alpha)]
    systems = []
    for D in shards:
        center = np.zeros((n, n))
        center[np.ix_(D, D)] = np.eye(len(D)) - np.ones((len(D), len(D))) / len(D)
        systems.append((center @ K / len(D) + alpha / 2 * np.eye(n), center @ y / len(D)))
    for _ in range(rounds):
        a = found[-1]
        gradient = sum(w * (H @ a - right) for w, (H, right) in zip(shares, systems, strict=True))
        step = sum(
            w * np.linalg.solve(H, gradient) for w, (H, _) in zip(shares, systems, strict=True)
        )
        found.append(a - step)
    return found

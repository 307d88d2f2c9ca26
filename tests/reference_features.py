"""Slow and obvious: data-dependent random features as their paper writes them.

Li, Liu and Wang (2022), *Towards Sharp Analysis for Distributed Learning with Random Features*,
section 5.2. Nothing here imports the library.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

Array = np.ndarray


def shares(psi: Array, y: Array) -> Array:
    """q_j = (y'z_j)^2 / sum_k (y'z_k)^2, with z_j = (psi(x_1, w_j), ..., psi(x_n, w_j))' / sqrt(L).

    ``psi`` (n, L) has the values of the L candidates at all rows.
    """
    L = psi.shape[1]
    scores = []
    for j in range(L):
        z = [psi[i, j] / sqrt(L) for i in range(len(y))]
        scores.append(sum(y[i] * z[i] for i in range(len(y))) ** 2)
    return np.array([score / sum(scores) for score in scores])


def weighted_features(psi: Array, q: Array, drawn: Array) -> Array:
    """Equation (14): phi(x) = (p(w_j) / q(w_j) psi(x, w_j))_j / sqrt(M), p the law of candidates.

    ``drawn`` (M,) has the candidates that were drawn, those drawn twice twice.
    """
    L, M = len(q), len(drawn)
    phi = np.empty((len(psi), M))
    for column, j in enumerate(drawn):
        phi[:, column] = (1 / L) / q[j] * psi[:, j] / sqrt(M)
    return phi


def average_of_ridge(phi: Array, y: Array, shard: Array, alpha: float) -> Array:
    """Equations (6) and (7), the mean by n_j / N where shards differ in size:

    sum_j (n_j / N) (Phi_j'Phi_j + alpha I)^-1 Phi_j'y_j, with Phi_j and y_j over sqrt(n_j).
    """
    total = np.zeros(phi.shape[1])
    for j in np.unique(shard):
        here = np.flatnonzero(shard == j)
        n = len(here)
        A = sum(np.outer(phi[i], phi[i]) for i in here) / n
        b = sum(phi[i] * y[i] for i in here) / n
        total += n / len(y) * np.linalg.solve(A + alpha * np.eye(len(b)), b)
    return total

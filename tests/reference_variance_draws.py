"""Uncertainty sampling as it is written: a whole system is solved for every row and every step."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def posterior_variance(K: Array, labelled: list[int], noise: float) -> Array:
    """K(x, x) - k_L(x)' (K_LL + noise)^-1 k_L(x), a row at a time"""
    found = np.zeros(len(K))
    for row in range(len(K)):
        found[row] = K[row, row]
        if labelled:
            k = K[labelled, row]
            A = K[np.ix_(labelled, labelled)] + noise * np.eye(len(labelled))
            found[row] -= k @ np.linalg.solve(A, k)
    return found


def greedy_variance(
    K: Array, number: int, noise: float, labelled: tuple[int, ...] = ()
) -> tuple[list[int], list[float]]:
    """The row of the largest variance, and again, given the ones before; the first of equals."""
    known, chosen, before = list(labelled), [], []
    for _ in range(number):
        variance = posterior_variance(K, known, noise)
        variance[known] = -np.inf
        best = int(np.argmax(variance))
        known.append(best)
        chosen.append(best)
        before.append(float(variance[best]))
    return chosen, before

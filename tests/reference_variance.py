"""Variances of Gaussian processes and Bayesian regressions, by their formulas."""

from __future__ import annotations

import numpy as np


def process_variance(K, k, diagonal, ridge, intercept):
    """Return ``K(x, x) - k'(K + N)^-1 k``; bordered by a constant with a flat prior.

    The border is a function 1 with no penalty: ``[[K + N, 1], [1', 0]]``.
    """
    n = len(K)
    system, right = K + np.diag(ridge), k
    if intercept:
        ones = np.ones((n, 1))
        system = np.block([[system, ones], [ones.T, np.zeros((1, 1))]])
        right = np.vstack([k, np.ones((1, k.shape[1]))])
    return diagonal - np.einsum("ij,ij->j", right, np.linalg.solve(system, right))


def regression_variance(H, h, weight, penalty, intercept):
    """Return ``h'(sum_i w_i h_i h_i' + penalty)^-1 h``, with an unpenalized column of ones."""
    P = penalty * np.eye(H.shape[1])
    if intercept:
        H, h = (np.hstack([part, np.ones((len(part), 1))]) for part in (H, h))
        P = np.pad(P, ((0, 1), (0, 1)))
    return np.einsum("ij,ij->i", h, np.linalg.solve((H * weight[:, None]).T @ H + P, h.T).T)


def hat_matrix(fitted, n):
    """Return the matrix that takes y to the fitted values, one unit vector at a time."""
    return np.column_stack([fitted(unit) for unit in np.eye(n)])

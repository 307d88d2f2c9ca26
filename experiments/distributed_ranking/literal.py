"""Algorithm 1 of the paper as it is written: Newton rounds from zero that nothing stops.

The library stops at a round that raises the objective. This shows what the paper's own rounds come
to, since a score may rank well even where its size grows without bound.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from experiments.scaffold import Array


def algorithm_1(features: Array, y: Array, labels: Array, alpha: float, rounds: int) -> Array:
    """Return the coefficients after the rounds; pairs are those within shards.

    Every shard has ``H_j g - b_j``, the gradient on its pairs, weighed by their number.
    """
    factors, systems, shares = [], [], []
    for shard in np.unique(labels):
        Phi, target = features[labels == shard], y[labels == shard]
        n = len(target)
        centered = Phi - Phi.mean(axis=0)
        H = centered.T @ centered / n + alpha / 2 * np.eye(Phi.shape[1])
        factors.append(cho_factor(H, lower=True))
        systems.append((H, centered.T @ (target - target.mean()) / n))
        shares.append(float(n) ** 2)
    weights = np.array(shares) / np.sum(shares)
    H_mean = sum(w * H for w, (H, _) in zip(weights, systems, strict=True))
    b_mean = sum(w * b for w, (_, b) in zip(weights, systems, strict=True))
    g = np.zeros(features.shape[1])
    for _ in range(rounds):
        gradient = H_mean @ g - b_mean
        steps = (w * cho_solve(f, gradient) for w, f in zip(weights, factors, strict=True))
        g = g - sum(steps)
    return g

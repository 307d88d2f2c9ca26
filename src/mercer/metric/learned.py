"""The next metric: a root of the average gradient outer product G.

.. math:: P = G^p, \\qquad p = \\tfrac12 \\text{ (moves fast) or } \\tfrac14 \\text{ (steadier)}

For the diagonal form, of the diagonal of G. Only ratios count: the bandwidth sets the scale, so the
largest weight is 1.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array

#: Weights and directions below this share of the largest are left out.
SMALLEST = 1e-3


def learned_matrix(G: Array, power: float) -> Array | None:
    """Return P of shape (d,) from a diagonal, or (d, r) from G; None if f does not vary at all.

    >>> learned_matrix(np.array([4.0, 1.0, 0.0]), 0.5)
    array([1. , 0.5, 0. ])
    >>> learned_matrix(np.diag([4.0, 1.0, 0.0]), 0.5).shape
    (3, 2)
    """
    if G.ndim == 1:
        values = np.maximum(G, 0.0)
        if not values.max(initial=0.0) > 0:
            return None
        weights = (values / values.max()) ** power
        return np.where(weights >= SMALLEST, weights, 0.0)
    values, vectors = np.linalg.eigh(G)
    values = np.maximum(values, 0.0)
    if not values[-1] > 0:
        return None
    weights = (values / values[-1]) ** power
    kept = np.flatnonzero(weights >= SMALLEST)[::-1]
    vectors = vectors[:, kept]
    # The sign of an eigenvector is arbitrary: the largest entry is positive.
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(len(kept))])
    return np.asarray(vectors * weights[kept])

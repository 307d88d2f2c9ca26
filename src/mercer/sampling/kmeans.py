"""Cluster centers as landmarks."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from mercer.contracts import Array, Rows


def kmeans_centers(X: Rows, size: int, rng: np.random.Generator) -> Array:
    """Return the centers of ``size`` clusters of X (Zhang, Tsang and Kwok, 2008).

    Mini-batches keep the cost linear in the number of rows. A single start is enough: landmarks
    only need to cover the rows, not to recover their clusters.
    """
    model = MiniBatchKMeans(
        n_clusters=size,
        n_init=1,
        init="random",
        batch_size=max(1024, 2 * size),
        max_iter=10,
        random_state=int(rng.integers(2**31 - 1)),
        # There may be fewer distinct rows than clusters: the whitener drops the duplicate centers.
        reassignment_ratio=0.0,
    ).fit(X)
    return np.asarray(model.cluster_centers_, dtype=np.float64)

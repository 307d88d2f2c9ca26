"""Cluster centers as landmarks."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from mercer.contracts import Array, Rows


def kmeans_centers(X: Rows, size: int, rng: np.random.Generator) -> Array:
    """Return the centers of ``size`` clusters of X (Zhang, Tsang and Kwok, 2008).

    Mini-batches keep the cost linear in the rows; a single start is enough, since landmarks need to
    cover the rows, not to find their clusters.
    """
    model = MiniBatchKMeans(
        n_clusters=size,
        n_init=1,
        init="random",
        batch_size=max(1024, 2 * size),
        max_iter=10,
        random_state=int(rng.integers(2**31 - 1)),
        # The number of distinct rows may be lower than the number of clusters: the duplicated
        # centers that follow are dropped by the whitener.
        reassignment_ratio=0.0,
    ).fit(X)
    return np.asarray(model.cluster_centers_, dtype=np.float64)

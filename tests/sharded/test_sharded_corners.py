"""Corners of fits over shards: what a model goes on from, what shards lack, what is read."""

import numpy as np

from mercer import Average, KernelRegressor, Landmarks
from shard_cases import NEW, X, Y


def test_shards_with_functions_of_their_own_share_one_bandwidth():
    """Also where every row is a landmark: without a sample of all rows, shards pool theirs."""
    settings = {"alpha": 1e-2, "dtype": "float64", "random_state": 0}
    own = KernelRegressor(basis=Landmarks(300), combine=Average(local_basis=True), **settings)
    own.fit(X[:300], Y[:300], shard_labels=np.arange(300) // 100)
    kernel = own.kernel_
    exact = KernelRegressor(kernel, "full", combine="average", **settings)
    exact.fit(X[:300], Y[:300], shard_labels=np.arange(300) // 100)
    np.testing.assert_allclose(own.predict(NEW), exact.predict(NEW), rtol=1e-6)

"""Shards of one or two rows: the bandwidth is that of all rows, and a useless average warns."""

import warnings

import numpy as np
import pytest

from mercer import Average, Gaussian, KernelRegressor, MercerWarning, RandomFeatures
from mercer.kernels.bandwidth import median_distance

rng = np.random.default_rng(0)
X = 1e-3 * rng.normal(size=(60, 2))
Y = np.sin(1e3 * X[:, 0])
FIXED = {
    "kernel": Gaussian("median"),
    "alpha": 1e-3,
    "metric": None,
    "scale": None,
    "random_state": 0,
}
COMBINED = {
    "average": {"basis": "landmarks", "combine": "average"},
    "local": {"basis": "landmarks", "combine": Average(local_basis=True)},
    "full": {"basis": "full", "combine": "average"},
    "rounds": {"basis": RandomFeatures(200), "combine": "conjugate"},
    "sum": {"basis": RandomFeatures(200), "combine": "sum"},
}


def fitted(labels, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        return KernelRegressor(**FIXED, **settings).fit(X, Y, shard_labels=labels)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", COMBINED)
def test_shards_of_a_row_or_two_share_the_bandwidth_of_all_rows(name, rows):
    found = fitted(np.arange(len(X)) // rows, **COMBINED[name]).kernel_.bandwidth
    np.testing.assert_allclose(found, median_distance(X), rtol=0.1)


@pytest.mark.parametrize("name", ["local", "full", "sum"])
def test_one_tiny_shard_has_no_say_in_the_bandwidth(name):
    labels = np.minimum(np.arange(len(X)) // 20, 2)
    labels[-1] = 3
    found = fitted(labels, **COMBINED[name]).kernel_.bandwidth
    np.testing.assert_allclose(found, median_distance(X), rtol=0.25)


@pytest.mark.parametrize("name", ["average", "local", "full"])
def test_an_average_over_tiny_shards_warns_and_says_what_to_do(name):
    model = KernelRegressor(**FIXED, **COMBINED[name])
    said = r"30 of 30 shards have fewer than 10 rows \(the smallest has 2\).*combine='sum'"
    with pytest.warns(MercerWarning, match=said):
        model.fit(X, Y, shard_labels=np.arange(len(X)) // 2)


@pytest.mark.parametrize("settings", [COMBINED["sum"], {"basis": "landmarks", "combine": "sum"}])
def test_an_exact_sum_over_tiny_shards_is_silent_and_learns(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelRegressor(**FIXED, **settings).fit(X, Y, shard_labels=np.arange(len(X)) // 2)
    assert model.score(X, Y) > 0.9

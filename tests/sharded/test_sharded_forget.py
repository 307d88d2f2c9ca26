"""Rows to forget are checked over shards as in one place."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRegressor, Landmarks
from mercer.kernels import Gaussian

RNG = np.random.default_rng(3)
X = RNG.uniform(-2, 2, (240, 2))
Y = X[:, 0] + RNG.standard_normal(240)
LABELS = np.where(Y > 0, "up", "down")
WEIGHT = RNG.integers(1, 4, 240)
POINTS = RNG.uniform(-2, 2, (60, 2))


def model(cls=KernelRegressor, points=POINTS, **params):
    return cls(Gaussian(1.0), Landmarks(sampling=points), alpha=1e-3, random_state=0, **params)


@pytest.mark.parametrize(
    ("cls", "y"), [(KernelRegressor, Y), (KernelClassifier, LABELS)], ids=["numbers", "classes"]
)
def test_fingerprints_are_collected_from_shards(engine, cls, y):
    few = POINTS[:3]  # sums of three functions do not tell rows apart
    sharded = model(cls, few, engine=engine, shards=4, remember_rows=True)
    sharded.fit(X[:200], y[:200], WEIGHT[:200]).partial_fit(X[200:], y[200:], WEIGHT[200:])
    alone = model(cls, few, remember_rows=True).fit(X, y, WEIGHT)
    np.testing.assert_array_equal(sharded._remembered.counts, alone._remembered.counts)
    if cls is KernelClassifier:  # numbers have the origin of the first rows
        np.testing.assert_array_equal(
            sharded._remembered.fingerprints, alone._remembered.fingerprints
        )
    sharded.forget(X[:50], y[:50], WEIGHT[:50])
    before = sharded.predict(X)
    with pytest.raises(ValueError, match="10 of the 20 given are not in the model"):
        sharded.forget(X[40:60], y[40:60], WEIGHT[40:60])
    np.testing.assert_array_equal(sharded.predict(X), before)
    assert sharded.fit_.n_rows == 190


def test_sums_of_shards_refuse_rows_as_in_one_place(engine):
    sharded = model(engine=engine, shards=4).fit(X, Y).forget(X[:100], Y[:100])
    with pytest.raises(ValueError, match="these rows cannot all be in the model"):
        sharded.forget(X[:100], Y[:100])
    assert sharded.fit_.n_rows == 140


def test_rows_are_remembered_with_a_checkpoint(tmp_path):
    sharded = model(points=POINTS[:3], shards=3, checkpoint=tmp_path, remember_rows=True)
    sharded.fit(X, Y).forget(X[:50], Y[:50])
    again = model(points=POINTS[:3], shards=3, checkpoint=tmp_path, remember_rows=True).fit(X, Y)
    again.forget(X[:50], Y[:50])
    for one in (sharded, again):
        with pytest.raises(ValueError, match="50 of the 50 given"):
            one.forget(X[:50], Y[:50])
        assert one.fit_.n_rows == 190

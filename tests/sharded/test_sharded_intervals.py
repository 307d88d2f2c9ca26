"""Intervals and calibrated probabilities over shards, on threads and on a cluster."""

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    load,
    save,
)
from pairs import over_pairs
from shard_cases import CLASSES, NEW, POINTS, WEIGHT, X, Y

RNG = np.random.default_rng(5)
ROWS = RNG.uniform(-2, 2, (2400, 2))
NOISE = (0.1 + 0.3 * (ROWS[:, 0] > 0)) * RNG.normal(size=2400)
LABELS = np.sin(2 * ROWS[:, 0]) * ROWS[:, 1] + NOISE
TRAIN, TEST = slice(0, 1400), slice(1400, None)
WAYS = {
    "sum": {"basis": Landmarks(100)},
    "features": {"basis": RandomFeatures(150)},
    "products": {"basis": Landmarks(150), "solver": "pcg"},
    "average": {"basis": Landmarks(100), "combine": "average"},
    "own functions": {"basis": "full", "combine": "average", "alpha": 1e-4},
}


@over_pairs(way=WAYS, engine=["threads", "dask"], indirect=["engine"])
def test_intervals_over_shards_cover_and_adapt(way, engine, tmp_path):
    model = KernelRegressor(
        Gaussian(0.9), shards=8, engine=engine, random_state=0, **WAYS[way]
    ).fit(ROWS[TRAIN], LABELS[TRAIN])
    intervals = model.fit_.intervals
    assert intervals.rows.count is not None  # only counts came back
    ends = model.predict_interval(ROWS[TEST], [0.5, 0.9])
    y, loud = LABELS[TEST], ROWS[TEST][:, 0] > 0
    for place, level in enumerate((0.5, 0.9)):
        inside = (ends[:, 0, place] <= y) & (y <= ends[:, 1, place])
        assert abs(inside.mean() - level) < 0.06
    width = np.diff(ends[:, :, 1]).ravel()
    assert width[loud].mean() > 1.7 * width[~loud].mean()
    model.set_params(engine=None)
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_interval(ROWS[TEST], [0.5, 0.9]), ends)


def test_they_are_close_to_those_of_one_place(engine):
    settings = {"kernel": Gaussian(1.0), "basis": Landmarks(sampling=POINTS), "alpha": 1e-3}
    whole = KernelRegressor(**settings, random_state=0).fit(X, Y, WEIGHT)
    parts = KernelRegressor(**settings, shards=5, engine=engine, random_state=0).fit(X, Y, WEIGHT)
    one, many = whole.predict_interval(NEW), parts.predict_interval(NEW)
    width = np.diff(one, axis=1)
    assert np.all(np.abs(many - one) < 0.35 * width)  # other folds
    assert np.abs((many - one) / width).mean() < 0.08


def test_one_row_at_a_time_needs_one_place(engine):
    model = KernelRegressor(
        Gaussian(1.0), Landmarks(30), intervals="jackknife+", shards=3, engine=engine
    )
    with pytest.raises(ValueError, match="stay in their shards"):
        model.fit(X, Y)


def test_classes_are_calibrated_over_shards(engine):
    settings = {"kernel": Gaussian(1.0), "basis": Landmarks(sampling=POINTS), "alpha": 1e-3}
    whole = KernelClassifier(**settings, random_state=0).fit(X, CLASSES)
    parts = KernelClassifier(**settings, shards=5, engine=engine, random_state=0).fit(X, CLASSES)
    assert parts.calibration_ is not None
    difference = np.abs(parts.predict_proba(NEW) - whole.predict_proba(NEW))
    assert difference.mean() < 0.02

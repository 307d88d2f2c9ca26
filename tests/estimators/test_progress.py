"""Every pass over the rows reports how far it is, and reaches its total."""

from contextlib import contextmanager

import numpy as np
import pytest

import mercer.estimators.kernel_estimator
from mercer import Gaussian, KernelRanker, KernelRegressor, Landmarks, LeaveOneOut

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 2))
Y = np.sin(X[:, 0])
QUERY = np.arange(700) // 7

#: What is asked for, and the stages that are reported.
STAGES = {
    "moments": ({"alpha": 1e-3}, ["moments"]),
    "leave-one-out": ({"selection": "loo"}, ["moments", "leave-one-out"]),
    "a sample left out": ({"selection": LeaveOneOut(50)}, ["moments", "leave-one-out"]),
    "products": ({"alpha": 1e-3, "solver": "pcg"}, ["rows"]),
}


@pytest.fixture
def reported(monkeypatch):
    found = {}

    @contextmanager
    def recorded(verbose):
        yield lambda stage, done, total, unit="rows", note="": found.update({stage: (done, total)})

    monkeypatch.setattr(mercer.estimators.fitting, "progress_bar", recorded)
    return found


@pytest.mark.parametrize("shards", [None, 3])
@pytest.mark.parametrize("asked", STAGES)
def test_passes_over_rows(asked, shards, reported):
    settings, stages = STAGES[asked]
    KernelRegressor(Gaussian(1.0), Landmarks(20), shards=shards, **settings).fit(X, Y)
    total = len(X) if shards is None else shards
    for stage in stages:
        assert reported[stage] == (total, total)


@pytest.mark.parametrize("shards", [None, 3])
def test_queries_left_out(shards, reported):
    model = KernelRanker(Gaussian(1.0), Landmarks(20), selection="loo", shards=shards)
    model.fit(X, Y, QUERY)
    total = len(X) if shards is None else shards
    assert reported["leave-one-out"] == (total, total)

"""Leverage scores of all rows, where the rows are: landmarks of any number of shards."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor, Landmarks
from mercer.sampling import DICTIONARIES
from shard_cases import X, Y


@pytest.mark.parametrize("how", DICTIONARIES)
def test_landmarks_by_scores_are_those_of_one_place(how, engine, monkeypatch):
    monkeypatch.setattr(
        "mercer.sampling.landmark_rows.LEAST", 200
    )  # most rows are not in the sample
    basis = Landmarks(9, how, alpha=1e-2, candidates="all")
    settings = {"alpha": 1e-3, "random_state": 0, "dtype": "float64", "metric": None, "scale": None}
    whole = KernelRegressor(Gaussian(1.5), basis, **settings).fit(X, Y)
    for shards in (2, 5):
        more = {"shards": shards, "shuffle": False, "engine": engine}
        found = KernelRegressor(Gaussian(1.5), basis, **settings, **more).fit(X, Y)
        np.testing.assert_array_equal(found.basis_.indices_, whole.basis_.indices_)
        np.testing.assert_allclose(found.predict(X), whole.predict(X), atol=1e-6)

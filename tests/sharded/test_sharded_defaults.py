"""With all defaults, the same rows give the same model in one place and over any shards.

Folds, landmarks and samples are drawn by the numbers of rows, so only rounding differs: of sums
that are added in another order, and of the exact kernel, which few rows have in one place alone.
"""

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRanker, KernelRegressor
from mercer.engines import ThreadEngine
from pairs import over_pairs

N, SEEN = 560, 480


def made(kind):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(N), rng.uniform(0, 5, N)
    town, day = rng.integers(0, 8, N), rng.integers(0, 700, N)
    y = np.sin(2 * a) + 0.3 * b + 0.3 * rng.standard_normal(N)
    if kind == "array":
        return np.column_stack([a, b, rng.standard_normal(N)]), y
    table = pd.DataFrame(
        {
            "a": np.where(rng.random(N) < 0.1, np.nan, a),
            "b": b,
            "town": np.array([f"t{t}" for t in range(7)] + [None], dtype=object)[town],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D"),
        }
    )
    return table, y + 0.3 * town + 0.5 * np.cos(day / 58)


def fitted(kind, name, **settings):
    """Return what a user can see of a fit to the first rows, at the others."""
    X, y = made(kind)
    old, new = X[:SEEN], X[SEEN:]
    if name == "regressor":
        model = KernelRegressor(random_state=0, **settings).fit(old, y[:SEEN])
        mean, deviation = model.predict(new, return_std=True)
        seen = {"mean": mean, "deviation": deviation, "interval": model.predict_interval(new)}
    elif name == "classifier":
        classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
        model = KernelClassifier(random_state=0, **settings).fit(old, classes[:SEEN])
        seen = {"scores": model.decision_function(new), "probability": model.predict_proba(new)}
    else:
        model = KernelRanker(random_state=0, **settings)
        model.fit(old, y[:SEEN], np.arange(SEEN) % 40)
        seen = {"scores": model.predict(new)}
        seen["preference"] = model.predict_preference(new[:40], new[40:])
    return {**seen, "alpha": model.alpha_, "importances": model.feature_importances_}


in_one_place = lru_cache(fitted)

#: Where fold models come from the exact kernel in one place, and from sums over shards.
LOOSE = {"interval": 0.1, "probability": 0.02}


@over_pairs(
    kind=["table", "array"],
    name=["regressor", "classifier", "ranker"],
    where=["threads", "workers"],
)
def test_one_place_threads_and_workers_agree(kind, name, where, request):
    if where == "threads":
        settings = {"engine": ThreadEngine(4), "shards": 5}
    else:
        settings = {"engine": request.getfixturevalue("client"), "shards": 7}
    wanted, found = in_one_place(kind, name), fitted(kind, name, **settings)
    for what, value in wanted.items():
        atol = LOOSE.get(what, 1e-4) * np.abs(value).max()
        np.testing.assert_allclose(found[what], value, rtol=0, atol=atol, err_msg=what)


@pytest.mark.parametrize(
    "name",
    ["regressor", *(pytest.param(n, marks=pytest.mark.slow) for n in ("classifier", "ranker"))],
)
def test_the_number_of_shards_decides_nothing(name, client):
    wanted = fitted("table", name, shards=1)
    for settings in ({"shards": 9}, {"shards": 3, "shuffle": False}, {"engine": client}):
        found = fitted("table", name, **settings)
        for what, value in wanted.items():
            atol = 1e-3 * np.abs(value).max()
            np.testing.assert_allclose(found[what], value, rtol=0, atol=atol, err_msg=what)


#: One place and shards solve models without a fold in different ways, to 1 % of what leaving the
#: fold out changes.
FOLDS = {"interval": 0.02, "probability": 0.002}


@pytest.mark.parametrize("name", ["regressor", "classifier", "ranker"])
def test_sums_in_one_place_and_over_shards_agree(name, monkeypatch):
    """As from 2,001 rows on, where one place has no exact kernel either."""
    for constant in ("plan.plan.FULL_ROWS", "plan.plan.LANDMARKS", "growth.FULL_ROWS"):
        monkeypatch.setattr(f"mercer.{constant}", 100)
    monkeypatch.setattr("mercer.growth.FIRST", 50)
    monkeypatch.setattr("mercer.bases.landmarks.DEFAULT_SIZE", 100)
    wanted, found = fitted("table", name), fitted("table", name, shards=4)
    for what, value in wanted.items():
        atol = FOLDS.get(what, 1e-4) * np.abs(value).max()
        np.testing.assert_allclose(found[what], value, rtol=0, atol=atol, err_msg=what)

"""Predictions of Dask collections: lazy, with the same partitions, by the names of the columns."""

import pickle
import warnings
from copy import copy

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, KernelClassifier, KernelRanker, KernelRegressor, MercerWarning

N = 300
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "town": RNG.choice(["x", "y", "z"], N),
        "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 500, N), "D"),
    },
    index=np.arange(N) + 1000,
)
PRICE = FRAME["size"] + (FRAME["town"] == "x") + 0.1 * RNG.normal(size=N)
PARTS = dd.from_pandas(FRAME, npartitions=4)
SETTINGS = {"metric": None, "scale": "standard", "random_state": 0}
REGRESSOR = KernelRegressor(Gaussian(2.0), **SETTINGS).fit(FRAME, PRICE)
CLASSIFIER = KernelClassifier(Gaussian(2.0), **SETTINGS).fit(
    FRAME, np.digitize(PRICE, [0.0, 1.0]).astype(str)
)
RANKER = KernelRanker(Gaussian(2.0), **SETTINGS).fit(FRAME, PRICE)
METHODS = {
    "predict": REGRESSOR.predict,
    "predict_interval": REGRESSOR.predict_interval,
    "predict_quantiles": REGRESSOR.predict_quantiles,
    "classes": CLASSIFIER.predict,
    "decision_function": CLASSIFIER.decision_function,
    "predict_proba": CLASSIFIER.predict_proba,
    "predict_log_proba": CLASSIFIER.predict_log_proba,
    "ranks": RANKER.predict,
}


@pytest.mark.parametrize("name", METHODS)
def test_a_frame_gives_a_series_or_frame_with_its_partitions(name):
    expected = METHODS[name](FRAME)
    for rows in (PARTS, PARTS[["sold", "size", "town"]]):
        found = METHODS[name](rows)
        assert found.npartitions == 4
        assert found.ndim == expected.ndim
        values = found.compute()
        assert values.index.equals(FRAME.index)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(values.to_numpy(), expected, atol=1e-9)
        else:
            assert values.tolist() == expected.tolist()


@pytest.mark.parametrize("name", METHODS)
def test_an_array_gives_an_array_in_the_same_blocks(name):
    X = np.column_stack([FRAME["size"], PRICE])
    methods = {
        key: getattr(type(method.__self__)(Gaussian(1.0), random_state=0), method.__name__)
        for key, method in METHODS.items()
    }
    method = methods[name]
    y = np.digitize(PRICE, [0.0, 1.0])
    method.__self__.fit(X, y)
    found = method(da.from_array(X, chunks=(70, 1)))
    assert isinstance(found, da.Array)
    assert found.chunks[0] == (70, 70, 70, 70, 20)
    assert found.shape == method(X).shape
    np.testing.assert_allclose(found.compute(), method(X), atol=1e-9)


def test_several_coverages_need_an_array():
    X = FRAME[["size"]].to_numpy()
    model = KernelRegressor(Gaussian(1.0)).fit(X, PRICE)
    found = model.predict_interval(da.from_array(X, chunks=(100, 1)), [0.5, 0.9])
    np.testing.assert_allclose(found.compute(), model.predict_interval(X, [0.5, 0.9]), atol=1e-9)
    with pytest.raises(ValueError, match="one coverage or quantile at a time"):
        REGRESSOR.predict_interval(PARTS, [0.5, 0.9])


def test_nothing_is_computed_before_it_is_asked_for():
    def fails(part):
        raise AssertionError("computed")

    lazy = PARTS.map_partitions(fails, meta=PARTS._meta)
    found = REGRESSOR.predict(lazy)
    with pytest.raises(AssertionError, match="computed"):
        found.compute()


@pytest.mark.parametrize("form", ["frame", "array"])
def test_the_model_is_sent_once_and_not_with_every_partition(form):
    model, rows = REGRESSOR, PARTS
    if form == "array":
        X = FRAME[["size"]].to_numpy()
        model, rows = KernelRegressor(Gaussian(1.0)).fit(X, PRICE), da.from_array(X, chunks=(30, 1))
    (found,) = dask.optimize(model.predict(rows))
    sizes = [len(pickle.dumps(task)) for task in dict(found.__dask_graph__()).values()]
    assert sum(size > len(pickle.dumps(model.basis_)) for size in sizes) == 1


def test_errors_come_at_once():
    with pytest.raises(ValueError, match="no column of the fit 'sold'"):
        REGRESSOR.predict(PARTS[["size", "town"]])
    with pytest.raises(ValueError, match="return_std=True needs rows in one place"):
        REGRESSOR.predict(PARTS, return_std=True)


def test_a_partition_without_rows():
    some = PARTS[PARTS["size"] > 1.5]
    found = REGRESSOR.predict(some).compute()
    np.testing.assert_allclose(found, REGRESSOR.predict(FRAME[FRAME["size"] > 1.5]), atol=1e-9)


def test_warnings_are_of_rows_that_are_there():
    """Dask makes up rows to learn the form of an answer, and some partitions have no rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", MercerWarning)
        found = REGRESSOR.predict(PARTS)
        assert len(REGRESSOR.predict_interval(PARTS[PARTS["size"] > 1e9]).compute()) == 0
    new = dd.from_pandas(FRAME.assign(town="elsewhere"), npartitions=2)
    with pytest.warns(MercerWarning, match="'town' has 150 unknown values"):
        REGRESSOR.predict(new).compute(scheduler="synchronous")
    with pytest.warns(MercerWarning, match="ignored: 'more'"):  # before anything is computed
        REGRESSOR.predict(PARTS.assign(more=1.0))
    assert found.compute().index.equals(FRAME.index)


def test_a_model_of_a_dask_frame_predicts_and_scores_one():
    rows = dd.from_pandas(FRAME.assign(price=PRICE), npartitions=3)
    model = KernelRegressor(Gaussian(2.0), **SETTINGS).fit(rows, "price")
    np.testing.assert_allclose(model.predict(rows), model.predict(FRAME), atol=1e-9)
    assert model.score(rows, rows["price"]) == pytest.approx(model.score(FRAME, PRICE))
    assert model.predict_interval(rows).compute().shape == (N, 2)


NUMBERS = FRAME[["size"]].assign(rooms=RNG.normal(size=N), floor=RNG.normal(size=N))
BACKWARDS = dd.from_pandas(NUMBERS[["floor", "rooms", "size"]], npartitions=3)
STEPS = KernelRegressor(Gaussian(2.0), solver="gradient_descent", **SETTINGS)
STEPS.fit(NUMBERS, PRICE - NUMBERS["rooms"])


@pytest.mark.parametrize(
    "answer",
    [
        lambda X: STEPS.explain(X).values,
        lambda X: list(STEPS.staged_predict(X))[-1],
        lambda X: copy(STEPS).calibrate(X, PRICE).predict_interval(NUMBERS),
    ],
    ids=["explain", "staged_predict", "calibrate"],
)
def test_what_needs_rows_in_one_place_takes_columns_by_name_too(answer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(answer(BACKWARDS), answer(NUMBERS), atol=1e-9)


def test_preferences_are_of_rows_at_the_same_place():
    """Both have an index, by which Dask would subtract."""
    parts = [FRAME[:100], FRAME[150:250]]
    collections = [dd.from_pandas(part, npartitions=2) for part in parts]
    expected = RANKER.predict_preference(*parts)
    for X, Z in (collections, (collections[0], parts[1])):
        np.testing.assert_allclose(RANKER.predict_preference(X, Z), expected, atol=1e-9)

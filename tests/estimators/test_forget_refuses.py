"""Rows that cannot have been fitted are not forgotten, and the model stays as it was."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer import KernelClassifier, KernelRanker, KernelRegressor, Landmarks, RandomFeatures
from mercer.kernels import Gaussian
from pairs import over_each

LABELS = np.array(["low", "middle", "top"])
GIVEN = np.random.default_rng(5).uniform(-2, 2, (60, 2))
NEW = np.random.default_rng(6).uniform(-2, 2, (20, 2))


def data(seed=0, rows=300, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.standard_normal(rows)


def model(kind="regressor", **params):
    made = {"regressor": KernelRegressor, "classifier": KernelClassifier}[kind]
    basis = params.pop("basis", Landmarks(sampling=GIVEN))
    return made(Gaussian(1.0), basis, alpha=1e-6, random_state=0, **params)


def targets_of(kind, y):
    return y if kind == "regressor" else LABELS[np.digitize(y, [-1.0, 1.0])]


def values(fitted):
    return getattr(fitted, "decision_function", fitted.predict)(NEW)


@over_each(
    kind=["regressor", "classifier"],
    places=[{}, {"shards": 3}],
    basis=[Landmarks(sampling=GIVEN), RandomFeatures(60, random_state=0)],
)
def test_rows_forgotten_twice_are_refused(kind, places, basis):
    X, y = data()
    y = targets_of(kind, y)
    fitted = model(kind, basis=basis, **places).fit(X, y).forget(X[:100], y[:100])
    before, rows = values(fitted), fitted.fit_.n_rows
    with pytest.raises(ValueError, match="these rows cannot all be in the model"):
        fitted.forget(X[:100], y[:100])
    np.testing.assert_array_equal(values(fitted), before)
    assert fitted.fit_.n_rows == rows == 200


@over_each(kind=["regressor", "classifier"], places=[{}, {"shards": 3}])
def test_rows_that_were_never_seen_are_refused(kind, places):
    X, y = data()
    y = targets_of(kind, y)
    other_X, other_y = data(seed=1, rows=50)
    fitted = model(kind, basis=RandomFeatures(100, random_state=0), **places).fit(X, y)
    before = values(fitted)
    with pytest.raises(ValueError, match="these rows cannot all be in the model"):
        fitted.forget(other_X, targets_of(kind, other_y))
    np.testing.assert_array_equal(values(fitted), before)


def test_rows_of_another_weight_are_refused():
    X, y = data()
    fitted = model().fit(X, y)
    before = values(fitted)
    with pytest.raises(ValueError, match="these rows cannot all be in the model"):
        fitted.forget(X[:100], y[:100], np.full(100, 2.5))
    np.testing.assert_array_equal(values(fitted), before)


def test_more_weight_than_there_is_is_refused():
    X, y = data(rows=30)
    fitted = model().fit(X, y)
    with pytest.raises(ValueError, match="which has weight 30, but 50 were given"):
        fitted.forget(X[:10], y[:10], np.full(10, 5.0))


@pytest.mark.parametrize("size", [1e8, 1e12, 1e16])
@pytest.mark.parametrize("together", [True, False])
def test_huge_targets_leave_too_much_rounding(size, together):
    X, y = data()
    y[:3] *= size
    fitted = model().fit(X, y) if together else model().fit(X[3:], y[3:])
    if not together:
        fitted.partial_fit(X[:3], y[:3])
    before = values(fitted)
    with pytest.raises(ValueError, match=r"sums of y that are left.*fit again from the rows"):
        fitted.forget(X[:3], y[:3])
    np.testing.assert_array_equal(values(fitted), before)


@pytest.mark.parametrize("size", [1e6, 1e12])
def test_huge_rows_leave_too_much_rounding(size):
    X, y = data()
    fitted = KernelRegressor("linear", Landmarks(sampling=GIVEN), 1e-6, scale=None, metric=None)
    fitted.fit(X, y).partial_fit(size * X[:3], y[:3])
    with pytest.raises(ValueError, match=r"sums of X that are left|be in the model"):
        fitted.forget(size * X[:3], y[:3])


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_what_is_left_of_moderate_values_is_exact_to_1e_6(size):
    X, y = data()
    y[:3] *= size
    fitted = model().fit(X, y).forget(X[:3], y[:3])
    rest = model().fit(X[3:], y[3:])
    np.testing.assert_allclose(values(fitted), values(rest), atol=1e-6)


def test_a_class_may_vanish():
    X, y = data()
    y = targets_of("classifier", y)
    top = y == "top"
    fitted = model("classifier").fit(X, y).forget(X[top], y[top])
    assert set(fitted.predict(X)) == {"low", "middle"}


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["regressor", "classifier"]),
    shards=st.sampled_from([None, 2]),
    cuts=st.lists(st.integers(1, 79), min_size=1, max_size=3, unique=True),
    weighted=st.booleans(),
    data_=st.data(),
)
def test_batches_without_some_are_a_fit_of_the_rest(seed, kind, shards, cuts, weighted, data_):
    X, y = data(seed, rows=80)
    y = targets_of(kind, y)
    y[:3] = LABELS if kind == "classifier" else y[:3]
    w = np.random.default_rng(seed).integers(1, 4, 80) if weighted else np.ones(80)
    fitted = model(kind, shards=shards, remember_rows=True)
    batches = np.split(np.arange(80), sorted(cuts))
    announced = {"classes": LABELS} if kind == "classifier" else {}
    for batch in batches:
        fitted.partial_fit(X[batch], y[batch], w[batch], **announced)
    gone = data_.draw(st.sets(st.integers(3, 79), min_size=1, max_size=60).map(sorted))
    fitted.forget(X[gone], y[gone], w[gone])
    rest = np.setdiff1d(np.arange(80), gone)
    same = model(kind).fit(X[rest], y[rest], w[rest])
    np.testing.assert_allclose(values(fitted), values(same), atol=1e-4)
    before = values(fitted)
    with pytest.raises(ValueError, match=f"{len(gone)} of the {len(gone)} given are not"):
        fitted.forget(X[gone], y[gone], w[gone])
    np.testing.assert_array_equal(values(fitted), before)


def test_a_ranker_has_no_rows_to_forget():
    X, y = data(rows=40)
    fitted = KernelRanker(Gaussian(1.0), alpha=1e-3).fit(X, y, np.repeat(np.arange(4), 10))
    with pytest.raises(AttributeError, match="fit it to all rows at once"):
        fitted.forget(X, y)

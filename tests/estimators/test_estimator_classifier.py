"""The classifier: labels of any kind, probabilities that are ones, two classes and many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import BASES, rows
from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks
from mercer.estimators.classifier import project_to_simplex
from pairs import over_each

X = rows(90)
NEW = rows(40, seed=9)
THREE = np.digitize(X[:, 0], [0.3, 0.6])
TWO = (X[:, 0] > X[:, 1]).astype(int)
LABELS = {
    "numbers": np.array([10, 20, 30])[THREE],
    "negative": np.array([-1, 0, 1])[THREE],
    "text": np.array(["red", "green", "blue"])[THREE],
    "objects": np.array(["red", "green", "blue"], dtype=object)[THREE],
    "two": TWO,
    "signs": 2 * TWO - 1,
    "booleans": TWO.astype(bool),
    "two words": np.array(["no", "yes"])[TWO],
}
over_labels = pytest.mark.parametrize("name", LABELS)
over_bases = pytest.mark.parametrize("basis", ["full", "uniform", "random_features"])


def model(basis="full", **settings):
    return KernelClassifier(Gaussian(0.3), BASES[basis](), **{"alpha": 1e-3, **settings})


@over_each(name=LABELS, basis=["full", "uniform", "random_features"])
def test_labels_of_any_kind_come_back(name, basis):
    y = LABELS[name]
    fitted = model(basis).fit(X, y)
    np.testing.assert_array_equal(fitted.classes_, np.unique(y))
    found = fitted.predict(X)
    assert found.dtype == fitted.classes_.dtype
    assert set(found) <= set(y)
    assert fitted.score(X, y) > 0.8


@over_each(name=LABELS, basis=["full", "uniform", "random_features"])
def test_probabilities_are_ones_and_agree_with_predictions(name, basis):
    fitted = model(basis).fit(X, LABELS[name])
    found = fitted.predict_proba(NEW)
    assert found.shape == (40, len(fitted.classes_))
    assert found.min() >= 0.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(fitted.classes_[found.argmax(axis=1)], fitted.predict(NEW))


@over_bases
def test_many_classes_are_one_regression_a_class(basis):
    signs = np.where(THREE[:, None] == np.arange(3), 1.0, -1.0)
    regressor = KernelRegressor(Gaussian(0.3), BASES[basis](), 1e-3).fit(X, signs)
    fitted = model(basis, calibration=None).fit(X, THREE)
    np.testing.assert_allclose(fitted.decision_function(NEW), regressor.predict(NEW), atol=1e-8)
    np.testing.assert_array_equal(fitted.predict(NEW), regressor.predict(NEW).argmax(axis=1))


@over_bases
def test_two_classes_are_one_regression(basis):
    regressor = KernelRegressor(Gaussian(0.3), BASES[basis](), 1e-3).fit(X, 2.0 * TWO - 1)
    fitted = model(basis, calibration=None).fit(X, TWO)
    assert fitted.dual_coef_.shape[1] == 1
    decision = fitted.decision_function(NEW)
    assert decision.shape == (40,)
    np.testing.assert_allclose(decision, regressor.predict(NEW), atol=1e-8)
    np.testing.assert_array_equal(fitted.predict(NEW), (decision > 0).astype(int))
    expected = np.clip((1 + decision) / 2, 0, 1)
    np.testing.assert_allclose(fitted.predict_proba(NEW)[:, 1], expected, atol=1e-12)


def test_probabilities_estimate_the_shares_of_classes():
    rng = np.random.default_rng(0)
    points = rng.random((3000, 1))
    y = rng.random(3000) < points[:, 0]
    fitted = KernelClassifier(Gaussian(0.5), Landmarks(30, random_state=0)).fit(points, y)
    grid = np.linspace(0.1, 0.9, 9)[:, None]
    np.testing.assert_allclose(fitted.predict_proba(grid)[:, 1], grid[:, 0], atol=0.08)


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_projection_is_the_nearest_probability_vector(values):
    values = np.array(values)
    found = project_to_simplex(values)
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.ones(3), size=50)
    nearest = np.sum((values - found) ** 2, axis=1)
    for other in others:
        assert np.all(nearest <= np.sum((values - other) ** 2, axis=1) * (1 + 1e-9) + 1e-9)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6, unique=True))
def test_the_projection_keeps_the_largest(values):
    found = project_to_simplex(np.array([values]))[0]
    assert found[np.argmax(values)] == found.max()


def test_weights_move_the_border():
    y = (X[:, 0] > 0.5).astype(int)
    heavy = np.where(y == 1, 50.0, 1.0)
    plain, moved = model(alpha=0.1).fit(X, y), model(alpha=0.1).fit(X, y, heavy)
    assert moved.predict(NEW).sum() > plain.predict(NEW).sum()


def test_classes_of_weight_zero_are_not_there():
    fitted = model().fit(X, THREE, np.where(THREE == 2, 0.0, 1.0))
    assert fitted.classes_.tolist() == [0, 1]


def test_numbers_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        model().fit(X, X[:, 0])


def test_a_new_fit_forgets_old_classes():
    fitted = model().fit(X, LABELS["text"])
    assert fitted.fit(X, TWO).classes_.tolist() == [0, 1]
    assert fitted.decision_function(NEW).shape == (40,)

"""Fits that keep no moments: landmarks or points stand for all rows."""

import numpy as np
import pytest
from sklearn.base import clone

from cases import regressor, rows, targets, weights
from mercer import (
    ConjugateRounds,
    FullKernel,
    Gaussian,
    Landmarks,
    Matern,
    NewtonRounds,
    RandomFeatures,
    Sketch,
    load,
    save,
)
from mercer.estimators.deviations import posterior_of_model
from mercer.inference import variance
from mercer.models import ModelFileError
from reference_variance import process_variance

X, NEW = rows(1500), rows(200, seed=5)
Y = targets(X)


def deviation(model):
    return model.predict(NEW, return_std=True)[1]


@pytest.mark.parametrize("intercept", [True, False])
def test_landmarks_that_are_all_rows_are_exact(intercept):
    # A rough kernel: no landmark is dropped.
    few, y = X[:200], Y[:200]
    model = regressor(Matern(0.5, 1.0), Landmarks(200), 1e-3, fit_intercept=intercept)
    model.set_params(random_state=0)
    exact = clone(model).set_params(basis="full").fit(few, y)
    model.set_params(solver="pcg").fit(few, y)
    assert model.fit_.folds is None
    assert model.basis_.size == 200
    found, wanted = (posterior_of_model(one).variance.of_rows(NEW) for one in (model, exact))
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    np.testing.assert_allclose(model.noise_, exact.noise_, rtol=0.01)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_sample_is_the_process_of_its_points(intercept):
    model = regressor(Gaussian(0.3), Landmarks(100), 1e-4, fit_intercept=intercept, solver="pcg")
    model.set_params(random_state=0).fit(X, Y)
    points, kernel = model.basis_.landmarks_, Gaussian(0.3)
    ridge = np.full(len(points), len(points) * 1e-4)
    wanted = process_variance(kernel(points), kernel(points, NEW), np.ones(200), ridge, intercept)
    found = posterior_of_model(model).variance.of_rows(NEW)
    np.testing.assert_allclose(found, wanted / (1500 * 1e-4), rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weight", [None, weights(1500)], ids=["plain", "weighted"])
def test_products_are_within_a_half_of_moments_and_a_tenth_in_the_mean(dtype, weight):
    model = regressor(Matern(1.5, 0.5), Landmarks(500), 1e-4, dtype=dtype, random_state=0)
    by_moments = clone(model).fit(X, Y, weight)
    by_products = model.set_params(solver="pcg").fit(X, Y, weight)
    assert by_moments.effective_dimension_ < 500 / 5
    ratio = deviation(by_products) / deviation(by_moments)
    assert 1 / 1.5 < ratio.min() <= ratio.max() < 1.5
    assert np.mean(np.abs(np.log(ratio))) < 0.1
    assert by_products.noise_ == pytest.approx(by_moments.noise_, rel=0.02)


@pytest.mark.parametrize("basis", [FullKernel(), Sketch(60)], ids=["full", "sketch"])
def test_some_points_stand_for_all(basis, monkeypatch):
    exact = deviation(regressor(Gaussian(0.3), "full", 1e-4).fit(X, Y))
    model = regressor(Gaussian(0.3), basis, 1e-4, solver="pcg", random_state=0).fit(X, Y)
    assert model.fit_.folds is None
    assert model.fit_.dual_rows is None
    np.testing.assert_allclose(deviation(model), exact, rtol=0.05 if basis.dual is False else 1e-3)
    monkeypatch.setattr(variance, "POINTS", 700)
    again = clone(model).fit(X, Y)
    assert posterior_of_model(again).variance.width == 700
    ratio = deviation(again) / exact
    assert 1 / 1.3 < ratio.min() <= ratio.max() < 1.3
    np.testing.assert_array_equal(deviation(again), deviation(clone(again).fit(X, Y)))


@pytest.mark.parametrize("basis", [Landmarks(60), RandomFeatures(60), Sketch(60), FullKernel()])
@pytest.mark.parametrize("shards", [None, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_residuals_of_products(basis, shards, intercept):
    if shards and isinstance(basis, Sketch):
        shards = None
    both, weight = targets(X, 2) * [1.0, 50.0], weights(1500)
    model = regressor(Matern(1.5, 0.5), basis, 1e-4, fit_intercept=intercept, shards=shards)
    model.set_params(solver="pcg", random_state=0).fit(X, both, weight)
    wanted = weight @ (both - model.predict(X)) ** 2
    found = model.fit_.residual_square * model._targets.scale**2
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_files_keep_the_residuals(tmp_path, monkeypatch):
    model = regressor(Gaussian(0.3), Landmarks(60), 1e-4, solver="pcg", random_state=0).fit(X, Y)
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.fit_.residual_square, model.fit_.residual_square)
    np.testing.assert_allclose(deviation(again), deviation(model), rtol=1e-12)
    monkeypatch.setattr("mercer.models.saving.load", lambda path: None)  # writes anything
    model.fit_.residual_square = -model.fit_.residual_square
    with pytest.raises(ModelFileError, match="residual_square must not be negative"):
        load(save(model, tmp_path / "wrong"))
    model.fit_.residual_square = np.zeros(2)
    with pytest.raises(ModelFileError, match="residual_square"):
        load(save(model, tmp_path / "wrong"))


@pytest.mark.parametrize("combine", ["average", "newton", "conjugate"])
def test_shards_that_keep_their_sums(combine):
    model = regressor(Matern(1.5, 0.5), Landmarks(500), 1e-4, random_state=0)
    exact = clone(model).fit(X, Y)
    parts = model.set_params(shards=3, combine=combine).fit(X, Y)
    found, wanted = (posterior_of_model(one).variance.of_rows(NEW) for one in (parts, exact))
    assert np.abs(np.log(found / wanted)).max() < 2 * np.log(1.5)
    assert np.all(parts.leverage(NEW) < 1)
    if combine != "average":
        assert parts.noise_ == pytest.approx(exact.noise_, rel=0.02)
        return
    with pytest.raises(ValueError, match="Fit with combine='sum'"):
        parts.predict(NEW, return_std=True)


@pytest.mark.parametrize("combine", ["newton", "conjugate"])
@pytest.mark.parametrize("start", ["average", "zero"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("rounds", [1, 4])
def test_residuals_of_rounds(combine, start, intercept, rounds):
    kind = {"newton": NewtonRounds, "conjugate": ConjugateRounds}[combine](rounds, start=start)
    both, weight = targets(X, 2) * [1.0, 50.0], weights(1500)
    model = regressor(Matern(1.5, 0.5), Landmarks(40), 1e-4, fit_intercept=intercept, shards=3)
    model.set_params(combine=kind, random_state=0).fit(X, both, weight)
    wanted = weight @ (both - model.predict(X)) ** 2
    found = model.fit_.residual_square * model._targets.scale**2
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_rounds_with_unlabelled_rows_do_not_know_their_residuals():
    labels = np.where(np.arange(1500) % 3 == 0, Y, np.nan)
    model = regressor(Matern(1.5, 0.5), Landmarks(40), 1e-4, unlabelled="use", random_state=0)
    model.set_params(shards=3, combine="conjugate").fit(X, labels)
    assert model.fit_.residual_square is None

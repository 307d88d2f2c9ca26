"""Standard deviations are those of the Gaussian process that a fit is the mean of."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.gaussian_process.kernels import Matern as MaternOf

from cases import regressor, rows, targets, weights
from mercer import (
    Gaussian,
    KernelRegressor,
    Landmarks,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RandomFeatures,
    Sketch,
    load,
    save,
)
from mercer.estimators.deviations import posterior_of_model
from reference_variance import hat_matrix, process_variance, regression_variance

X, NEW = rows(60), np.vstack([rows(30, seed=5), 3.0 + rows(5, seed=6)])
Y, WEIGHT, ALPHA = targets(X), 2 * weights(60), 1e-3


def sigma(model):
    """The standard deviation of the noise of a row of weight 1, in units of y."""
    return np.sqrt(posterior_of_model(model).noise()) * model._targets.scale


def relative(model, X=NEW):
    """v(x) / sigma^2."""
    return (model.predict(X, return_std=True)[1] / sigma(model)) ** 2


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("basis", ["full", Landmarks(sampling=X)], ids=["full", "landmarks"])
@pytest.mark.parametrize(
    ("kernel", "same"),
    [(Gaussian(0.5), RBF(0.5)), (Matern(1.5, 0.7), MaternOf(0.7, nu=1.5))],
    ids=["gaussian", "matern"],
)
def test_as_the_gaussian_process_of_scikit_learn(kernel, same, basis, weight):
    model = regressor(kernel, basis, ALPHA, fit_intercept=False).fit(X, Y, sample_weight=weight)
    w = np.ones(60) if weight is None else weight
    noise = float(sigma(model)[0] ** 2)
    process = GaussianProcessRegressor(
        ConstantKernel(noise / (w.sum() * ALPHA)) * same, alpha=noise / w, optimizer=None
    ).fit(X, Y)
    mean, std = process.predict(NEW, return_std=True)
    found, deviation = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(found, mean, atol=1e-6)
    np.testing.assert_allclose(deviation, std, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("basis", ["full", Landmarks(sampling=X), Sketch(60)])
def test_the_bordered_system(basis, intercept):
    model = regressor(Gaussian(0.5), basis, ALPHA, fit_intercept=intercept, random_state=0)
    model.fit(X, Y, sample_weight=WEIGHT)
    kernel, total = Gaussian(0.5), WEIGHT.sum()
    ridge = total * ALPHA / WEIGHT
    wanted = process_variance(kernel(X), kernel(X, NEW), np.ones(len(NEW)), ridge, intercept)
    np.testing.assert_allclose(relative(model), wanted / (total * ALPHA), rtol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_random_features_are_bayesian_linear_regression(dtype, intercept):
    basis = RandomFeatures(40, random_state=0)
    model = regressor(Gaussian(0.5), basis, ALPHA, fit_intercept=intercept, dtype=dtype)
    model.fit(X, Y, sample_weight=WEIGHT)
    H, h = (model.basis_.evaluate(part).astype(float) for part in (X, NEW))
    wanted = regression_variance(H, h, WEIGHT, WEIGHT.sum() * ALPHA, intercept)
    np.testing.assert_allclose(relative(model), wanted, rtol=1e-8 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_landmarks_are_regression_and_what_they_do_not_span(intercept):
    points = rows(12, seed=9)
    model = regressor(Gaussian(0.3), Landmarks(sampling=points), ALPHA, fit_intercept=intercept)
    model.fit(X, Y)
    kernel = Gaussian(0.3)
    L = np.linalg.cholesky(kernel(points))
    H, h = (np.linalg.solve(L, kernel(points, part)).T for part in (X, NEW))
    spanned = regression_variance(H, h, np.ones(60), 60 * ALPHA, intercept)
    missed = (1.0 - np.sum(h**2, axis=1)) / (60 * ALPHA)
    np.testing.assert_allclose(relative(model), spanned + missed, rtol=1e-8)
    np.testing.assert_allclose(model.leverage(NEW), spanned, rtol=1e-8)


@pytest.mark.parametrize("basis", [Landmarks(20, random_state=0), RandomFeatures(20), "full"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-2, 1e-5])
def test_leverages_are_the_diagonal_of_the_hat_matrix(basis, intercept, alpha):
    model = regressor(Matern(1.5, 0.5), basis, alpha, fit_intercept=intercept, random_state=0)
    H = hat_matrix(lambda y: clone(model).fit(X, y, WEIGHT).predict(X), len(X))
    model.fit(X, Y, WEIGHT)
    np.testing.assert_allclose(WEIGHT * model.leverage(X), np.diag(H), rtol=1e-6, atol=1e-9)
    whole = model.effective_dimension_ + intercept
    np.testing.assert_allclose(np.trace(H), whole, rtol=1e-8)
    found = posterior_of_model(model).variance.effective_dimension
    np.testing.assert_allclose(found, model.effective_dimension_, rtol=1e-8)
    left = WEIGHT @ (Y - model.predict(X)) ** 2 / (WEIGHT.sum() - whole)
    np.testing.assert_allclose(model.noise_, np.sqrt(left), rtol=1e-8)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=["linear", "polynomial"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-13])
def test_singular_kernel_matrices(kernel, alpha):
    full = regressor(kernel, "full", alpha).fit(X, Y)
    few = regressor(kernel, Landmarks(30, random_state=0), alpha).fit(X, Y)
    np.testing.assert_allclose(full.noise_, few.noise_, rtol=1e-4)
    if alpha > 1e-10:  # below, rounding over alpha is the prior of what is not spanned
        np.testing.assert_allclose(relative(full), relative(few), rtol=1e-5)
    assert np.isfinite(relative(full)).all()


def test_more_landmarks_are_closer_to_the_full_kernel():
    X = rows(400)
    y, new = targets(X), rows(100, seed=3)
    exact = regressor(Gaussian(0.25), "full", 1e-4).fit(X, y)
    wanted, gaps = exact.predict(new, return_std=True)[1], []
    for size in (10, 25, 60, 150, 400):
        model = regressor(Gaussian(0.25), Landmarks(size, random_state=0), 1e-4).fit(X, y)
        gaps.append(np.abs(model.predict(new, return_std=True)[1] / wanted - 1).max())
    assert all(later < earlier for earlier, later in pairwise(gaps)), gaps
    assert gaps[-1] < 1e-6


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_far_rows_have_the_prior_deviation(dtype):
    far = np.full((1, 2), 100.0)
    model = regressor(Gaussian(0.5), Landmarks(15), ALPHA, fit_intercept=False, dtype=dtype)
    std = model.set_params(random_state=0).fit(X, Y).predict(far, return_std=True)[1]
    np.testing.assert_allclose(std, model.noise_ / np.sqrt(60 * ALPHA), rtol=1e-12)
    assert std > 3 * model.predict(X, return_std=True)[1].max()


@pytest.mark.parametrize("basis", [Landmarks(40, random_state=0), RandomFeatures(40)])
def test_float32_is_close_to_float64(basis):
    found = [
        regressor(Gaussian(0.5), basis, ALPHA, dtype=dtype, random_state=0).fit(X, Y)
        for dtype in ("float32", "float64")
    ]
    narrow, wide = (model.predict(NEW, return_std=True)[1] for model in found)
    np.testing.assert_allclose(narrow, wide, rtol=5e-3)
    np.testing.assert_allclose(found[0].noise_, found[1].noise_, rtol=1e-3)


@pytest.mark.parametrize("basis", [Landmarks(sampling=X[:20]), RandomFeatures(20)])
def test_shards_are_as_one_place(basis):
    model = regressor(Gaussian(0.5), basis, ALPHA, random_state=0)
    one, three = (clone(model).set_params(shards=shards).fit(X, Y) for shards in (1, 3))
    wanted = one.predict(NEW, return_std=True)[1]
    np.testing.assert_allclose(three.predict(NEW, return_std=True)[1], wanted, rtol=1e-8)
    assert three.noise_ == pytest.approx(one.noise_, rel=1e-8)
    if not isinstance(basis, RandomFeatures):  # without shards their draw is another
        found = model.fit(X, Y).predict(NEW, return_std=True)[1]
        np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_folds_do_not_matter():
    model = regressor(Gaussian(0.5), Landmarks(sampling=X[:20]), 1e-3, random_state=0)
    whole = model.fit(X, Y).predict(NEW, return_std=True)[1]
    model.set_params(alpha="auto", alphas=[1e-3], selection="kfold").fit(X, Y)
    assert len(model.fit_.folds) > 1
    np.testing.assert_allclose(model.predict(NEW, return_std=True)[1], whole, rtol=1e-8)


def test_outputs_share_the_shape_and_have_their_own_noise():
    both = np.column_stack([Y, 100 * targets(X, seed=8)])
    model = regressor(Gaussian(0.5), "full", ALPHA).fit(X, both)
    mean, std = model.predict(NEW, return_std=True)
    assert mean.shape == std.shape == (len(NEW), 2)
    assert model.noise_.shape == (2,)
    for column in range(2):
        alone = clone(model).fit(X, both[:, column])
        found = alone.predict(NEW, return_std=True)[1]
        np.testing.assert_allclose(std[:, column], found, rtol=1e-8)
        np.testing.assert_allclose(model.noise_[column], alone.noise_, rtol=1e-8)
    one = clone(model).fit(X, Y[:, None])
    assert one.predict(NEW, return_std=True)[1].shape == (len(NEW), 1)


@pytest.mark.parametrize("basis", ["full", Landmarks(sampling=X[:20])])
@given(scale=st.floats(1e-6, 1e6), shift=st.floats(-1e3, 1e3))
@settings(max_examples=15, deadline=None)
def test_deviations_scale_with_y(basis, scale, shift):
    model = regressor(Gaussian(0.5), basis, ALPHA)
    std, noise = model.fit(X, Y).predict(NEW, return_std=True)[1], model.noise_
    model.fit(X, scale * (Y + shift))
    found = model.predict(NEW, return_std=True)[1]
    np.testing.assert_allclose(found, scale * std, rtol=1e-5)
    np.testing.assert_allclose(model.noise_, scale * noise, rtol=1e-5)


@pytest.mark.parametrize("basis", ["full", Landmarks(sampling=X[:20])])
def test_weights_that_are_scaled_to_a_small_sum(basis):
    model = regressor(Gaussian(0.5), basis, ALPHA)
    std, noise = model.fit(X, Y).predict(NEW, True, True)[1], model.noise_
    model.fit(X, Y, np.full(60, 0.01))
    np.testing.assert_allclose(model.predict(NEW, True, True)[1], std, rtol=1e-7)
    np.testing.assert_allclose(model.noise_, noise, rtol=1e-7)


@pytest.mark.parametrize("basis", ["full", Landmarks(sampling=X[:20])])
def test_weight_two_is_the_row_twice_and_weight_zero_is_none(basis):
    model = regressor(Gaussian(0.5), basis, ALPHA)
    twice = clone(model).fit(np.vstack([X, X]), np.concatenate([Y, Y]))
    model.fit(np.vstack([X, X[:3] + 0.1]), np.append(Y, Y[:3]), np.repeat([2.0, 0.0], [60, 3]))
    for include_noise in (False, True):
        found, wanted = (m.predict(NEW, True, include_noise)[1] for m in (model, twice))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_noise_is_included_on_request():
    model = regressor(Gaussian(0.5), "full", ALPHA).fit(X, Y)
    std, whole = (model.predict(NEW, return_std=True, include_noise=on)[1] for on in (0, 1))
    np.testing.assert_allclose(whole**2, std**2 + model.noise_**2, rtol=1e-12)


def test_the_noise_is_that_of_the_data():
    X = rows(1000)
    y = np.sin(4 * X[:, 0]) + 0.3 * np.random.default_rng(3).standard_normal(1000)
    for basis in ("full", Landmarks(100)):
        model = regressor(Gaussian(0.5), basis, random_state=0).fit(X, y)
        assert abs(model.noise_ - 0.3) < 0.02


def test_rows_added_and_forgotten():
    parts = Gaussian(0.5), Landmarks(sampling=X[:20]), ALPHA
    model, whole = regressor(*parts).fit(X[:40], Y[:40]), regressor(*parts).fit(X, Y)
    before = model.predict(NEW, return_std=True)[1]
    model.partial_fit(X[40:], Y[40:])
    wanted = whole.predict(NEW, return_std=True)[1]
    np.testing.assert_allclose(model.predict(NEW, return_std=True)[1], wanted, rtol=1e-7)
    assert not np.allclose(before, wanted, rtol=1e-2)
    model.forget(X[40:], Y[40:])
    np.testing.assert_allclose(model.predict(NEW, return_std=True)[1], before, rtol=1e-6)


@pytest.mark.parametrize("solver", ["ridge", "pcg"])
@pytest.mark.parametrize("basis", ["full", Landmarks(30), Sketch(30), RandomFeatures(30)])
def test_model_files(tmp_path, basis, solver):
    if isinstance(basis, RandomFeatures) and solver == "pcg":
        pytest.skip("nothing stands for the rows")
    model = regressor(Gaussian(0.5), basis, ALPHA, solver=solver, random_state=0).fit(X, Y)
    again = load(save(model, tmp_path / "model", moments=solver == "ridge"))
    found, wanted = (m.predict(NEW, return_std=True)[1] for m in (again, model))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert again.noise_ == pytest.approx(model.noise_, rel=1e-12)


@pytest.mark.parametrize("basis", ["full", Landmarks(20), RandomFeatures(20)])
def test_sparse_rows_and_files(tmp_path, basis):
    model = regressor(Gaussian(0.5), basis, ALPHA, random_state=0).fit(X, Y)
    wanted = model.predict(NEW, return_std=True)[1]
    np.save(tmp_path / "new.npy", NEW)
    for given_rows in (csr_matrix(NEW), str(tmp_path / "new.npy"), NEW.tolist()):
        std = model.predict(given_rows, return_std=True)[1]
        np.testing.assert_allclose(std, wanted, rtol=1e-8)


def test_tables():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(X[:, 0] > 0.5, "u", "v"))
    model = KernelRegressor(random_state=0).fit(frame, Y)
    mean, std = model.predict(frame, return_std=True)
    assert mean.shape == std.shape == (60,)
    assert np.all(std > 0)
    np.testing.assert_allclose(mean, model.predict(frame))


def test_many_rows_in_blocks_are_as_few(monkeypatch):
    model = regressor(Gaussian(0.5), Landmarks(20), ALPHA, random_state=0).fit(X, Y)
    new = rows(300, seed=4)
    whole = model.predict(new, return_std=True)[1]
    monkeypatch.setattr("mercer.estimators.deviations.ENTRIES", 400)
    np.testing.assert_allclose(model.predict(new, return_std=True)[1], whole, rtol=1e-10)


def test_unlabelled_rows_carry_no_information_about_y():
    X = rows(600)
    y = targets(X)
    parts = Gaussian(0.5), Landmarks(sampling=X[:20]), ALPHA
    used = regressor(*parts, unlabelled="use").fit(X, np.where(np.arange(600) < 200, y, np.nan))
    few, all_labelled = (regressor(*parts).fit(X[:n], y[:n]) for n in (200, 600))
    found, labelled, whole = (
        posterior_of_model(model).variance.of_rows(NEW) for model in (used, few, all_labelled)
    )
    assert np.abs(np.log(found / labelled)).max() < 0.35
    assert np.min(found / whole) > 2.9
    with pytest.raises(ValueError, match="unlabelled='drop'"):
        used.predict(NEW, return_std=True)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"solver": "kcgm", "alpha": "auto"}, "regularized by steps"),
        ({"solver": "kcgm"}, "regularized by steps"),
        ({"solver": "cutoff"}, "a cut-off"),
        ({"alpha": 0.0}, "positive penalty"),
        ({"solver": "pcg", "basis": RandomFeatures(20)}, "no points that could stand"),
        ({"kernel": Precomputed(), "basis": "full"}, "needs K"),
    ],
)
def test_refusals(changed, words):
    parts = {"kernel": Gaussian(0.5), "basis": Landmarks(20), "alpha": 1e-3, **changed}
    given_rows = X @ X.T if isinstance(parts["kernel"], Precomputed) else X
    model = regressor(**parts, random_state=0).fit(given_rows, Y)
    with pytest.raises(ValueError, match=words):
        model.predict(given_rows, return_std=True)
    with pytest.raises(AttributeError, match=words):
        _ = model.noise_
    assert model.predict(given_rows).shape == (60,)


def test_refusals_of_arguments(tmp_path):
    model = regressor(Gaussian(0.5), Landmarks(20), ALPHA).fit(X, Y)
    with pytest.raises(ValueError, match="set return_std=True"):
        model.predict(NEW, include_noise=True)
    with pytest.raises(TypeError, match="return_std must be True or False"):
        model.predict(NEW, return_std="yes")
    bare = load(save(model, tmp_path / "model"))
    with pytest.raises(ValueError, match="moments=True"):
        bare.predict(NEW, return_std=True)
    follows = regressor(Gaussian(1e-3), "full", 1e-12).fit(X, Y)
    with pytest.raises(ValueError, match="follows every row"):
        follows.predict(NEW, return_std=True)

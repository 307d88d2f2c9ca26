"""Landmarks are as good as the functions they are: many of them, wide kernels, both dtypes."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import reference
from cases import regressor
from mercer import Gaussian, Landmarks, Matern, RandomFeatures
from pairs import over_each, over_pairs


def truth(X):
    return np.sin(4 * X.sum(axis=1))


def problem(noise, n=1500):
    """A smooth function in three columns, and rows to test on."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    return X, truth(X) + noise * rng.standard_normal(n), rng.random((1000, 3))


def error(model, new):
    return float(np.sqrt(np.mean((model.predict(new) - truth(new)) ** 2)))


@pytest.mark.parametrize("alpha", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("noise", [0.2, 1e-3])
def test_float64_landmarks_err_as_least_squares_on_them_does(alpha, noise):
    X, y, new = problem(noise)
    kernel = Gaussian(0.66)
    points = X[:200]
    c, b = reference.primal_ridge(
        kernel(X, points), kernel(points), y[:, None], np.ones(len(X)), alpha, True
    )
    exact = (kernel(new, points) @ c + b)[:, 0]
    model = regressor(kernel, Landmarks(sampling=points), alpha, dtype="float64").fit(X, y)
    least = np.sqrt(np.mean((exact - truth(new)) ** 2))
    assert error(model, new) < 1.05 * least
    assert np.abs(model.predict(new) - exact).max() < 0.1 * least


def test_many_landmarks_are_as_good_as_the_full_kernel():
    X, y, new = problem(noise=0.2, n=700)
    full = error(regressor(basis="full").fit(X, y), new)
    for dtype, factor in (("auto", 1.1), ("float64", 1.1), ("float32", 1.3)):
        model = regressor(basis=Landmarks(500, random_state=0), dtype=dtype).fit(X, y)
        assert error(model, new) < factor * full


def test_more_landmarks_do_no_harm():
    X, y, new = problem(noise=0.2, n=1000)
    errors = [
        error(regressor(basis=Landmarks(m, random_state=0)).fit(X, y), new) for m in (100, 300, 900)
    ]
    assert errors[2] < 1.1 * errors[1] < 1.3 * errors[0]


@over_pairs(
    basis=[Landmarks(100, random_state=0), RandomFeatures(100, random_state=0)],
    kernel=[Gaussian(2.0), Matern(1.5, 2.0)],
    data=["plain", "offset", "scales", "y offset"],
)
def test_float32_predicts_what_float64_does_on_sensible_problems(basis, kernel, data):
    X, y, new = problem(noise=0.1, n=600)
    if data == "offset":
        X, new = X + 1e6, new + 1e6
    if data == "scales":
        scales = np.array([1e-6, 1.0, 1e6])
        X, new = X * scales, new * scales
    if data == "y offset":
        y = y + 1e6
    scaler = StandardScaler().fit(X)
    predictions = [
        regressor(kernel, basis, 1e-4, dtype=dtype)
        .fit(scaler.transform(X), y)
        .predict(scaler.transform(new))
        for dtype in ("float32", "float64")
    ]
    assert np.abs(predictions[0] - predictions[1]).max() < 5e-3


@over_each(dtype=["float32", "float64"], basis=["full", "landmarks", "random_features"])
def test_an_offset_of_the_rows_changes_nothing(dtype, basis):
    X, y, new = problem(noise=0.1, n=300)
    if basis == "random_features":
        basis = RandomFeatures(100)
    settings = {"basis": basis, "alpha": 1e-4, "dtype": dtype, "random_state": 0}
    near = regressor(Gaussian(0.5), **settings).fit(X, y).predict(new)
    far = regressor(Gaussian(0.5), **settings).fit(X + 1e6, y).predict(new + 1e6)
    if isinstance(basis, RandomFeatures):  # other phases: another draw of the same kind
        assert np.abs(far - truth(new)).mean() < 2 * np.abs(near - truth(new)).mean() + 0.02
    else:
        np.testing.assert_allclose(far, near, atol=2e-3 if dtype == "float32" else 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_the_rows_changes_nothing_with_the_median_bandwidth(dtype, scale):
    X, y, new = problem(noise=0.1, n=300)
    settings = {"basis": "landmarks", "alpha": 1e-4, "dtype": dtype, "random_state": 0}
    near = regressor(**settings).fit(X, y).predict(new)
    far = regressor(**settings).fit(X * scale, y).predict(new * scale)
    np.testing.assert_allclose(far, near, atol=2e-3 if dtype == "float32" else 1e-6)

"""The error that a solve by products states is at least the true one, in every precision."""

import re
import warnings

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular
from scipy.spatial.distance import cdist

from mercer import (
    ArcCosine,
    Gaussian,
    KernelRegressor,
    Landmarks,
    LaplacianL2,
    Matern,
    RandomFeatures,
)
from mercer.contracts import Status
from mercer.solvers import PreconditionedCG


def fitted(X, Y, kernel, basis, alpha, tolerance, dtype="auto", intercept=True):
    """A solve by products, without any choice."""
    solver = PreconditionedCG(tolerance, max_steps=500)
    plain = {"metric": None, "scale": None, "columns": None, "intervals": None, "random_state": 0}
    model = KernelRegressor(
        kernel, basis, alpha=alpha, solver=solver, dtype=dtype, fit_intercept=intercept, **plain
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some tolerances cannot be reached
        return model.fit(X, Y)


def stated(model):
    """The error in the sentence, which has two digits."""
    return 1.05 * float(re.search(r"error of (\S+)", model.fit_.solution.reason).group(1))


def true_error(model, X, Y):
    """The relative error in the norm that the fit minimizes, against a direct float64 solution."""
    basis, value = model.fit_.basis, model.fit_.solution.value
    Y = (Y - model._targets.origin) / model._targets.scale
    n, alpha = len(X), model.alpha
    if basis.dual:
        A = basis.kernel_(X) + n * alpha * np.eye(n)
        right = np.hstack([Y, np.ones((n, 1))]) if model.fit_intercept else Y
        exact = np.zeros(right.shape)
        for _ in range(3):  # refined
            exact += cho_solve(cho_factor(A), right - A @ exact)
        error, whole = (np.sqrt(np.sum(v * (A @ v), axis=0)) for v in (value - exact, exact))
        return float(np.max(error / whole))
    basis.widen()
    H, gram = basis.evaluate(X), basis.gram()
    root = np.eye(basis.size) if gram is None else np.linalg.cholesky(gram).T
    if model.fit_intercept:
        H, Y = H - H.mean(axis=0), Y - Y.mean(axis=0)
    B = np.vstack([H / np.sqrt(n), np.sqrt(alpha) * root])
    Q, R = qr(B, mode="economic")
    exact = solve_triangular(R, Q[:n].T @ Y / np.sqrt(n))
    error, whole = (np.linalg.norm(B @ v, axis=0) for v in (value - exact, exact))
    return float(np.max(error / whole))


def problem(seed):
    """Rows, targets and parameters of a random fit."""
    rng = np.random.default_rng(seed)
    n, size, columns = rng.choice([40, 100, 300]), rng.choice([10, 25, 40]), rng.choice([2, 5, 10])
    X = rng.standard_normal((n, columns)) + rng.choice([0.0, 30.0])
    directions = rng.standard_normal((columns, rng.choice([1, 3]))) / np.sqrt(columns)
    Y = np.sin(2 * X @ directions)
    Y += rng.choice([0.0, 1e-3, 0.3]) * rng.standard_normal(Y.shape)
    bandwidth = float(rng.choice([0.5, 1.0, 3.0]) * np.sqrt(columns))
    kernel = Gaussian(bandwidth) if rng.random() < 0.5 else Matern(bandwidth=bandwidth)
    basis = rng.choice(["full", "features", "points", "rows"])
    basis = {"points": Landmarks(sampling=X[:size]), "rows": Landmarks(int(size))}.get(
        basis, RandomFeatures(int(size)) if basis == "features" else "full"
    )
    alpha, tolerance = 10 ** rng.uniform([-8, -9], -1)
    dtype = str(rng.choice(["auto", "float32", "float64"]))
    return X, Y, kernel, basis, float(alpha), float(tolerance), dtype, bool(rng.random() < 0.5)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_the_stated_error_is_at_least_the_true_one(first):
    for seed in range(first, first + 20):
        X, Y, *parts = problem(seed)
        model = fitted(X, Y, *parts)
        claim, status = stated(model), model.fit_.solution.status
        if status is Status.BREAKDOWN:  # nothing is promised
            continue
        assert true_error(model, X, Y) <= claim, (seed, model)
        coarse = status is Status.COARSE  # solved, for fewer functions than were asked for
        assert (claim <= 1.06 * model.solver.tolerance) == (status is Status.CONVERGED or coarse)
        assert not coarse or (model.dtype == "float32" and model.basis_.n_dropped_ > 0)


@pytest.mark.parametrize("kernel", [LaplacianL2(1.5), ArcCosine(0)], ids=str)
@pytest.mark.parametrize("basis", ["full", Landmarks(15)], ids=["full", "landmarks"])
@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_the_stated_error_of_kernels_with_a_kink(kernel, basis, shift):
    """Where rows are copies, a square root magnifies rounding of kernel values in float64 too."""
    rng = np.random.default_rng(0)
    X = rng.random((100, 5)) + shift
    X[50:] = X[:50]
    Y = np.sin(5 * X[:, :1]) + 0.1 * rng.standard_normal((100, 1))
    for alpha in (1e-3, 1e-6, 1e-9):
        for tolerance in (1e-3, 1e-8):
            model = fitted(X, Y, kernel, basis, alpha, tolerance, intercept=False)
            assert model.fit_.solution.status is not Status.BREAKDOWN
            assert true_error(model, X, Y) <= stated(model), model


@pytest.mark.parametrize("size", [None, 40], ids=["full", "landmarks"])
@pytest.mark.parametrize("alpha", [1e-3, 1e-6])
def test_the_stated_error_of_clusters_far_apart(size, alpha):
    """Squared distances are rounded in units of the largest, in float64 too."""
    rng = np.random.default_rng(0)
    centers, at = 100 * rng.standard_normal((5, 6)), rng.integers(5, size=120)
    X = centers[at] + 0.1 * rng.standard_normal((120, 6))
    Y = np.sin(X[:, :1]) + 0.1 * rng.standard_normal((120, 1))
    basis = "full" if size is None else Landmarks(sampling=X[:size])
    for tolerance in (1e-6, 1e-10, 1e-12):
        model = fitted(X, Y, Gaussian(0.5), basis, alpha, tolerance, intercept=False)
        points, value = model.basis_.kept_points, model.fit_.solution.value
        H, gram = (np.exp(-cdist(rows, points, "sqeuclidean") / 0.5) for rows in (X, points))
        y = Y / model._targets.scale
        if size is None:
            A = H + 120 * alpha * np.eye(120)
        else:
            A, y = H.T @ H / 120 + alpha * gram, H.T @ y / 120
        error = value - np.linalg.solve(A, y)
        whole = np.sqrt(float(y[:, 0] @ np.linalg.solve(A, y)[:, 0]))
        assert np.sqrt(float(error[:, 0] @ A @ error[:, 0])) / whole <= stated(model)


def smooth(n=1500, columns=3):
    """Rows whose landmarks are so alike that float32 is too coarse for small penalties."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, columns))
    return X, np.sin(X @ np.ones((columns, 1))) + 0.01 * rng.standard_normal((n, 1))


@pytest.mark.parametrize("size", [25, 150])
def test_a_small_tolerance_takes_float64(size):
    X, Y = smooth()
    model = fitted(X, Y, Gaussian(1.5), Landmarks(sampling=X[:size]), 1e-7, 1e-7)
    assert model.fit_.basis.precision_ == "float64"
    assert model.fit_.solution.status is Status.CONVERGED
    assert true_error(model, X, Y) <= stated(model) <= 1.06e-7
    coarse = fitted(X, Y, Gaussian(1.5), Landmarks(sampling=X[:size]), 1e-3, 1e-2)
    assert coarse.fit_.basis.precision_ == "float32"


def test_a_tolerance_that_float32_does_not_reach_is_refused_or_taken_in_float64():
    X, Y = smooth()
    parts = X, Y, Gaussian(3.0), Landmarks(sampling=X[:150]), 1e-6
    narrow, auto = fitted(*parts, 1e-4, "float32"), fitted(*parts, 1e-4)
    assert narrow.fit_.solution.status is Status.ROUNDING_LIMIT
    assert "try dtype='float64'" in narrow.fit_.solution.reason
    assert 1e-4 < true_error(narrow, X, Y) <= stated(narrow)
    assert auto.fit_.solution.status is Status.CONVERGED
    assert auto.fit_.basis.precision_ == "float64"
    assert true_error(auto, X, Y) <= stated(auto) <= 1.06e-4

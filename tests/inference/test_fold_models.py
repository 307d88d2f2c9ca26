"""Models without a fold, by subtraction, are refits without its rows."""

import numpy as np
import pytest

from mercer import KernelRegressor, Landmarks, RandomFeatures, Sketch
from mercer.kernels import Gaussian
from mercer.leaving_out import fold_models
from mercer.sampling import Dealer

N = 240


def rows(outputs=1, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (N, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=N)
    y = y if outputs == 1 else np.column_stack([y, 3 * y**2 + 1])
    return X, y, rng.integers(1, 4, N).astype(float) if weighted else None


def refit(model, X, y, weight, keep, alpha, intercept=True):
    """Solve the ridge problem of some rows in the functions of the model, by definition."""
    H = model.basis_.evaluate(X[keep]).astype(float)
    Y = model._targets.encode(y, 0)[keep]
    w = np.ones(len(Y)) if weight is None else weight[keep]
    W = w.sum()
    m, mean = (w @ H / W, w @ Y / W) if intercept else (np.zeros(H.shape[1]), np.zeros(Y.shape[1]))
    gram = model.basis_.gram()
    gram = np.eye(H.shape[1]) if gram is None else gram
    A = (H - m).T * w @ (H - m) / W + alpha * gram
    c = np.linalg.lstsq(A, (H - m).T * w @ (Y - mean) / W, rcond=1e-14)[0]
    return c, mean - m @ c


CASES = {
    "moments": {"basis": Landmarks(40)},
    "features": {"basis": RandomFeatures(60)},
    "sketch": {"basis": Sketch(40)},
    "two outputs": {"basis": Landmarks(30), "outputs": 2},
    "weights": {"basis": Landmarks(30), "weighted": True},
    "no intercept": {"basis": Landmarks(30), "fit_intercept": False},
    "alpha given": {"basis": Landmarks(30), "alpha": 1e-4},
    "shards": {"basis": Landmarks(30), "shards": 3, "shuffle": False},
    "products": {"basis": Landmarks(40), "solver": "pcg", "alpha": 1e-3},
    "products with weights": {
        "basis": Landmarks(40),
        "solver": "pcg",
        "alpha": 1e-3,
        "weighted": True,
    },
    "products over shards": {
        "basis": Landmarks(40),
        "solver": "pcg",
        "alpha": 1e-3,
        "shards": 3,
        "shuffle": False,
    },
}


@pytest.mark.parametrize("direct", [True, False], ids=["one by one", "by change"])
@pytest.mark.parametrize("case", CASES)
def test_models_without_a_fold_are_refits_without_its_rows(case, direct, monkeypatch):
    settings = dict(CASES[case])
    if not direct:
        monkeypatch.setattr(fold_models, "DIRECT", 0)
    X, y, weight = rows(settings.pop("outputs", 1), settings.pop("weighted", False))
    model = KernelRegressor(Gaussian(1.0), dtype="float64", random_state=0, **settings)
    model.fit(X, y, weight)
    intervals = model.fit_.intervals
    assert intervals.rows.number == N
    intercept = settings.get("fit_intercept", True)
    dealt = Dealer(N, 10, 0).labels(0, N) if "shards" in settings else intervals.rows.fold
    for fold in range(intervals.models):
        keep = dealt != fold
        c, constant = refit(model, X, y, weight, keep, model.alpha_, intercept)
        H = model.basis_.evaluate(X).astype(float)
        exact = H @ c + constant
        found = H @ intervals.coefficients[fold] + intervals.intercept[fold]
        change = np.abs(exact - H @ model.fit_.coefficients - model.fit_.intercept).max()
        # Conjugate gradients find the change to a fifth, in the norm of the system.
        exactly = direct and "products" not in case and "shards" not in case
        tolerance = 3e-6 if exactly else 0.5 * change
        np.testing.assert_allclose(found, exact, atol=max(tolerance, 3e-6))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", ["ridge", "pcg"])
def test_full_kernel_without_a_fold(solver, intercept, weighted):
    X, y, weight = rows(weighted=weighted)
    model = KernelRegressor(
        Gaussian(1.0), "full", 1e-3, solver=solver, fit_intercept=intercept, random_state=0
    ).fit(X, y, weight)
    intervals = model.fit_.intervals
    Y, K = model._targets.encode(y, 0), Gaussian(1.0)(X)
    w = np.ones(N) if weight is None else weight
    for fold in range(intervals.models):
        keep = np.flatnonzero(intervals.rows.fold != fold)
        # The same total penalty.
        G = K[np.ix_(keep, keep)] + np.diag(model.alpha_ * w.sum() / w[keep])
        a, ones = np.linalg.solve(G, Y[keep]), np.linalg.solve(G, np.ones((len(keep), 1)))
        constant = a.sum() / ones.sum() if intercept else 0.0
        exact = K[:, keep] @ (a - constant * ones) + constant
        found = K @ intervals.coefficients[fold] + intervals.intercept[fold]
        atol = 1e-10 if solver == "ridge" else 0.01
        np.testing.assert_allclose(found, exact, atol=atol)


@pytest.mark.parametrize("basis", ["full", Landmarks(40)], ids=["full", "landmarks"])
@pytest.mark.parametrize("solver", ["kcgm", "gradient_descent", "cutoff"])
def test_solvers_without_a_penalty_leave_folds_out_too(solver, basis):
    X, y, _ = rows()
    model = KernelRegressor(Gaussian(1.0), basis, solver=solver, random_state=0).fit(X, y)
    left_out = model.fit_.intervals.rows
    error = np.sqrt(np.mean(left_out.errors**2)) * model._targets.scale
    assert 0.08 < error < 0.3  # the noise is 0.1
    assert np.sqrt(np.mean((left_out.fitted - left_out.targets) ** 2)) < np.sqrt(
        np.mean(left_out.errors**2)
    )


def test_left_out_values_are_those_of_the_models():
    X, y, _ = rows()
    model = KernelRegressor(Gaussian(1.0), Landmarks(40), random_state=0).fit(X, y)
    intervals = model.fit_.intervals
    H = model.basis_.evaluate(X)
    for fold in range(intervals.models):
        at = intervals.rows.fold == fold
        expected = H[at] @ intervals.coefficients[fold] + intervals.intercept[fold]
        np.testing.assert_allclose(intervals.rows.values[at], expected, atol=1e-10)
    encoded = model._targets.encode(y, 0)
    np.testing.assert_array_equal(intervals.rows.targets, encoded)


def test_folds_are_left_out_of_the_search_for_steps_and_kept_for_them():
    X, y, _ = rows()
    model = KernelRegressor(Gaussian(1.0), Landmarks(40), selection="kfold", random_state=0)
    model.fit(X, y)
    assert len(model.fit_.folds) == 5  # those of the criterion, for partial_fit
    assert model.fit_.intervals.models == 5
    plain = KernelRegressor(Gaussian(1.0), Landmarks(40), random_state=0).fit(X, y)
    assert len(plain.fit_.folds) == 1
    assert plain.fit_.intervals.models == 10


def test_the_model_does_not_depend_on_what_is_left_out():
    X, y, _ = rows()
    with_intervals = KernelRegressor(Gaussian(1.0), Landmarks(40), random_state=0).fit(X, y)
    without = KernelRegressor(Gaussian(1.0), Landmarks(40), intervals=None, random_state=0)
    without.fit(X, y)
    np.testing.assert_allclose(with_intervals.predict(X), without.predict(X), atol=1e-9)
    assert without.fit_.intervals is None


def test_averages_leave_out_groups_of_shards():
    X, y, _ = rows()
    model = KernelRegressor(
        Gaussian(1.0), Landmarks(30), 1e-3, combine="average", shards=4, random_state=0
    ).fit(X, y)
    intervals = model.fit_.intervals
    assert intervals.models == 4
    assert intervals.label == "CV+ of 4 groups of shards"
    # The mean of all averages of three shards is the average of four, for shards of equal weight.
    np.testing.assert_allclose(
        intervals.coefficients.mean(axis=0), model.fit_.coefficients, atol=1e-8
    )


def test_local_functions_of_averages_are_left_out_with_their_shards():
    X, y, _ = rows()
    model = KernelRegressor(
        Gaussian(1.0), "full", 1e-3, combine="average", shards=3, random_state=0
    ).fit(X, y)
    intervals = model.fit_.intervals
    absent = [np.flatnonzero(~c.any(axis=1)) for c in intervals.coefficients]
    assert sorted(np.concatenate(absent).tolist()) == list(range(N))

"""When a run stops: the curves of folds are those of refits, and the rules say what they did."""

import numpy as np
import pytest

import mercer.sampling.folds
import mercer.systems.by_kernel_matrix
import reference
from cases import SOLVERS, Case, rows, targets, weights
from mercer import (
    KCGM,
    GradientDescent,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
    StopOnHeldOut,
)
from mercer.contracts import Status
from pairs import over_each, over_pairs

LIMIT = 9
CHOSEN = [
    Case(kernel, basis, "float64", solver)
    for kernel, basis in (
        ("laplacian_l1", "full"),
        ("laplacian_l1", "given"),
        ("gaussian", "random_features"),
    )
    for solver in ("kcgm", "gradient_descent", "accelerated")
]
EITHER = (False, True)


@pytest.fixture
def dealt(monkeypatch):
    """Deal rows to folds in a known way: every fifth row where a share is held out."""

    def labels(n, n_splits, rng=None, held_out=None):
        if held_out is None:
            return np.arange(n) * 7 % n_splits
        return (np.arange(n) % 5 == 2).astype(int)

    monkeypatch.setattr(mercer.sampling.folds, "fold_labels", labels)
    monkeypatch.setattr(mercer.systems.by_kernel_matrix, "fold_labels", labels)
    return labels


def data(weighted):
    """Rows, two outputs in very different units, and weights."""
    X = rows()
    Y = targets(X, 2) * [1.0, 300.0] + [5.0, -1000.0]
    return X, Y, weights() if weighted else np.ones(len(X))


def fitted(case, rule, intercept, weighted, max_steps=LIMIT):
    solver = SOLVERS[case.solver][0]().set_params(stop=rule, max_steps=max_steps)
    X, Y, w = data(weighted)
    model = case.estimator(alpha="auto", solver=solver, fit_intercept=intercept)
    return model.fit(X, Y, w if weighted else None)


def slow(case, model):
    """The same iteration by its definition, to be refitted on any rows."""
    X, solve = rows(), SOLVERS[case.solver][1]
    if case.basis == "full":
        H = Gamma = case.matrix(X)
    elif case.basis == "random_features":
        H, Gamma = model.basis_.evaluate(X), None
    else:
        points = model.basis_.landmarks_
        H, Gamma = case.matrix(X, points), case.matrix(points)
    return reference.Iterated(H, Gamma, model.fit_intercept, solve)


@over_pairs(case=CHOSEN, intercept=EITHER, weighted=EITHER)
def test_the_curve_of_folds_is_that_of_refits(case, intercept, weighted, dealt):
    model = fitted(case, StopByFolds(3, patience=100), intercept, weighted)
    _, Y, w = data(weighted)
    labels = dealt(len(Y), 3)
    expected = reference.step_errors(slow(case, model), labels, [0, 1, 2], Y, w, LIMIT)
    np.testing.assert_allclose(model.path_.by_fold, expected, rtol=1e-6)
    np.testing.assert_allclose(model.validation_curve_, expected.mean(axis=0), rtol=1e-6)
    assert model.best_step_ == 1 + np.argmin(expected.mean(axis=0))


@over_each(case=CHOSEN, weighted=EITHER)
def test_the_curve_of_held_out_rows_is_that_of_a_refit(case, weighted, dealt):
    model = fitted(case, StopOnHeldOut(patience=100), True, weighted)
    _, Y, w = data(weighted)
    labels = dealt(len(Y), 2, held_out=0.2)
    expected = reference.step_errors(slow(case, model), labels, [1], Y, w, LIMIT)
    np.testing.assert_allclose(model.path_.by_fold, expected, rtol=1e-6)
    assert model.best_step_ == 1 + np.argmin(expected[0])


@over_pairs(case=CHOSEN, weighted=EITHER, rule=[StopByFolds(3), StopOnHeldOut()])
def test_the_model_has_the_best_number_of_steps_on_all_rows(case, weighted, rule):
    model = fitted(case, rule, True, weighted)
    X, Y, w = data(weighted)
    steps = model.best_step_
    exact = fitted(case, StopAfter(steps), True, weighted)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), rtol=1e-9)
    expected = slow(case, model).fit(np.arange(len(X)), Y, w, steps).predict(np.arange(len(X)))
    np.testing.assert_allclose(model.predict(X), expected[-1], rtol=1e-7, atol=1e-6)
    errors = [np.average((Y - fit) ** 2, axis=0, weights=w).sum() for fit in expected]
    np.testing.assert_allclose(model.path_.training_error, errors, rtol=1e-6)
    assert model.fit_.solution.status is Status.STOPPED_EARLY
    assert rule.label in model.fit_.solution.reason


@pytest.mark.parametrize("basis", ["full", "given"])
def test_patience_ends_the_search(basis, dealt):
    """The curve has its minimum early: the search goes on for so many steps, and no further."""
    case = Case("laplacian_l1", basis, "float64", "kcgm")
    X = rows()
    y = X[:, 0] + np.random.default_rng(3).standard_normal(len(X))
    found = {}
    for patience in (1, 3, 100):
        solver = KCGM(StopByFolds(3, patience), max_steps=9)
        model = case.estimator(alpha="auto", solver=solver).fit(X, y)
        found[patience] = model
        curve = model.validation_curve_
        assert len(curve) == min(9, model.best_step_ + patience)
        assert curve.argmin() + 1 == model.best_step_
    np.testing.assert_allclose(
        found[1].validation_curve_, found[100].validation_curve_[: found[1].best_step_ + 1]
    )


@pytest.mark.parametrize("solver", ["kcgm", "gradient_descent", "accelerated"])
@pytest.mark.parametrize("basis", ["full", "given"])
def test_weight_two_is_the_row_twice(solver, basis):
    case = Case("laplacian_l1", basis, "float64", solver)
    X, y = rows(), targets(rows())
    counts = 1 + np.arange(len(X)) % 2
    twice = np.repeat(np.arange(len(X)), counts)
    models = [
        case.estimator(alpha="auto").fit(X, y, counts),
        case.estimator(alpha="auto").fit(X[twice], y[twice]),
    ]
    new = rows(9, seed=4)
    np.testing.assert_allclose(models[0].predict(new), models[1].predict(new), atol=1e-7)
    for name in ("residuals", "training_error"):
        one, other = (getattr(model.path_, name) for model in models)
        np.testing.assert_allclose(one, other, rtol=1e-6)


# -- the discrepancy rule --------------------------------------------------------------------------


def test_the_threshold_is_that_of_the_paper():
    for n, zeta, gamma in ((100, 0.5, 1.0), (1000, 1.0, 0.5), (50, 0.0, 0.3)):
        expected = n ** (-(zeta + 0.5) / max(1.0, 2 * zeta + gamma))
        if 2 * zeta + gamma <= 1:  # b of equation 24
            expected *= max(1.0, gamma * np.log(n)) ** (zeta + 0.5)
        assert StopAtDiscrepancy(zeta=zeta, gamma=gamma).threshold(n) == pytest.approx(expected)
    assert StopAtDiscrepancy(tau=0.3).threshold(10**6) == 0.3


@over_pairs(solver=[KCGM, GradientDescent], basis=["full", "given"], scale=[1.0, 1.4, 3e5, 1e-7])
def test_it_stops_at_the_first_step_below_the_threshold_in_units_of_y(solver, basis, scale):
    """Whatever the units of y: its spread is the unit, exactly."""
    X, y = rows(), targets(rows())
    case = Case("laplacian_l1", basis, "float64")
    rule = StopAtDiscrepancy(tau=0.02)
    model = case.estimator(alpha="auto", solver=solver(rule)).fit(X, scale * y + 7 * scale)
    same = case.estimator(alpha="auto", solver=solver(StopAfter(60))).fit(X, y)
    kernel = model.kernel_
    H = kernel(X, model.basis_.landmarks_)
    values, vectors = np.linalg.eigh(kernel(model.basis_.landmarks_))
    features = H @ vectors / np.sqrt(values)
    centered = (features - features.mean(axis=0)).T
    norms = [
        np.linalg.norm(centered @ (y - fit)) / len(X) / y.std() for fit in same.staged_predict(X)
    ]
    expected = 1 + np.argmax(np.array(norms) <= 0.02)
    assert 1 < expected < 60
    assert model.best_step_ == expected
    assert model.fit_.solution.status is Status.STOPPED_EARLY
    assert f"residual below 0.02 after {expected} steps" in model.fit_.solution.reason


def test_columns_stop_one_by_one_and_stay():
    """Each output has the model that it has alone."""
    X = rows()
    Y = np.column_stack([targets(X), 100 * X[:, 0], np.sin(30 * X[:, 1])])
    for basis in ("full", "given"):
        case = Case("laplacian_l1", basis, "float64")
        solver = KCGM(StopAtDiscrepancy(tau=0.03))
        together = case.estimator(alpha="auto", solver=solver).fit(X, Y)
        steps = []
        for column in range(3):
            alone = case.estimator(alpha="auto", solver=solver).fit(X, Y[:, column])
            steps.append(alone.best_step_)
            np.testing.assert_allclose(
                together.predict(X)[:, column], alone.predict(X), rtol=1e-9, atol=1e-9
            )
        assert len(set(steps)) > 1
        assert together.best_step_ == max(steps)

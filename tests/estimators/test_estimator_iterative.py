"""Iterative solvers inside estimators: how a fit ends is said, and the model can be used."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from cases import rows, targets
from iterative import (
    BASES,
    NEW,
    RULES,
    SOLVERS,
    model_of,
    over_all,
    over_bases,
    over_rules,
    over_solvers,
)
from mercer import (
    KCGM,
    GradientDescent,
    KernelRegressor,
    LaplacianL1,
    Linear,
    MercerWarning,
    StopAfter,
    StopAtDiscrepancy,
)
from mercer.contracts import Status
from pairs import over_pairs

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def solution(model):
    return model.fit_.solution


@pytest.fixture
def quiet():
    """No warning is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", MercerWarning)
        yield


@over_all
def test_a_plain_fit_is_sound(solver, basis, rule, quiet):
    X, y = rows(), targets(rows())
    model = model_of(solver, basis, RULES[rule]).fit(X, y)
    assert solution(model).status in (Status.STOPPED_EARLY, Status.CONVERGED)
    assert model.n_iter_ == model.best_step_ == solution(model).steps
    assert model.alpha_ == 0.0
    path = model.path_
    assert len(path.residuals) == len(path.training_error) == len(path.values) == model.best_step_
    np.testing.assert_array_equal(path.steps, 1 + np.arange(model.best_step_))
    assert np.mean((model.predict(X) - y) ** 2) == pytest.approx(path.training_error[-1], rel=1e-6)
    assert np.mean((model.predict(X) - y) ** 2) < np.var(y)
    assert "the number of steps regularizes" in str(model.summary())
    assert f"{model.best_step_} steps" in str(model.summary())


@over_pairs(solver=SOLVERS, basis=BASES, rule=RULES, value=[0.0, 3.7, -1e9])
def test_a_constant_y_is_predicted(solver, basis, rule, value, quiet):
    X = rows()
    model = model_of(solver, basis, RULES[rule]).fit(X, np.full(len(X), value))
    np.testing.assert_allclose(model.predict(NEW), value, rtol=1e-12)
    assert solution(model).status.succeeded
    plain = clone(model).set_params(fit_intercept=False).fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(plain.predict(NEW), 0.0)
    assert solution(plain).status is Status.CONVERGED
    assert solution(plain).steps == 0
    assert plain.n_iter_ == 1
    assert list(plain.staged_predict(NEW)) == []


@over_bases
@over_rules
def test_a_perfect_fit_ends_by_itself(basis, rule, quiet):
    """A linear function and the linear kernel: two steps are all there are."""
    X = rows()
    y = X @ [2.0, -3.0] + 5.0
    model = model_of("kcgm", basis, RULES[rule], Linear()).fit(X, y)
    if rule != "discrepancy":
        assert model.best_step_ == 2
        np.testing.assert_allclose(model.predict(NEW), NEW @ [2.0, -3.0] + 5.0, atol=1e-9)
    if rule == "steps":
        assert solution(model).status is Status.CONVERGED
        assert "exhausted" in solution(model).reason


@over_solvers
@over_bases
def test_one_row(solver, basis, quiet):
    for rule in ("steps", "discrepancy"):
        model = model_of(solver, basis, RULES[rule]).fit([[0.3, 0.4]], [2.0])
        np.testing.assert_allclose(model.predict(NEW), 2.0)
        plain = clone(model).set_params(fit_intercept=False).fit([[0.3, 0.4]], [2.0])
        assert np.isfinite(plain.predict(NEW)).all()


@over_solvers
@over_bases
def test_a_rule_that_is_never_satisfied_warns(solver, basis):
    X, y = rows(), targets(rows())
    model = model_of(solver, basis, StopAtDiscrepancy(tau=1e-30), max_steps=3)
    with pytest.warns(MercerWarning, match=r"iteration limit.*residual below 1e-30.*in 3 steps"):
        model.fit(X, y)
    assert solution(model).status is Status.ITERATION_LIMIT
    same = model_of(solver, basis, StopAfter(3)).fit(X, y)
    np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))


@over_pairs(basis=BASES, rule=RULES, times=[3.0, 20.0, 1e8], accelerated=[False, True])
def test_a_step_that_is_too_long_warns_and_leaves_the_best_model(basis, rule, times, accelerated):
    X, y = rows(), targets(rows())
    K = np.exp(-np.abs(X[:, None] - X).sum(axis=2))
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    eta = times / np.linalg.eigvalsh(centered / len(X))[-1]
    solver = GradientDescent(RULES[rule], step_size=eta, accelerated=accelerated)
    model = KernelRegressor(LaplacianL1(1.0), BASES[basis](), solver=solver, random_state=0)
    if rule == "steps":  # four steps may be too few to notice
        model.set_params(solver__stop=StopAfter(60))
    with pytest.warns(MercerWarning, match=r"breakdown.*step_size"):
        model.fit(X, y)
    assert solution(model).status is Status.BREAKDOWN
    for rows_ in (X, NEW):
        assert np.isfinite(model.predict(rows_)).all()
    # No worse than doing nothing (or not much, by the rows held out), though the last steps were.
    allowed = 1 + 1e-9 if rule in ("steps", "discrepancy") else 2
    assert np.mean((model.predict(X) - y) ** 2) <= allowed * np.var(y)
    if rule == "steps":
        residuals = np.append(1.0, model.path_.residuals)
        assert model.best_step_ == residuals.argmin()
        assert len(list(model.staged_predict(X))) == model.best_step_


@over_bases
def test_columns_that_are_done_early_wait_for_the_others(basis, quiet):
    """One output is an eigenvector of the kernel matrix (one step), one has none to find."""
    X = rows()
    K = np.exp(-np.abs(X[:, None] - X).sum(axis=2))
    if basis == "dual":
        easy = np.linalg.eigh(K)[1][:, -3]
    else:
        model = model_of("kcgm", basis, StopAfter(1)).fit(X, targets(X))
        moments = model.fit_.folds[0].normal_equations(model.basis_.whitener(), False)
        whitened = model.basis_.whitener().vectors(model.basis_.orthogonalized(X).T).T
        easy = whitened @ np.linalg.eigh(moments.A)[1][:, -2]
    Y = np.column_stack([easy, targets(X), np.zeros(len(X))])
    kernel = "precomputed" if basis == "dual" else "laplacian_l1"
    rows_ = K if basis == "dual" else X
    settings = {"solver": KCGM(StopAfter(7)), "fit_intercept": False}
    if basis == "primal":
        settings["basis"] = model.basis_.__class__(sampling=model.basis_.landmarks_)
        settings["kernel"] = model.kernel_
    together = KernelRegressor(**{"kernel": kernel, **settings}).fit(rows_, Y)
    alone = [clone(together).fit(rows_, Y[:, column]) for column in range(3)]
    assert [one.best_step_ for one in alone] == [1, 7, 0]
    assert [solution(one).status for one in alone] == [
        Status.CONVERGED,
        Status.STOPPED_EARLY,
        Status.CONVERGED,
    ]
    assert together.best_step_ == 7
    found = np.column_stack([one.predict(rows_) for one in alone])
    np.testing.assert_allclose(together.predict(rows_), found, atol=1e-8)

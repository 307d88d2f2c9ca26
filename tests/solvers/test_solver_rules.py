"""Rules and runs: what is refused and in which words, what is kept, and what is made twice."""

import numpy as np
import pytest

from cases import rows, targets
from mercer import (
    KCGM,
    GradientDescent,
    KernelRegressor,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
    StopOnHeldOut,
)
from mercer.sampling import fold_labels
from mercer.solvers.early_stopping import Run, best_step, run_to
from mercer.solvers.stopping import as_rule
from pairs import over_pairs
from spectra import SPECTRA, system


def no_error(value):
    return 0.0


def test_a_run_that_is_taken_up_again_makes_no_step_twice():
    made = []

    class Counted(KCGM):
        def iterates(self, problem):
            for iterate in super().iterates(problem):
                made.append(iterate.step)
                yield iterate

    problem = system(SPECTRA["even"], outputs=2)
    run = Run.of(Counted(), problem)
    for steps, expected in ((5, 5), (3, 5), (8, 8), (8, 8), (1, 8)):
        solution, path = run_to(
            run, StopAfter(steps), steps, training=no_error, rows=10.0, limit_is_goal=True
        )
        assert solution.steps == steps == len(path.residuals) == len(path.values)
        assert made == list(range(1, expected + 1))


def test_iterates_that_take_too_much_memory_are_not_kept(monkeypatch):
    problem = system(SPECTRA["even"], outputs=2)
    monkeypatch.setattr("mercer.solvers.early_stopping.KEPT", 3 * problem.b.nbytes)
    run = Run.of(KCGM(), problem)
    solution, path = run_to(run, StopAfter(6), 6, training=no_error, rows=10.0, limit_is_goal=True)
    assert solution.steps == len(path.residuals) == 6
    assert path.values == []
    assert run.made == []
    assert not run.resumable
    X, y = rows(), targets(rows())
    monkeypatch.setattr("mercer.solvers.early_stopping.KEPT", 3 * 8 * 30)
    for basis in ("full", "random_features"):
        model = KernelRegressor("laplacian_l1", basis, solver=KCGM(StopAfter(6)), random_state=0)
        model.set_params(warm_start=True).fit(X, y)
        with pytest.raises(AttributeError, match="too much memory"):
            next(model.staged_predict(X))
        again = model.set_params(solver__stop=StopAfter(4)).fit(X, y).predict(X)
        exact = KernelRegressor("laplacian_l1", basis, solver=KCGM(StopAfter(4)), random_state=0)
        np.testing.assert_array_equal(again, exact.fit(X, y).predict(X))


def test_a_fold_with_nothing_to_do_counts_as_it_is():
    """Its y is constant: zero is its solution, and its error is that of zero."""
    problem = system(SPECTRA["even"])
    nothing = system(SPECTRA["even"])
    nothing.b[...] = 0.0
    runs = [Run.of(KCGM(), one, keep=False) for one in (problem, nothing)]
    judges = [lambda v: float(np.linalg.norm(problem.A @ v - problem.b)), lambda v: 5.0 + v.sum()]
    search = best_step(runs, judges, StopByFolds(2, patience=50), 12)
    assert search.errors.shape[0] == 2
    np.testing.assert_array_equal(search.errors[1], 5.0)
    assert search.step == search.errors.shape[1]  # the other one only improves
    search = best_step(runs[1:], judges[1:], StopByFolds(2), 12)
    assert search.step == 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (StopAfter(0), "steps of StopAfter must be at least 1, got 0"),
        (StopAfter(2.5), "steps of StopAfter must be an integer"),
        (
            StopAtDiscrepancy(tau=0.0),
            "tau of StopAtDiscrepancy must be a finite number greater than 0",
        ),
        (StopAtDiscrepancy(zeta=-1), "zeta of StopAtDiscrepancy"),
        (StopAtDiscrepancy(gamma=2), "gamma of StopAtDiscrepancy must be at most 1, got 2"),
        (StopOnHeldOut(0.0), "fraction of StopOnHeldOut must be a finite number greater than 0"),
        (StopOnHeldOut(1.0), "fraction of StopOnHeldOut must be below 1"),
        (StopOnHeldOut(patience=0), "patience of StopOnHeldOut"),
        (StopByFolds(1), "n_splits of StopByFolds must be at least 2, got 1"),
        (StopByFolds(patience=0), "patience of StopByFolds"),
        ("discrepency", "unknown stop 'discrepency'; did you mean 'discrepancy'"),
        (StopAfter, r"stop must be an instance, got the class StopAfter: write StopAfter\(\)"),
        (7, "stop must be a name .*'steps', 'discrepancy', 'held_out', 'kfold'"),
    ],
    ids=str,
)
def test_rules_that_cannot_be_are_refused_before_any_work(rule, message):
    for solver in (KCGM(rule), GradientDescent(rule)):
        model = KernelRegressor(solver=solver)
        with pytest.raises((TypeError, ValueError), match=message):
            model.fit(rows(), targets(rows()))
        assert not hasattr(model, "fit_")


def test_names_are_rules_with_their_defaults():
    for name, kind in (
        ("steps", StopAfter),
        ("discrepancy", StopAtDiscrepancy),
        ("held_out", StopOnHeldOut),
        ("kfold", StopByFolds),
    ):
        assert repr(as_rule(name)) == repr(kind())


@pytest.mark.parametrize("basis", ["full", "landmarks"])
@pytest.mark.parametrize("stop", ["kfold", "held_out"])
def test_one_row_has_no_other_rows(basis, stop):
    model = KernelRegressor(basis=basis, solver=KCGM(stop), random_state=0)
    with pytest.raises(ValueError, match=r"held-out rows, got n_samples=1.*StopAfter"):
        model.fit([[1.0]], [2.0])


@over_pairs(
    basis=["full", "landmarks"], stop=["kfold", "held_out", StopOnHeldOut(0.9)], n=[2, 3, 4]
)
def test_few_rows_always_have_some_on_both_sides(basis, stop, n):
    X, y = rows(), targets(rows())
    for seed in range(20):
        model = KernelRegressor(basis=basis, solver=KCGM(stop), random_state=seed)
        model.fit(X[:n], y[:n])
        assert np.isfinite(model.validation_curve_).all()
        assert np.isfinite(model.predict(X)).all()


def test_held_out_rows_are_the_share_on_average():
    rng = np.random.default_rng(0)
    shares = [fold_labels(13, 2, rng, held_out=0.25).mean() for _ in range(4000)]
    assert np.mean(shares) == pytest.approx(0.25, abs=2e-3)
    assert set(np.round(np.multiply(shares, 13)).astype(int)) == {3, 4}
    for rows_, share in ((2, 0.01), (2, 0.99), (3, 0.01)):
        for _ in range(50):
            assert 0 < fold_labels(rows_, 2, rng, held_out=share).sum() < rows_

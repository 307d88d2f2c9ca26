"""A fit that goes on is the longer fit, and only the same rows and parameters go on."""

import numpy as np
import pytest

from cases import rows, targets, weights
from mercer import (
    KCGM,
    Gaussian,
    GradientDescent,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
    StopOnHeldOut,
)
from pairs import over_each, over_pairs

SOLVERS = {
    "kcgm": KCGM,
    "plain": GradientDescent,
    "accelerated": lambda stop, **more: GradientDescent(stop, accelerated=True, **more),
}
BASES = {
    "dual": lambda: "full",
    "primal": lambda: Landmarks(12, random_state=1),
    "features": lambda: RandomFeatures(20, random_state=1),
}
over_bases = pytest.mark.parametrize("basis", BASES)
NEW = rows(12, seed=9)


def cold(solver, basis, stop, **parameters):
    return KernelRegressor(
        Gaussian(0.4),
        BASES[basis](),
        solver=SOLVERS[solver](stop),
        intervals=None,
        random_state=0,
        **parameters,
    )


@pytest.fixture
def steps_made(monkeypatch):
    """Count the steps that solvers make."""
    made = []
    for kind in (KCGM, GradientDescent):

        def iterates(self, problem, original=kind.iterates):
            for iterate in original(self, problem):
                made.append(iterate.step)
                yield iterate

        monkeypatch.setattr(kind, "iterates", iterates)
    return made


@over_pairs(solver=SOLVERS, basis=BASES, weighted=[False, True])
def test_going_on_is_one_longer_run(solver, basis, weighted, steps_made):
    X, Y, w = rows(), targets(rows(), 2), weights() if weighted else None
    model = cold(solver, basis, StopAfter(2), warm_start=True).fit(X, Y, w)
    for steps, most in ((5, 5), (3, 5), (9, 9), (9, 9), (1, 9), (7, 9)):
        model.set_params(solver__stop=StopAfter(steps)).fit(X, Y, w)
        assert max(steps_made) == len(steps_made) == most  # none is made twice
        whole = cold(solver, basis, StopAfter(steps)).fit(X, Y, w)
        del steps_made[-steps:]
        np.testing.assert_array_equal(model.predict(NEW), whole.predict(NEW))
        for name in ("residuals", "training_error"):
            np.testing.assert_array_equal(getattr(model.path_, name), getattr(whole.path_, name))
        assert model.best_step_ == steps
        assert model.fit_.solution.status is whole.fit_.solution.status


RULES = {
    "folds": (StopByFolds(3, patience=1), StopByFolds(3, patience=30)),
    "held out": (StopOnHeldOut(0.25, patience=1), StopOnHeldOut(0.25, patience=30)),
    "discrepancy": (StopAtDiscrepancy(tau=0.1), StopAtDiscrepancy(tau=0.01)),
    "to steps": (StopAtDiscrepancy(tau=0.01), StopAfter(2)),
}


@over_pairs(solver=SOLVERS, basis=BASES, rules=RULES)
@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_going_on_with_another_rule_of_the_same_pieces(solver, basis, rules):
    """Rows stay in the folds that they were dealt to, whatever else was drawn since."""
    first, then = RULES[rules]
    X, y = rows(), targets(rows())
    model = cold(solver, basis, first, warm_start=True).set_params(solver__max_steps=40).fit(X, y)
    model.set_params(solver__stop=then).fit(X, y)
    whole = cold(solver, basis, then).set_params(solver__max_steps=40).fit(X, y)
    assert model.best_step_ == whole.best_step_
    np.testing.assert_array_equal(model.predict(NEW), whole.predict(NEW))
    if whole.path_.by_fold is not None:
        np.testing.assert_array_equal(model.path_.by_fold, whole.path_.by_fold)


def test_folds_stay_also_where_the_seed_does_not():
    X, y = rows(), targets(rows())
    for random_state in (None, np.random.default_rng(0), np.random.RandomState(0)):
        for basis in BASES:
            model = cold("kcgm", basis, StopByFolds(3), warm_start=True)
            model.set_params(random_state=random_state).fit(X, y)
            curve = model.validation_curve_
            model.fit(X, y)
            if random_state is None:
                np.testing.assert_array_equal(model.validation_curve_, curve)
            assert np.isfinite(model.predict(NEW)).all()


def changed_rows(X, y):
    moved, other = X.copy(), y.copy()
    moved[3, 1] += 1e-9
    other[5] += 1e-9
    return {
        "X": (moved, y, None),
        "y": (X, other, None),
        "weights": (X, y, weights()),
        "fewer": (X[:-1], y[:-1], None),
        "order": (X[::-1], y[::-1], None),
    }


@over_each(basis=BASES, name=["X", "y", "weights", "fewer", "order"])
def test_other_rows_start_anew(basis, name, steps_made):
    X, y = rows(), targets(rows())
    changed = changed_rows(X, y)[name]
    model = cold("kcgm", basis, StopAfter(4), warm_start=True).fit(X, y)
    model.fit(*changed)
    assert steps_made == [1, 2, 3, 4, 1, 2, 3, 4]
    whole = cold("kcgm", basis, StopAfter(4)).fit(*changed)
    np.testing.assert_array_equal(model.predict(NEW), whole.predict(NEW))


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": Gaussian(0.5)},
        {"kernel__bandwidth": 0.3},
        {"basis": Landmarks(5, random_state=1)},
        {"alpha": 1e-3},
        {"fit_intercept": False},
        {"dtype": "float32"},
        {"random_state": 4},
        {"solver": GradientDescent(StopAfter(4), accelerated=True)},
        {"solver": GradientDescent(StopAfter(4), step_size=0.5)},
        {"solver": KCGM(StopAfter(4))},
        {"solver__stop": StopByFolds(3)},
    ],
    ids=str,
)
def test_other_parameters_start_anew(change, steps_made):
    X, y = rows(), targets(rows())
    model = cold("plain", "primal", StopAfter(4), warm_start=True).fit(X, y)
    del steps_made[:]
    model.set_params(**change).fit(X, y)
    assert steps_made[:2] in ([1, 2], [1, 1])  # one run, or one a fold
    whole = cold("plain", "primal", StopAfter(4)).set_params(**change).fit(X, y)
    np.testing.assert_array_equal(model.predict(NEW), whole.predict(NEW))


def test_without_warm_start_every_fit_starts_anew(steps_made):
    X, y = rows(), targets(rows())
    model = cold("kcgm", "primal", StopAfter(3)).fit(X, y).fit(X, y)
    assert steps_made == [1, 2, 3] * 2
    model.set_params(warm_start=True).fit(X, y).fit(X, y)
    assert steps_made == [1, 2, 3] * 3
    model.set_params(warm_start=False).fit(X, y)
    assert steps_made == [1, 2, 3] * 4


def test_verbosity_is_no_change(steps_made):
    X, y = rows(), targets(rows())
    model = cold("kcgm", "primal", StopAfter(3), warm_start=True).fit(X, y)
    model.set_params(verbose=1).fit(X, y)
    assert steps_made == [1, 2, 3]


def test_a_file_that_changed_starts_anew(tmp_path, steps_made):
    """Same name, same number of rows and columns: the rows are what counts."""
    X, y = rows(), targets(rows())
    path = tmp_path / "rows.npz"
    np.savez(path, X=X, y=y)
    model = cold("kcgm", "primal", StopAfter(3), warm_start=True).fit(path).fit(path)
    assert steps_made == [1, 2, 3]
    np.savez(path, X=X, y=y[::-1])
    model.fit(path)
    assert steps_made == [1, 2, 3] * 2
    whole = cold("kcgm", "primal", StopAfter(3)).fit(X, y[::-1])
    np.testing.assert_array_equal(model.predict(NEW), whole.predict(NEW))


def test_a_precomputed_kernel_with_absent_rows():
    X, y, w = rows(), targets(rows()), weights()
    w[[2, 8]] = 0.0
    K, new = Gaussian(0.4)(X), Gaussian(0.4)(NEW, X)
    model = KernelRegressor("precomputed", solver=KCGM(StopAfter(2)), warm_start=True).fit(K, y, w)
    model.set_params(solver__stop=StopAfter(5)).fit(K, y, w)
    exact = KernelRegressor("precomputed", solver=KCGM(StopAfter(5)))
    np.testing.assert_array_equal(model.predict(new), exact.fit(K, y, w).predict(new))
    np.testing.assert_array_equal(model.fit(K, y).predict(new), exact.fit(K, y).predict(new))


def test_direct_solvers_take_no_notice():
    X, y = rows(), targets(rows())
    warm = KernelRegressor(warm_start=True, random_state=0).fit(X, y).fit(X[:20], y[:20])
    exact = KernelRegressor(random_state=0).fit(X[:20], y[:20])
    np.testing.assert_array_equal(warm.predict(NEW), exact.predict(NEW))


@over_bases
def test_classes_go_on(basis, steps_made):
    X = rows()
    y = np.array(["low", "top"])[(X[:, 0] > 0.5).astype(int)]
    settings = {"kernel": Gaussian(0.4), "basis": BASES[basis](), "random_state": 0}
    settings["calibration"] = None  # models without a fold make steps too
    model = KernelClassifier(solver=KCGM(StopAfter(2)), warm_start=True, **settings).fit(X, y)
    model.set_params(solver__stop=StopAfter(6)).fit(X, y)
    assert steps_made == [1, 2, 3, 4, 5, 6]
    exact = KernelClassifier(solver=KCGM(StopAfter(6)), **settings).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(NEW), exact.decision_function(NEW))


def test_the_wrong_word_is_refused():
    with pytest.raises(TypeError, match="warm_start must be True or False, got 'no'"):
        KernelRegressor(warm_start="no").fit(rows(), targets(rows()))

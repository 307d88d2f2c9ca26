"""Models of iterative solvers in files: rules and curves come back, steps and runs do not."""

import contextlib

import numpy as np
import pytest
from model_files import put, read, rewrite, tensor

from cases import PLAIN
from mercer import (
    KCGM,
    CutOff,
    GradientDescent,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    Matern,
    ModelFileError,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
    StopOnHeldOut,
    load,
    save,
)
from mercer.contracts import Status
from pairs import over_pairs

rng = np.random.default_rng(0)
X = rng.random((60, 2))
Y = np.column_stack([np.sin(5 * X[:, 0]) + X[:, 1], 1e6 + 3e4 * X[:, 1]])
NEW = rng.random((30, 2))
KERNEL = Matern(bandwidth="median")
SOLVERS = {
    "kcgm by name": "kcgm",
    "kcgm": KCGM(StopAfter(4)),
    "kcgm by discrepancy": KCGM(StopAtDiscrepancy(tau=0.05, zeta=1), max_steps=50),
    "kcgm by folds": KCGM(StopByFolds(3, patience=2)),
    "gradient descent": GradientDescent(StopOnHeldOut(0.3), max_steps=20, accelerated=True),
    "gradient descent, a step": GradientDescent(StopAfter(5), step_size=np.float64(0.5)),
    "cut-off": CutOff(),
}


@over_pairs(moments=[False, True], basis=["full", Landmarks(15)], solver=SOLVERS)
def test_a_loaded_model_is_the_saved_one(solver, basis, moments, tmp_path):
    model = KernelRegressor(KERNEL, basis, solver=SOLVERS[solver], random_state=0, **PLAIN).fit(
        X, Y
    )
    loaded = load(save(model, tmp_path / "model", moments=moments))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert repr(loaded.get_params(deep=False)) == repr(model.get_params(deep=False))
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.n_iter_ == model.n_iter_
    if solver == "cut-off":
        assert not hasattr(loaded, "path_")
        assert loaded.effective_dimension_ == model.effective_dimension_
        return
    assert loaded.best_step_ == model.best_step_
    for name in ("residuals", "training_error", "validation_error", "by_fold"):
        np.testing.assert_array_equal(getattr(loaded.path_, name), getattr(model.path_, name))
    with pytest.raises(AttributeError, match="loaded from a file"):
        next(loaded.staged_predict(NEW))


def test_a_loaded_model_can_be_fitted_and_added_to(tmp_path):
    points = Landmarks(sampling=X[:15])
    solver = KCGM(StopAfter(4))
    model = KernelRegressor(KERNEL, points, solver=solver, warm_start=True, **PLAIN).fit(
        X[:40], Y[:40]
    )
    loaded = load(save(model, tmp_path / "model", moments=True))
    loaded.partial_fit(X[40:], Y[40:])
    model.partial_fit(X[40:], Y[40:])
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert len(list(loaded.staged_predict(NEW))) == 4  # these steps were made after loading
    loaded = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.fit(X, Y).predict(NEW), model.fit(X, Y).predict(NEW))


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_how_a_fit_ended_is_kept(tmp_path):
    for solver, status in (
        (GradientDescent(StopAfter(50), step_size=1e4), Status.BREAKDOWN),
        (KCGM(StopAtDiscrepancy(tau=1e-30), max_steps=2), Status.ITERATION_LIMIT),
    ):
        model = KernelRegressor(solver=solver).fit(X, Y)
        loaded = load(save(model, tmp_path / "model"))
        assert loaded.fit_.solution.status is model.fit_.solution.status is status
        np.testing.assert_array_equal(loaded.path_.residuals, model.path_.residuals)


# -- files made to do harm -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    solver = KCGM(StopByFolds(3))
    model = KernelClassifier(KERNEL, Landmarks(8), solver=solver, random_state=0, **PLAIN)
    model.fit(X, X[:, 0] > X[:, 1])
    return save(model, tmp_path_factory.mktemp("models") / "model", moments=True)


RULE = ("estimator", "params", "solver", "params", "stop")
CHANGES = {
    "unknown rule": (put(*RULE, "type", "StopNever"), "StopNever"),
    "rule is a kernel": (put(*RULE, {"type": "Linear", "params": {}}), "stop must be a name"),
    "rule of the wrong kind": (put(*RULE, "params", "n_splits", "x"), "n_splits"),
    "solver is a rule": (
        put("estimator", "params", "solver", {"type": "StopAfter", "params": {}}),
        "solver must be a name",
    ),
    "path of text": (put("fit", "path", "x"), "path must be an object"),
    "path without residuals": (put("fit", "path", {}), "path must be"),
    "solutions in the path": (
        put("fit", "path", "values", [1]),
        "path must be",
    ),
    "residuals of text": (put("fit", "path", "residuals", "x"), "residuals of path must be an arr"),
    "training errors of another length": (
        tensor("path.training_error", lambda a: a[:-1]),
        "training_error must have shape",
    ),
    "curve of two dimensions": (
        tensor("path.validation_error", lambda a: a[None]),
        "validation_error must have shape",
    ),
    "folds of another length": (tensor("path.by_fold", lambda a: a[:, 1:]), "by_fold must have"),
    "a curve that is not": (tensor("path.residuals", lambda a: a * np.nan), "finite"),
    "folds without a curve": (put("fit", "path", "validation_error", None), "both be given"),
    "more steps than residuals": (put("fit", "solution", "steps", 10**6), "steps must be from 0"),
    "fewer steps than none": (put("fit", "solution", "steps", -1), "steps must be from 0"),
    "a path among the findings": (put("fit", "found", "path", {"dict": {}}), "must not be a part"),
    "a run among the findings": (put("fit", "found", "run", 1), "must not be a part"),
    "a share over one": (put("fit", "plan", "held_out", 1.5), "held_out must be a share"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_inconsistent(name, path):
    change, message = CHANGES[name]
    with pytest.raises(ModelFileError, match=message):
        load(rewrite(path, change))


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_any_entry_may_be_anything(path):
    """Replace every entry of the fit and of the solver by values of every other kind."""
    document, _ = read(path)

    def places(value, at):
        yield at
        if isinstance(value, (dict, list)):
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                yield from places(item, (*at, key))

    fit, solver = document["fit"], document["estimator"]["params"]["solver"]
    loaded = 0
    for at in [*places(fit, ("fit",)), *places(solver, ("estimator", "params", "solver"))]:
        for value in (None, -1, "x", ["x"], {"dict": {}}):
            with contextlib.suppress(ModelFileError):
                model = load(rewrite(path, put(*at, value)))
                assert model.predict(X).shape == (60,)
                assert str(model.summary())
                if hasattr(model, "path_"):
                    assert len(model.path_.steps) >= model.best_step_
                loaded += 1
    assert loaded > 0


def test_numbers_that_overflow_are_refused_without_a_warning(path):
    with pytest.raises(ModelFileError, match="overflow"):
        load(rewrite(path, tensor("basis.state.landmarks_", lambda a: 1.7e308 * np.sign(a - 0.5))))


def test_files_from_before_residuals_were_kept(tmp_path):
    model = KernelRegressor(Matern(1.5, 0.5), Landmarks(20), 1e-3, solver="pcg", random_state=0)
    model.fit(X, np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(60))
    path = save(model, tmp_path / "model")
    assert load(path).predict(X, return_std=True)[1].shape == (60,)
    old = load(rewrite(path, lambda document, _: document["fit"]["found"].pop("residual_square")))
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="the noise in y is not known"):
        old.predict(X, return_std=True)

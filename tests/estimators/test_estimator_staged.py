"""Step by step: staged predictions, classes, copies and parameters of iterative solvers."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from cases import regressor, rows, targets, weights
from iterative import BASES, NEW, RULES, SOLVERS, model_of
from mercer import (
    KCGM,
    KernelClassifier,
    Landmarks,
    MercerWarning,
    RandomFeatures,
    Ridge,
    StopAfter,
    StopByFolds,
)
from pairs import over_pairs

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.fixture
def quiet():
    """No warning is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", MercerWarning)
        yield


@over_pairs(solver=SOLVERS, basis=BASES, outputs=[1, 3])
def test_staged_predictions_are_fits_of_so_many_steps(solver, basis, outputs):
    X, w = rows(), weights()
    Y = 100 * targets(X, outputs) + 7
    model = model_of(solver, basis, StopAfter(6)).fit(X, Y, w)
    before = model.dual_coef_.copy()
    for number, staged in enumerate(model.staged_predict(NEW), start=1):
        exact = model_of(solver, basis, StopAfter(number)).fit(X, Y, w)
        np.testing.assert_allclose(staged, exact.predict(NEW), rtol=1e-9)
        assert staged.shape == exact.predict(NEW).shape
        np.testing.assert_array_equal(model.dual_coef_, before)  # also in the middle of it
    assert number == 6
    np.testing.assert_allclose(staged, model.predict(NEW), rtol=1e-12)


@over_pairs(solver=SOLVERS, basis=BASES, classes=[2, 4], rule=RULES)
def test_classes(solver, basis, classes, rule, quiet):
    X = rows(80)
    labels = np.array(["d", "a", "c", "b"])[:classes]
    y = labels[np.minimum((classes * X[:, 0]).astype(int), classes - 1)]
    model = model_of(solver, basis, RULES[rule], kind=KernelClassifier).fit(X, y)
    assert model.score(X, y) > (0.8 if rule != "discrepancy" else 0.6)
    predictions, decisions = list(model.staged_predict(X)), list(model.staged_decision_function(X))
    assert len(predictions) == len(decisions) == model.best_step_
    np.testing.assert_array_equal(predictions[-1], model.predict(X))
    np.testing.assert_allclose(decisions[-1], model.decision_function(X), atol=1e-12)
    assert decisions[0].shape == ((80,) if classes == 2 else (80, 4))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    if rule == "discrepancy":  # each column stops on its own
        return
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    regressor = model_of(solver, basis, StopAfter(model.best_step_))
    regressor.fit(X, signs[:, 1] if classes == 2 else signs)
    np.testing.assert_allclose(model.decision_function(NEW), regressor.predict(NEW), atol=1e-8)


def test_direct_solvers_have_no_steps():
    X, y = rows(), targets(rows())
    model = regressor(solver=Ridge()).fit(X, y)
    for name in ("path_", "best_step_", "validation_curve_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=r"solved directly.*use solver='kcgm'"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="solved directly"):
        next(model.staged_predict(X))
    model = regressor(solver=KCGM(StopAfter(3))).fit(X, y)
    with pytest.raises(AttributeError, match=r"uses no held-out rows: use stop='kfold'"):
        _ = model.validation_curve_
    with pytest.raises(AttributeError, match="no effective dimension"):
        _ = model.effective_dimension_


@over_pairs(solver=SOLVERS, basis=BASES, warm_start=[False, True])
def test_copies_predict_alike_and_can_be_fitted(solver, basis, warm_start):
    X, y = rows(), targets(rows())
    model = model_of(solver, basis, StopAfter(5)).set_params(warm_start=warm_start).fit(X, y)
    assert (model.fit_.run is not None) == warm_start
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        np.testing.assert_array_equal(other.predict(NEW), model.predict(NEW))
        np.testing.assert_array_equal(other.path_.residuals, model.path_.residuals)
        np.testing.assert_allclose(list(other.staged_predict(NEW))[-1], model.predict(NEW))
        other.set_params(solver=SOLVERS[solver](StopAfter(8))).fit(X, y)
        whole = model_of(solver, basis, StopAfter(8)).fit(X, y)
        np.testing.assert_array_equal(other.predict(NEW), whole.predict(NEW))
    fresh = clone(model)
    assert not hasattr(fresh, "fit_")
    np.testing.assert_array_equal(fresh.fit(X, y).predict(NEW), model.predict(NEW))


def test_parameters_of_solver_and_rule_can_be_set():
    model = regressor(solver="kcgm").set_params(solver__max_steps=7, solver__stop="held_out")
    assert repr(model.solver) == "KCGM(max_steps=7, stop='held_out')"
    model.set_params(solver__stop=StopByFolds()).set_params(solver__stop__n_splits=3)
    model.fit(rows(), targets(rows()))
    assert model.path_.by_fold.shape[0] == 3
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(solver__stop__folds=3)


def test_random_features_and_sparse_rows():
    from scipy import sparse

    X, y = rows(), targets(rows())
    for basis in ("full", Landmarks(8), RandomFeatures(20)):
        dense, other = (
            regressor("gaussian", basis, solver="kcgm", random_state=0).fit(data, y)
            for data in (X, sparse.csr_array(X))
        )
        np.testing.assert_allclose(dense.predict(NEW), other.predict(NEW), atol=1e-8)

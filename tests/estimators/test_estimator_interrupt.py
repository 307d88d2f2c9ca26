"""Ctrl-C in the middle of a run: a model of the steps made, or everything as it was."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from cases import rows, targets
from iterative import BASES, NEW, SOLVERS, model_of, over_bases, over_solvers
from mercer import KCGM, GradientDescent, MercerWarning, StopAfter, StopByFolds
from mercer.contracts import Status
from pairs import over_pairs


def solution(model):
    return model.fit_.solution


@pytest.fixture
def interrupt(monkeypatch):
    """Raise KeyboardInterrupt inside a solver once it has made so many steps in all."""

    def after(steps):
        made = {"steps": 0}
        for kind in (KCGM, GradientDescent):

            def iterates(self, problem, original=kind.iterates):
                for iterate in original(self, problem):
                    if made["steps"] == steps:
                        made["steps"] += 1
                        raise KeyboardInterrupt
                    made["steps"] += 1
                    yield iterate

            monkeypatch.setattr(kind, "iterates", iterates)

    yield after
    monkeypatch.undo()


@over_solvers
@over_bases
def test_an_interrupted_fit_is_a_model(solver, basis, interrupt):
    X, y = rows(), targets(rows())
    same = model_of(solver, basis, StopAfter(5)).fit(X, y)
    interrupt(5)
    model = model_of(solver, basis, StopAfter(9))
    with pytest.warns(MercerWarning, match="interrupted after 5 steps"):
        model.fit(X, y)
    assert solution(model).status is Status.INTERRUPTED
    np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))
    assert len(list(model.staged_predict(NEW))) == 5
    assert len(model.path_.training_error) == len(model.path_.residuals) == 5


@over_solvers
@over_bases
def test_an_interrupted_search_is_a_model(solver, basis, interrupt):
    X, y = rows(), targets(rows())
    interrupt(3 * 4 + 1)  # in the fifth step of the second fold
    model = model_of(solver, basis, StopByFolds(3))
    with pytest.warns(MercerWarning, match="interrupted in the search for the best step"):
        model.fit(X, y)
    assert solution(model).status is Status.INTERRUPTED
    assert model.validation_curve_.shape == (4,)
    assert model.best_step_ == 1 + model.validation_curve_.argmin()
    same = model_of(solver, basis, StopAfter(model.best_step_)).fit(X, y)
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-9)


@over_pairs(solver=SOLVERS, basis=BASES, stop=[StopAfter(5), "kfold"])
def test_an_interruption_before_the_first_step_leaves_all_as_it_was(solver, basis, stop, interrupt):
    X, y = rows(), targets(rows())
    interrupt(0)
    model = model_of(solver, basis, stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(NEW)
    before = model.fit(X, y).predict(NEW)
    interrupt(0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:10], y[:10])
    np.testing.assert_array_equal(model.predict(NEW), before)
    assert model.fit_.n_rows == len(X)


@over_bases
@over_solvers
def test_a_run_that_was_interrupted_goes_on(solver, basis, interrupt):
    X, y = rows(), targets(rows())
    whole = model_of(solver, basis, StopAfter(9)).fit(X, y)
    interrupt(4)
    model = model_of(solver, basis, StopAfter(9)).set_params(warm_start=True)
    with pytest.warns(MercerWarning, match="interrupted after 4 steps"):
        model.fit(X, y)
    model.fit(X, y)
    assert model.best_step_ == 9
    assert solution(model).status is Status.STOPPED_EARLY
    np.testing.assert_array_equal(model.predict(NEW), whole.predict(NEW))

"""Rows that come and go, with iterative solvers: batches are one fit, pieces are kept."""

import numpy as np
import pytest
from sklearn.base import clone

from cases import rows, targets, weights
from iterative import NEW, SOLVERS, model_of, over_solvers
from mercer import Gaussian, KernelRegressor, Landmarks, StopAfter, StopByFolds, StopOnHeldOut


@over_solvers
@pytest.mark.parametrize("warm_start", [False, True], ids=["cold", "warm"])
def test_batches_are_one_fit_and_forgotten_rows_were_never_seen(solver, warm_start):
    X, y, w = rows(), targets(rows(), 2), weights()
    points = Landmarks(sampling=rows(10, seed=7))
    whole = model_of(solver, "primal", StopAfter(5), Gaussian(0.4)).set_params(basis=points)
    model = clone(whole).set_params(warm_start=warm_start)
    for part in np.array_split(np.arange(len(X)), 3):
        model.partial_fit(X[part], y[part], w[part])
    np.testing.assert_allclose(model.predict(NEW), whole.fit(X, y, w).predict(NEW), atol=1e-9)
    assert model.best_step_ == 5
    assert model.path_.residuals.shape == (5,)
    model.forget(X[:9], y[:9], w[:9])
    rest = whole.fit(X[9:], y[9:], w[9:])
    np.testing.assert_allclose(model.predict(NEW), rest.predict(NEW), atol=1e-7)
    model.fit(X, y, w)  # what was fitted last is not what fit() saw before
    np.testing.assert_allclose(model.predict(NEW), whole.fit(X, y, w).predict(NEW), atol=1e-12)


@pytest.mark.parametrize("stop", [StopByFolds(3), StopOnHeldOut(0.3)], ids=str)
def test_pieces_are_kept_over_batches_and_cannot_be_forgotten_from(stop):
    X, y = rows(), targets(rows())
    model = model_of("kcgm", "primal", stop)
    for part in np.array_split(np.arange(len(X)), 3):
        model.partial_fit(X[part], y[part])
    assert model.moments_.rows == 30
    assert np.isfinite(model.validation_curve_).all()
    assert not hasattr(model, "forget")
    model.set_params(solver__stop=StopByFolds(2))
    with pytest.raises(ValueError, match=r"'lowest 2-fold.*' needs moments in .*stop=StopAfter"):
        model.partial_fit(X[:5], y[:5])
    model.set_params(solver__stop=StopAfter(3)).partial_fit(X[:5], y[:5])
    assert model.best_step_ == 3


@over_solvers
def test_further_rows_after_an_automatic_full_kernel(solver):
    X, y = rows(), 100 + 5 * targets(rows())
    model = KernelRegressor("laplacian_l1", solver=SOLVERS[solver](StopAfter(5)))
    model.fit(X[:20], y[:20])
    assert type(model.basis_).__name__ == "FullKernel"
    model.partial_fit(X[20:], y[20:])
    points = Landmarks(sampling=X[:20])
    same = KernelRegressor(model.kernel_, points, solver=SOLVERS[solver](StopAfter(5))).fit(X, y)
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-8)

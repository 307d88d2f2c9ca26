"""Models in the span of a sketch: predicted by K and G'c, pickled, saved and updated."""

import pickle

import numpy as np
import pytest

import reference
from cases import classifier, rows, targets, weights
from mercer import (
    Gaussian,
    KernelRegressor,
    Sketch,
    load,
    open_rows,
    save,
)
from mercer.bases.sketch import KINDS
from pairs import over_each

over_kinds = pytest.mark.parametrize("kind", KINDS)
K = Gaussian(0.2)
NEW = rows(12, seed=9)


@over_each(kind=KINDS, n=[1, 2, 15, 30, 32])
def test_as_many_functions_as_rows_are_the_full_kernel(kind, n):
    X, y, w = rows(n), targets(rows(n)), weights(n)
    full = KernelRegressor(K, "full", 1e-3).fit(X, y, w)
    model = KernelRegressor(K, Sketch(n, kind), 1e-3, random_state=0).fit(X, y, w)
    np.testing.assert_allclose(model.predict(NEW), full.predict(NEW), atol=1e-7)


@over_each(kind=KINDS, dtype=["float64", "float32"])
def test_a_prediction_is_coefficients_times_functions(kind, dtype):
    X = rows(40)
    model = KernelRegressor(K, Sketch(15, kind), 1e-3, dtype=dtype, random_state=0)
    model.fit(X, targets(X, 2))
    evaluate, coefficients, width = model.basis_.prediction(model.dual_coef_)
    assert (width, coefficients.shape) == (40, (40, 2))
    values = evaluate(NEW, np.empty((12, 40), dtype=dtype))
    assert values.dtype == dtype
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    expected = model.basis_.evaluate(NEW) @ model.dual_coef_
    np.testing.assert_allclose(values @ coefficients, expected, atol=tolerance)
    np.testing.assert_allclose(model.predict(NEW), expected + model.intercept_, atol=tolerance)


@over_kinds
def test_a_precomputed_kernel_is_the_kernel_computed_inside(kind):
    X, y, w = rows(), targets(rows()), weights()
    w[::4] = 0.0
    settings = {"basis": Sketch(10, kind), "alpha": 1e-3, "random_state": 0}
    given = KernelRegressor("precomputed", **settings).fit(K(X), y, w).predict(K(NEW, X))
    inside = KernelRegressor(K, **settings).fit(X, y, w).predict(NEW)
    np.testing.assert_allclose(given, inside, atol=1e-9)


@over_kinds
def test_pickled_and_saved_models_predict_alike(kind, tmp_path):
    X = rows(40)
    model = KernelRegressor(basis=Sketch(12, kind), random_state=0).fit(X, targets(X))
    basis = pickle.loads(pickle.dumps(model.basis_))
    np.testing.assert_array_equal(basis.orthogonalized(NEW), model.basis_.orthogonalized(NEW))
    np.testing.assert_array_equal(basis.gram(), model.basis_.gram())
    for again in (
        pickle.loads(pickle.dumps(model)),
        load(save(model, tmp_path / "model", moments=True)),
    ):
        np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
        again.partial_fit(NEW, targets(NEW))
    np.testing.assert_array_equal(
        again.predict(NEW), model.partial_fit(NEW, targets(NEW)).predict(NEW)
    )


@over_kinds
def test_rows_added_later_leave_the_functions_alone(kind):
    X, y = rows(60), targets(rows(60))
    model = KernelRegressor(K, Sketch(12, kind), 1e-3, random_state=0).partial_fit(X[:40], y[:40])
    before = model.basis_.evaluate(NEW)
    model.partial_fit(X[40:], y[40:]).forget(X[40:50], y[40:50])
    np.testing.assert_array_equal(model.basis_.evaluate(NEW), before)
    kept = np.r_[0:40, 50:60]
    H, Gamma = model.basis_.evaluate(X[kept]), model.basis_.gram()
    c, b = reference.primal_ridge(H, Gamma, y[kept, None], np.ones(50), 1e-3, True)
    np.testing.assert_allclose(model.predict(NEW), (before @ c + b)[:, 0], atol=1e-6)


def test_rows_from_a_file(tmp_path):
    X, y = rows(50), targets(rows(50))
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    source = open_rows(tmp_path / "rows.npz", target="y")
    settings = {"basis": Sketch(10), "alpha": 1e-3, "random_state": 0}
    np.testing.assert_allclose(
        KernelRegressor(**settings).fit(source).predict(NEW),
        KernelRegressor(**settings).fit(X, y).predict(NEW),
        atol=1e-10,
    )


def test_it_classifies():
    X = rows(200)
    y = np.where(np.sin(6 * X[:, 0]) > X[:, 1], "above", "below")
    model = classifier(basis="sketch", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95

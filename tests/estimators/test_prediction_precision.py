"""Predictions in float32 are those in float64, to the noise that is allowed, and only if asked."""

import pickle

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelRegressor, Landmarks, LaplacianL2, Linear, Matern, Sketch
from mercer.estimators import predicting
from mercer.result import MANY, NARROW

PLAIN = {"metric": None, "scale": None, "random_state": 0}
KERNELS = [Gaussian(3.0), Matern(1.5, 4.0), Matern(2.5, 4.0), LaplacianL2(4.0)]


def data(rows=1500, columns=6):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    return X, 50 * (np.sin(X[:, 0]) + X[:, 1] * X[:, 2]) + 7.0


def fitted(kernel, dtype="auto", alpha=1e-2, basis=None):
    X, y = data()
    basis = Landmarks(MANY) if basis is None else basis
    return KernelRegressor(kernel, basis, alpha, dtype=dtype, **PLAIN).fit(X, y)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("basis", [Landmarks(MANY), Sketch(MANY + 50)], ids=["landmarks", "sketch"])
def test_float32_predictions_are_those_of_float64_within_the_noise(kernel, basis):
    X, y = data()
    new = 2 * np.random.default_rng(1).standard_normal((700, X.shape[1]))
    narrow, wide = (fitted(kernel, dtype, 0.1, basis) for dtype in ("auto", "float64"))
    assert (narrow.basis_.precision_, wide.basis_.precision_) == ("float64", "float64")
    assert narrow.fit_.prediction_precision == "float32"
    assert wide.fit_.prediction_precision == "float64"
    gap = (narrow.predict(new) - wide.predict(new)) / y.std()
    noise = wide.basis_.narrow_noise(wide.fit_.coefficients)
    assert 0 < np.sqrt(np.mean(gap**2)) <= 3 * noise <= 3 * NARROW
    assert np.abs(gap).max() <= 5 * NARROW


def test_coefficients_that_cancel_are_predicted_in_float64():
    """Values of nearly equal functions are too coarse in float32: e ||c|| is not small."""
    model = fitted(Gaussian(10.0), alpha=1e-12)
    assert model.basis_.narrow_noise(model.fit_.coefficients) > NARROW
    assert model.fit_.prediction_precision == "float64"


def test_the_measured_noise_grows_with_norms_of_rows():
    """Errors of distances in float32 are relative to the norms, so far landmarks cost digits."""
    X, _ = data()
    near, far = (Landmarks(kernel=Gaussian(1.0)).fit(spread * X[:600]) for spread in (1.0, 10.0))
    c = np.ones((600, 1))
    assert far.narrow_noise(c[: far.size]) > near.narrow_noise(c[: near.size]) / 10
    assert near.narrow_noise(np.zeros((near.size, 1))) == 0.0


def test_few_functions_and_unbounded_kernels_are_predicted_in_float64():
    X, y = data()
    few = KernelRegressor(Gaussian(3.0), Landmarks(MANY - 1), 1e-2, **PLAIN).fit(X, y)
    assert few.fit_.prediction_precision == "float64"
    linear = KernelRegressor(Linear(), Landmarks(5), 1e-2, **PLAIN).fit(X, y)
    assert linear.basis_.narrow_noise(linear.fit_.coefficients) == np.inf


def test_a_loaded_model_agrees_to_the_bit_and_one_row_within_the_noise(tmp_path, monkeypatch):
    """The precision belongs to the fit, not to how many rows are predicted at a time."""
    monkeypatch.setattr(predicting, "VALUES", 40 * MANY)
    model, (X, y) = fitted(Gaussian(3.0)), data()
    whole = model.predict(X[:333])
    mercer.save(model, tmp_path / "model.mercer")
    for other in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert other.fit_.prediction_precision == "float32"
        np.testing.assert_array_equal(other.predict(X[:333]), whole)
    one = [model.predict(X[i : i + 1])[0] for i in range(0, 333, 37)]
    np.testing.assert_allclose(one, whole[::37], rtol=0, atol=NARROW * y.std())


def test_what_predictions_remember_is_no_part_of_a_model():
    model, (X, _) = fitted(Gaussian(3.0)), data()
    before = pickle.dumps(model)
    model.predict(X[:3])
    assert len(pickle.dumps(model)) == len(before)


def test_tiles_of_any_size_give_the_same_rows(monkeypatch):
    model, (X, _) = fitted(Gaussian(3.0), dtype="float64"), data()
    whole = model.predict(X)
    for values in (MANY, 7 * MANY, 100 * MANY):
        monkeypatch.setattr(predicting, "VALUES", values)
        np.testing.assert_allclose(model.predict(X), whole, rtol=1e-11)

"""Parameters set after a fit: what the sums depend on may not change, the rest takes effect."""

import numpy as np
import pytest

from cases import GIVEN, rows, targets
from mercer import (
    GradientDescent,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    StopAfter,
    load,
    save,
)
from mercer.kernels import Gaussian, Matern
from mercer.solvers import Ridge
from pairs import over_each

CHANGES = {
    "kernel": {"kernel": Matern(1.5, 1.0)},
    "bandwidth": {"kernel__bandwidth": 2.0},
    "basis": {"basis": RandomFeatures(20)},
    "landmarks": {"basis": Landmarks(sampling=GIVEN[:3])},
    "fit_intercept": {"fit_intercept": False},
    "columns": {"columns": None},
    "missing": {"missing": "error"},
    "metric": {"metric": "diagonal"},
    "scale": {"scale": "standard"},
    "solver": {"solver": "cutoff"},
    "iterative": {"solver": GradientDescent(StopAfter(5))},
}


def model(**params):
    params = {"alpha": 1e-3, **params}
    return KernelRegressor(Gaussian(0.5), Landmarks(sampling=GIVEN), **params)


@over_each(name=CHANGES, method=["partial_fit", "forget"])
def test_what_the_sums_depend_on_may_not_change(name, method):
    X, y = rows(), targets(rows())
    fitted = model().fit(X, y)
    before, set_back = fitted.predict(X), {k.split("__")[0]: v for k, v in CHANGES[name].items()}
    set_back = {key: getattr(fitted, key) for key in set_back}
    fitted.set_params(**CHANGES[name])
    parameter = next(iter(set_back))
    with pytest.raises(ValueError, match=rf"but {parameter} was set to something else since"):
        getattr(fitted, method)(X[:5], y[:5])
    np.testing.assert_array_equal(fitted.predict(X), before)
    getattr(fitted.set_params(**set_back), method)(X[:5], y[:5])
    assert fitted.fit_.n_rows == (35 if method == "partial_fit" else 25)


@pytest.mark.parametrize("name", ["relative", "importance"])
def test_weights_of_another_kind_have_no_batches(name):
    fitted = model().fit(rows(), targets(rows())).set_params(weight_type=name)
    with pytest.raises(AttributeError, match="partial_fit"):
        fitted.partial_fit(rows(), targets(rows()))


def test_alpha_and_its_choice_take_effect_in_the_next_call():
    X, y = rows(), targets(rows())
    fitted = model().fit(X[:20], y[:20]).set_params(alpha=0.1).partial_fit(X[20:], y[20:])
    same = model(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), same.predict(X), atol=1e-8)
    fitted.set_params(alpha="auto", alphas=[1e-4, 1e-2], selection="gcv").forget(X[:5], y[:5])
    same = model(alpha="auto", alphas=[1e-4, 1e-2], selection="gcv").fit(X[5:], y[5:])
    assert fitted.alpha_ == same.alpha_
    np.testing.assert_allclose(fitted.predict(X), same.predict(X), atol=1e-6)


def test_the_same_by_another_name_is_no_change():
    X, y = rows(), targets(rows())
    fitted = KernelRegressor("gaussian", "landmarks", 1e-3, random_state=0).fit(X[:20], y[:20])
    fitted.set_params(kernel=Gaussian(), basis=Landmarks(), solver=Ridge())
    assert fitted.partial_fit(X[20:], y[20:]).fit_.n_rows == 30


def test_generators_that_a_fit_draws_from_are_no_change():
    X, y = rows(), targets(rows())
    basis = Landmarks(10, random_state=np.random.default_rng(0))
    fitted = KernelRegressor(Gaussian(0.5), basis, 1e-3, random_state=np.random.default_rng(0))
    assert fitted.fit(X[:20], y[:20]).partial_fit(X[20:], y[20:]).fit_.n_rows == 30


def test_a_model_file_does_not_hide_a_change(tmp_path):
    X, y = rows(), targets(rows())
    fitted = model().fit(X, y)
    again = load(save(fitted, tmp_path / "same", moments=True))
    assert again.partial_fit(X, y).fit_.n_rows == 60
    fitted.set_params(kernel__bandwidth=2.0)
    again = load(save(fitted, tmp_path / "other", moments=True))
    with pytest.raises(ValueError, match="kernel was set to something else"):
        again.partial_fit(X, y)

"""The table of parameters: every parameter of every estimator, and what derives from it."""

from inspect import signature

import pytest

from mercer import Gaussian, KernelClassifier, KernelRanker, KernelRegressor, Landmarks
from mercer.estimators.parameters import FIXED, PARAMETERS, parameters_that_define, read_parameters
from mercer.testing import PARAMETER_CHECKS

ESTIMATORS = [KernelRegressor, KernelClassifier, KernelRanker]


@pytest.mark.parametrize("check", PARAMETER_CHECKS)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_parameter_is_declared_and_documented(kind, check):
    for name in signature(kind).parameters:
        check(kind(), name)


def test_the_table_has_no_parameter_that_no_estimator_has():
    known = {name for kind in ESTIMATORS for name in signature(kind).parameters}
    assert known == set(PARAMETERS)


def test_what_ends_a_model_a_warm_start_and_a_checkpoint():
    assert set(FIXED) == {
        *("kernel", "basis", "metric", "scale", "columns", "missing", "fit_intercept"),
        *("weight_type", "class_weight", "solver"),
    }
    model = KernelRegressor(Gaussian(1.0), random_state=3, verbose=1, checkpoint="runs")
    passed = model.get_params(deep=False)
    started = parameters_that_define(model, "sums", "result", "seed")
    assert passed.keys() - started.keys() == {"verbose", "engine", "checkpoint"}
    resumed = parameters_that_define(model, "sums", "result")
    assert started.keys() - resumed.keys() == {"random_state"}


def test_values_are_read_and_what_was_passed_stays():
    basis = Landmarks(20)
    model = KernelRegressor("gaussian", basis, columns={"zip": "category"}, missing="error")
    values = read_parameters(model)
    assert isinstance(values["kernel"], Gaussian)
    assert values["basis"] is basis
    assert values["columns"].missing == "error"
    assert values["pair_weighting"] == "pair"  # that of an estimator without it
    assert model.kernel == "gaussian"


@pytest.mark.parametrize("name", ["fit_intercept", "warm_start", "shuffle"])
def test_an_error_names_the_parameter(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'no'"):
        read_parameters(KernelRegressor(**{name: "no"}))

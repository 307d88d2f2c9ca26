"""Derivatives of predictions, in every kernel, metric, scaling and basis."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

from explain_cases import ROWS, SD, X, Y, assert_slopes, steps_of
from mercer import (
    ArcCosine,
    Gaussian,
    KernelRegressor,
    LaplacianL1,
    Matern,
    Polynomial,
    RandomFeatures,
    Sketch,
)
from mercer.kernels import Kernel
from mercer.kernels.kernel import dense


@pytest.mark.parametrize("scale", ["standard", "quantile", None])
@pytest.mark.parametrize("metric", [None, "full"])
@pytest.mark.parametrize("kernel", [Gaussian("median"), Matern(2.5, "median")])
def test_derivatives_are_those_of_predict(kernel, metric, scale):
    model = KernelRegressor(kernel, metric=metric, scale=scale, random_state=0).fit(X, Y)
    found = model.explain(ROWS)
    assert_slopes(found, model.predict)
    assert found.exact
    np.testing.assert_allclose(found.spread, SD)
    np.testing.assert_allclose(found.effect, steps_of(model.predict, ROWS, SD), atol=1e-9)
    np.testing.assert_allclose(found.prediction, model.predict(ROWS))


@pytest.mark.parametrize(
    "kernel", [LaplacianL1("median"), Polynomial(degree=2), ArcCosine(1), "linear"], ids=str
)
def test_derivatives_of_other_kernels(kernel):
    model = KernelRegressor(kernel, metric=None, scale="standard", random_state=0).fit(X, Y)
    assert_slopes(model.explain(ROWS), model.predict)


def test_the_slope_at_a_kink_is_the_mean_of_both_sides():
    model = KernelRegressor(Matern(2.5, "median"), metric=None, scale="quantile").fit(X, Y)
    at_knots = model.explain(X[:40])
    sides = [model.explain(X[:40] + sign * 1e-7 * SD).derivative for sign in (1, -1)]
    assert np.abs(sides[0] - sides[1]).max() > 0.1
    np.testing.assert_allclose(at_knots.derivative, np.mean(sides, axis=0), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("basis", [RandomFeatures(100), Sketch(60), "landmarks", "full"], ids=str)
def test_derivatives_in_every_basis(basis):
    model = KernelRegressor(
        Gaussian("median"), basis, metric=None, scale="quantile", dtype="float64", random_state=0
    ).fit(X, Y)
    assert_slopes(model.explain(ROWS), model.predict)


class WithoutGradient(Kernel):
    """The Cauchy kernel, which does not say what its gradient is."""

    bounded = True

    def against(self, Z, precision="float64"):
        from scipy.spatial.distance import cdist

        def block(X, out=None):
            value = 1 / (1 + cdist(dense(X), dense(Z), "sqeuclidean"))
            out = np.empty(value.shape, dtype=precision) if out is None else out
            out[...] = value
            return out

        return block

    def diag(self, X):
        return np.ones(X.shape[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_kernel_without_gradient_is_differentiated_by_differences(dtype):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelRegressor(
        WithoutGradient(),
        "landmarks",
        alpha=1e-3,
        metric=None,
        scale=None,  # the formula below is of the columns themselves
        dtype=dtype,
        random_state=0,
    ).fit(Z, Y)
    found = model.explain(Z[:20] + 0.01)
    assert not found.exact
    coefficients, points = model.dual_coef_[:, 0], model.basis_.landmarks_
    difference = (Z[:20] + 0.01)[:, None] - points
    square = 1 + (difference**2).sum(axis=2)
    expected = np.einsum("ij,ijk->ik", -2 * coefficients / square**2, difference)
    np.testing.assert_allclose(found.derivative, expected, rtol=1e-6, atol=1e-6)

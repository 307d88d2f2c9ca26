"""Gradients of kernels equal finite differences; near and equal pairs; float32."""

import numpy as np
import pytest
from scipy import sparse

from cases import KERNELS
from mercer import (
    ArcCosine,
    Gaussian,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    PeriodicSpline,
    Polynomial,
    Precomputed,
    Sobolev,
)
from mercer.kernels.feature_maps import FourierFeatures, ReluFeatures
from mercer.kernels.gradients import in_tiles, pair_chunks
from mercer.kernels.spline import periodic_spline, periodic_spline_slope

BANDWIDTHS = np.array([1.0, 2.0, 0.5, 3.0])
STATIONARY = {
    "gaussian": Gaussian(1.3),
    "gaussian_columns": Gaussian(BANDWIDTHS),
    "matern_1": Matern(0.5, 1.2),
    "matern_3": Matern(1.5, 0.7),
    "matern_3_columns": Matern(1.5, BANDWIDTHS),
    "matern_5": Matern(2.5, 0.7),
    "laplacian_l2": LaplacianL2(BANDWIDTHS),
    "laplacian_l1": LaplacianL1(2.0),
    "laplacian_l1_columns": LaplacianL1(BANDWIDTHS),
}


def data(seed=0, rows=30, points=20, columns=4, outputs=3):
    rng = np.random.default_rng(seed)
    shapes = (rows, columns), (points, columns), (points, outputs), (rows, points)
    return [rng.standard_normal(shape) for shape in shapes]


def differences(kernel, X, Z, C, weight=1.0, step=1e-5):
    """Central finite differences, of shape (k, rows, d)."""
    K = kernel.against(Z)
    found = np.empty((C.shape[1], *X.shape))
    for column in range(X.shape[1]):
        shift = step * (np.arange(X.shape[1]) == column)
        found[:, :, column] = ((weight * (K(X + shift) - K(X - shift))) @ C).T / (2 * step)
    return found


def assert_close(found, wanted, tolerance=1e-8):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("name", STATIONARY)
def test_the_gradient_of_a_stationary_kernel_is_that_of_finite_differences(name):
    kernel = STATIONARY[name]
    X, Z, C, weight = data()
    block = kernel.gradient(Z)
    assert_close(block(X, C), differences(kernel, X, Z, C))
    assert_close(block(X, C, weight), differences(kernel, X, Z, C, weight))


@pytest.mark.parametrize("name", STATIONARY)
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_float32_is_close_also_far_from_the_origin(name, offset):
    kernel = STATIONARY[name]
    X, Z, C, weight = data()
    wanted = kernel.gradient(Z)(X, C, weight)
    assert_close(kernel.gradient(Z + offset)(X + offset, C, weight), wanted, 1e-8)
    found = kernel.gradient(Z + offset, "float32")(X + offset, C, weight.astype(np.float32))
    assert found.dtype == np.float32
    assert_close(found, wanted, 1e-5)


def direct(kernel, X, Z, C):
    """The gradient for ``exp(-||x - z|| / bandwidth)``, from differences, without self terms."""
    found = np.zeros((C.shape[1], *X.shape))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            scaled = (x - z) / kernel.bandwidth
            r = np.linalg.norm(scaled)
            if r > 0:
                found[:, i] -= C[j][:, None] * np.exp(-r) / r * scaled / kernel.bandwidth
    return found


@pytest.mark.parametrize("bandwidth", [0.8, BANDWIDTHS])
@pytest.mark.parametrize("offset", [0.0, 64.0, 2.0**14])
def test_near_and_equal_pairs_of_a_kernel_with_a_kink(bandwidth, offset):
    """The first rows are points; the next are up to 1e-12 away from them."""
    kernel = LaplacianL2(bandwidth)
    X, Z, C, _ = data()
    Z = np.round(Z * 2**20) / 2**20 + offset  # exact, so that offsets do not move pairs
    X = X + offset
    X[:5] = Z[:5]
    for i, distance in enumerate(10.0 ** -np.arange(1, 13)):
        X[5 + i] = Z[3] + distance * np.array([1.0, -0.5, 0.25, 0.0])
    wanted = direct(kernel, X, Z, C)
    assert_close(kernel.gradient(Z)(X, C), wanted, 1e-7)
    assert_close(kernel.gradient(Z, "float32")(X, C), wanted, 1e-4)


def test_many_equal_pairs_are_taken_in_chunks(monkeypatch):
    monkeypatch.setitem(pair_chunks.__globals__, "PAIR_VALUES", 50)
    X, _, C, weight = data(rows=20, points=20)
    X[10:] = X[:10]
    kernel = LaplacianL2(1.0)
    wanted = direct(kernel, X, X, C)
    assert_close(kernel.gradient(X)(X, C), wanted)
    assert_close(kernel.gradient(X)(X, C, np.full_like(weight, 2.0)), 2 * wanted)


def test_a_far_outlier_leaves_other_rows_accurate():
    X, Z, C, _ = data()
    Z[0] = 1e7
    for kernel in (Gaussian(1.0), LaplacianL2(1.0), Matern(1.5, 1.0)):
        wanted = differences(kernel, X, Z[1:], C[1:])
        assert_close(kernel.gradient(Z)(X, C), wanted, 1e-6)
        assert_close(kernel.gradient(Z, "float32")(X, C), wanted, 1e-4)


def test_ties_in_a_column_add_nothing_to_the_gradient_of_an_l1_kernel():
    """A kink: the mean of the one-sided gradients is 0."""
    X, Z = np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]])
    found = LaplacianL1(2.0).gradient(Z)(X, np.ones((1, 1)))
    np.testing.assert_allclose(found, [[[0.0, -0.5 * np.exp(-1.0)]]])


@pytest.mark.parametrize("kernel", [Gaussian(1.0), LaplacianL2(1.0)])
def test_sparse_rows_have_the_gradient_of_dense_ones(kernel):
    X, Z, C, weight = data()
    X[X < 0] = 0.0
    wanted = kernel.gradient(Z)(X, C, weight)
    found = kernel.gradient(sparse.csr_array(Z))(sparse.csr_array(X), C, weight)
    np.testing.assert_array_equal(found, wanted)


# -- kernels of the inner product

OTHERS = {
    "linear": Linear(),
    "line": Polynomial(1, gamma=0.5, offset=0.0),
    "cubic": Polynomial(3, gamma=0.5),
    "arc_cosine_0": ArcCosine(0),
    "arc_cosine_1": ArcCosine(1),
    "sum": Gaussian(1.0) + Linear(),
    "product": Matern(1.5, 1.2) * Polynomial(2, gamma=0.3),
    "kinks": LaplacianL1(3.0) * LaplacianL2(2.0),
    "nested": (Gaussian(1.0) + Linear()) * (Matern(2.5, BANDWIDTHS) * ArcCosine(1) + Linear()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_gradient_of_other_kernels_is_that_of_finite_differences(name, monkeypatch):
    monkeypatch.setitem(in_tiles.__globals__, "TILE", 1)  # 16 rows at a time
    kernel = OTHERS[name]
    X, Z, C, weight = data()
    block = kernel.gradient(Z)
    assert_close(block(X, C), differences(kernel, X, Z, C))
    wanted = differences(kernel, X, Z, C, weight)
    before = weight.copy()
    assert_close(block(X, C, weight), wanted)
    np.testing.assert_array_equal(weight, before)
    found = kernel.gradient(Z, "float32")(X.astype(np.float32), C, weight)
    assert found.dtype == np.float32
    assert_close(found, wanted, 1e-4 if name == "arc_cosine_0" else 1e-5)


@pytest.mark.parametrize("order", [0, 1])
def test_rows_and_points_at_the_origin_have_the_mean_of_opposite_slopes(order):
    X, Z, C, _ = data()
    X[0], Z[1] = 0.0, 0.0
    kernel = ArcCosine(order)
    found = kernel.gradient(Z)(X, C)
    assert np.all(np.isfinite(found))
    if order == 1:
        assert_close(found, differences(kernel, X, Z, C))
    else:
        np.testing.assert_array_equal(found[:, 0], 0.0)
        assert_close(found[:, 1:], differences(kernel, X[1:], Z, C))


def test_near_and_parallel_pairs_of_the_arc_cosine_kernel_of_order_0():
    """At a small angle between x and z the gradient is orthogonal to x, of length 1 / (pi |x|)."""
    kernel, C = ArcCosine(0), np.ones((1, 1))
    for angle in 10.0 ** -np.arange(1.0, 13.0):
        x = np.array([[2.0, 0.0, 0.0]])
        z = 3.0 * np.array([[np.cos(angle), np.sin(angle), 0.0]])
        for sign in (1.0, -1.0):  # parallel or opposite
            found = kernel.gradient(sign * z)(x, C)
            np.testing.assert_allclose(
                found, [[[0.0, sign / (2 * np.pi), 0.0]]], rtol=1e-4, atol=1e-8
            )
    X, _, C, _ = data(rows=20, points=20)
    wanted = [
        kernel.gradient(np.delete(X, i, 0))(X[i : i + 1], np.delete(C, i, 0)) for i in range(20)
    ]
    for points in (X, 3.0 * X, -0.7 * X):
        found = kernel.gradient(points)(X, C * np.sign(points[0, 0] / X[0, 0]))
        assert_close(found, np.concatenate(wanted, axis=1), 1e-7)


# -- kernels on the unit interval


@pytest.mark.parametrize("order", [2.0, 2.5, 3.0, 4.0, 7.0, np.inf])
def test_the_slope_of_a_periodic_spline_is_that_of_finite_differences(order):
    t = np.linspace(0.011, 0.99, 50)
    step = 2.0**-12
    wanted = (periodic_spline(t + step, order) - periodic_spline(t - step, order)) / (2 * step)
    assert_close(periodic_spline_slope(t, order), wanted, 2e-3)
    np.testing.assert_allclose(periodic_spline_slope(np.zeros(1), order), 0.0, atol=1e-9)


@pytest.mark.parametrize("kernel", [PeriodicSpline(2.0), PeriodicSpline(6.0), Sobolev()])
def test_products_over_columns(kernel):
    rng = np.random.default_rng(0)
    X, Z, C, weight = (rng.random(shape) for shape in ((9, 3), (7, 3), (7, 2), (9, 7)))
    Z[0] = X[0]  # a kink, where central differences are the mean of one-sided ones
    assert_close(kernel.gradient(Z)(X, C), differences(kernel, X, Z, C))
    wanted = differences(kernel, X, Z, C, weight)
    assert_close(kernel.gradient(Z)(X, C, weight), wanted)
    assert_close(kernel.gradient(Z, "float32")(X, C, weight), wanted, 1e-5)


# -- kernels without a gradient


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_of_columns_has_a_gradient(name):
    assert KERNELS[name][0].has_gradient


@pytest.mark.parametrize("kernel", [Precomputed(), PeriodicSpline(1.5)])
def test_other_kernels_say_that_they_have_none(kernel):
    Z = np.eye(3)
    for part in (kernel, kernel + Gaussian(1.0), Gaussian(1.0) * kernel):
        assert not part.has_gradient
        with pytest.raises(ValueError, match=r"has no gradient; try one of Gaussian"):
            part.gradient(Z)


# -- random features


@pytest.mark.parametrize("name", ["gaussian", "arc_cosine_1", "linear", "sum", "product", "spline"])
def test_the_gradient_of_features_is_that_of_finite_differences(name):
    kernel = PeriodicSpline(8.0) if name == "spline" else KERNELS[name][0]
    X, rng = data(columns=2)[0], np.random.default_rng(1)
    features = kernel.feature_map(8, 2, rng)
    C, weight = (
        rng.standard_normal((features.size, 3)),
        rng.standard_normal((len(X), features.size)),
    )
    step, wanted = 1e-6, np.empty((3, *X.shape))
    for column in range(2):
        shift = step * np.eye(2)[column]
        change = features(X + shift, "float64") - features(X - shift, "float64")
        wanted[:, :, column] = ((weight * change) @ C).T / (2 * step)
    assert_close(features.gradient(X, C, "float64", weight), wanted, 1e-7)
    assert_close(features.gradient(sparse.csr_array(X), C, "float64", weight), wanted, 1e-7)
    found = features.gradient(X, C, "float32", weight)
    assert found.dtype == np.float32
    assert_close(found, wanted, 1e-5)


def test_features_that_are_steps_or_unbounded_have_no_gradient():
    rng = np.random.default_rng(0)
    stepped = ReluFeatures(rng.standard_normal((2, 5)), 0)
    both = (Gaussian(1.0) * ArcCosine(0)).feature_map(5, 2, rng)
    for features in (stepped, both, PeriodicSpline(2.0).feature_map(5, 2, rng)):
        assert not features.has_gradient
        with pytest.raises(ValueError, match="have no gradient"):
            features.gradient(np.ones((3, 2)), np.ones((5, 1)), "float64")
    assert FourierFeatures.draw(rng.standard_normal((2, 5)), rng).has_gradient

"""Gradients of kernels equal finite differences; near and equal pairs; float32."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Gaussian, LaplacianL1, LaplacianL2, Matern

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
    monkeypatch.setattr("mercer.kernels.gradients.PAIR_VALUES", 50)
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

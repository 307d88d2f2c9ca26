"""Distances stay accurate far from 0, on wild scales and in float32: compared with cdist."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from cases import rows
from mercer import Gaussian, LaplacianL2, Matern
from mercer.kernels import distances
from mercer.kernels.distances import TRUSTED, ScaledDistances


def expected(X, Z, bandwidth):
    """-||x - z||^2 / 2 from differences, one by one."""
    scale = np.ones(X.shape[1]) * bandwidth
    return -0.5 * cdist(np.asarray(X, float) / scale, np.asarray(Z, float) / scale, "sqeuclidean")


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3, 1e6])
def test_an_offset_costs_nothing(precision, offset):
    X, Z = rows(50) + offset, rows(20, seed=5) + offset
    found = ScaledDistances(Z, 0.5, precision)(X)
    # The offset itself has rounded the rows already.
    truth = expected(X - offset, Z - offset, 0.5)
    rounding = {"float32": 1e-6, "float64": 1e-13}[precision]
    np.testing.assert_allclose(found, truth, rtol=rounding, atol=rounding + 1e-15 * offset)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_scale_of_data_and_bandwidth_cancels(precision, scale):
    X, Z = rows(50), rows(20, seed=5)
    found = Gaussian(0.5 * scale).against(Z * scale, precision)(X * scale)
    atol = {"float32": 2e-6, "float64": 1e-12}[precision]
    np.testing.assert_allclose(found, Gaussian(0.5)(X, Z), rtol=0, atol=atol)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1e3, 1e5, 1e8])
def test_every_tier_gives_the_kernel_of_near_rows(precision, spread):
    """Rows spread over many bandwidths, each with a neighbor within one of them."""
    rng = np.random.default_rng(0)
    Z = spread * rng.standard_normal((40, 3))
    X = Z + rng.standard_normal(Z.shape)
    found = Gaussian(1.0).against(Z, precision)(X)
    # What TRUSTED promises: 1e-3 in float32 where rows are far out, 1e-7 in float64.
    atol = {"float32": 1e-3, "float64": 1e-7}[precision]
    np.testing.assert_allclose(found, np.exp(expected(X, Z, 1.0)), rtol=0, atol=atol)


@pytest.mark.parametrize("largest", [0.9 * TRUSTED["float64"], 1.1 * TRUSTED["float64"]])
def test_both_sides_of_the_float64_tier_agree_with_differences(largest):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30, 3))
    Z *= np.sqrt(largest / np.max(np.sum((Z - Z.mean(axis=0)) ** 2, axis=1)))
    X = Z + 0.01 * rng.standard_normal(Z.shape)
    found = ScaledDistances(Z, 1.0, "float64")(X)
    near = expected(X, Z, 1.0) > -1.0
    assert near.any()
    np.testing.assert_allclose(found[near], expected(X, Z, 1.0)[near], rtol=0, atol=1e-7)


def test_columns_of_wild_scales_with_a_bandwidth_each():
    scales = np.array([1e-6, 1.0, 1e6])
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((50, 3)), rng.standard_normal((20, 3))
    for precision, atol in (("float32", 2e-6), ("float64", 1e-12)):
        found = Gaussian(scales).against(Z * scales, precision)(X * scales)
        np.testing.assert_allclose(found, Gaussian(1.0)(X, Z), rtol=0, atol=atol)


def test_columns_of_wild_scales_with_one_bandwidth():
    scales = np.array([1e-6, 1.0, 1e6])
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((50, 3)) * scales, rng.standard_normal((20, 3)) * scales
    Z[:5] = X[:5] + np.array([0.0, 0.3, 0.0])
    for precision in ("float32", "float64"):
        found = Gaussian(1.0).against(Z, precision)(X)
        np.testing.assert_allclose(found, np.exp(expected(X, Z, 1.0)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", [LaplacianL2(1.0), Matern(1.5, 1.0), Matern(2.5, 1.0)], ids=str)
@pytest.mark.parametrize("spread", [1.0, 1e2, 1e3])
def test_kernels_of_the_distance_itself_stay_accurate_on_near_rows(kernel, spread):
    rng = np.random.default_rng(0)
    Z = spread * rng.standard_normal((40, 3))
    X = Z + 1e-3 * rng.standard_normal(Z.shape)
    exact = kernel(np.zeros((1, 1)), cdist(X, Z)[np.diag_indices(40)][:, None]).ravel()
    found = np.diag(kernel(X, Z))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)


def test_distances_are_never_positive_and_never_nan():
    rng = np.random.default_rng(0)
    for spread in (1e-150, 1e-3, 1.0, 1e4, 1e100, 1e200):
        Z = spread * rng.standard_normal((30, 3))
        for precision in ("float32", "float64"):
            with np.errstate(all="raise", under="ignore"):
                found = ScaledDistances(Z, 1.0, precision)(Z)
            assert not np.isnan(found).any()
            assert found.max() <= 0.0


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("far", [1e2, 1e5, 1e25, 1e200])
def test_rows_far_from_points_that_are_near_each_other(precision, far):
    """Only the rows are beyond float32; in it, their norms would be infinite."""
    Z, X = rows(20, seed=5), rows(50)
    X[::7] *= far
    with np.errstate(all="raise", under="ignore"):
        found = ScaledDistances(Z, 1.0, precision)(X)
    with np.errstate(over="ignore"):
        exact = np.maximum(expected(X, Z, 1.0), distances.FARTHEST)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


def test_sparse_rows_far_from_the_fixed_points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) * (rng.random((50, 4)) < 0.5)
    Z = rng.standard_normal((20, 4)) + 100.0
    found = ScaledDistances(Z, 10.0, "float64")(sparse.csr_array(X))
    np.testing.assert_allclose(found, expected(X, Z, 10.0), rtol=1e-11, atol=1e-11)


def test_sparse_rows_near_each_other_far_from_zero():
    rng = np.random.default_rng(0)
    Z = 1e4 + rng.standard_normal((20, 4))
    X = Z[:10] + 0.1
    found = Gaussian(1.0)(sparse.csr_array(X), Z)
    np.testing.assert_allclose(found, np.exp(expected(X, Z, 1.0)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("bandwidth", [3.0, np.array([2.0, 3.0, 5.0, 4.0])], ids=["one", "each"])
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_sparse_rows_in_both_precisions(precision, bandwidth, offset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) * (rng.random((50, 4)) < 0.5)
    Z = rng.standard_normal((20, 4)) + offset
    sparse_rows = sparse.csr_array(X.astype(precision))
    found = ScaledDistances(Z, bandwidth, precision)(sparse_rows)
    assert found.dtype == precision
    atol = {"float32": 3e-6, "float64": 1e-14}[precision]
    np.testing.assert_allclose(found, expected(X, Z, bandwidth), rtol=1e-6, atol=atol)


def test_sparse_float32_rows_far_from_zero_are_computed_in_float64():
    """Sparse rows are not shifted, so the norms that count are those of rows as they are."""
    rng = np.random.default_rng(0)
    Z = 100.0 + rng.standard_normal((20, 4))
    X = Z[:10] + 0.1
    found = ScaledDistances(Z, 1.0, "float32")(sparse.csr_array(X))
    np.testing.assert_allclose(found, expected(X, Z, 1.0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rows_in_parts_are_the_rows(precision, monkeypatch):
    X, Z = rows(70), rows(20, seed=5)
    whole = Gaussian(0.5).against(Z, precision)(X)
    monkeypatch.setattr(distances, "PART_BYTES", 1)  # sixteen at a time
    monkeypatch.setattr(distances, "SCALED", 1)  # one at a time
    parts = Gaussian(0.5).against(Z, precision)(X)
    rounding = {"float32": 1e-6, "float64": 1e-14}[precision]
    np.testing.assert_allclose(parts, whole, rtol=0, atol=rounding)


@pytest.mark.parametrize("kernel", [LaplacianL2(1.0), Matern(1.5, 1.0), Matern(2.5, 1.0)], ids=str)
@pytest.mark.parametrize("gap", [0.0, 1e-4, 1e-2, 1.0])
def test_kernels_of_the_distance_in_float32_on_near_rows(kernel, gap):
    """Only the kernel with a kink needs more than float32 of the squared distance."""
    rng = np.random.default_rng(0)
    Z = 5 * rng.standard_normal((40, 3))
    X = Z + gap * rng.standard_normal(Z.shape) / np.sqrt(3)
    found = np.diag(kernel.against(Z, "float32")(X))
    exact = kernel(np.zeros((1, 1)), cdist(X, Z)[np.diag_indices(40)][:, None]).ravel()
    np.testing.assert_allclose(found, exact, rtol=0, atol=5e-5)

"""Every kernel is its formula (what all kernels share is in test_kernel_contract)."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import (
    chi2_kernel,
    cosine_similarity,
    laplacian_kernel,
    polynomial_kernel,
    rbf_kernel,
)

import reference
from cases import KERNELS, rows
from mercer import (
    ArcCosine,
    ChiSquared,
    Cosine,
    Gaussian,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    PeriodicSpline,
    Polynomial,
    Precomputed,
)
from pairs import over_pairs

every_kernel = pytest.mark.parametrize("name", KERNELS)
SPARSE = [name for name, (kernel, _) in KERNELS.items() if kernel.accepts_sparse]


@every_kernel
def test_a_kernel_is_its_formula(name):
    kernel, formula = KERNELS[name]
    X, Z = rows(9), rows(6, seed=5)
    np.testing.assert_allclose(kernel(X, Z), reference.matrix(formula, X, Z), rtol=1e-12)


@every_kernel
def test_the_square_matrix_is_its_formula_and_symmetric(name):
    kernel, formula = KERNELS[name]
    X = rows(9)
    found = kernel(X)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, reference.matrix(formula, X), rtol=1e-12)


@every_kernel
def test_the_diagonal_is_that_of_the_matrix(name):
    kernel, formula = KERNELS[name]
    X = rows(9)
    expected = [formula(x, x) for x in X]
    np.testing.assert_allclose(kernel.fitted(X).diag(X), expected, rtol=1e-12)


@every_kernel
def test_rows_may_be_whole_numbers(name):
    kernel, formula = KERNELS[name]
    X, Z = np.array([[0, 1], [1, 1], [0, 2]]), np.array([[3, 1]])
    np.testing.assert_allclose(
        kernel(X, Z), reference.matrix(formula, X.astype(float), Z.astype(float)), rtol=1e-12
    )


def test_those_kernels_take_sparse_rows():
    assert {"gaussian", "matern_32", "linear", "polynomial", "arc_cosine_1"} <= set(SPARSE)


@pytest.mark.parametrize("cls", [Gaussian, LaplacianL1, LaplacianL2, Matern, ChiSquared])
def test_a_bandwidth_a_column_scales_the_columns(cls):
    X, Z = rows(12), rows(5, seed=5)
    bandwidth = np.array([0.3, 2.0])
    expected = cls(bandwidth=1.0)(X / bandwidth, Z / bandwidth)
    for given in (bandwidth, bandwidth.tolist(), tuple(bandwidth)):
        np.testing.assert_allclose(cls(bandwidth=given)(X, Z), expected, rtol=1e-12)


def test_names_of_other_libraries():
    X, Z = rows(12), rows(5, seed=5)
    X[:3, 0], Z[:2, 0], X[3], Z[2] = 0.0, 0.0, 0.0, 0.0
    same = [
        (Gaussian(0.5)(X, Z), rbf_kernel(X, Z, gamma=1 / (2 * 0.5**2))),
        (LaplacianL1(2.0)(X, Z), laplacian_kernel(X, Z, gamma=0.5)),
        (Polynomial(3, 0.5, 2.0)(X, Z), polynomial_kernel(X, Z, degree=3, gamma=0.5, coef0=2.0)),
        (LaplacianL2(0.7)(X, Z), Matern(0.5, 0.7)(X, Z)),
        (Cosine()(X, Z), cosine_similarity(X, Z)),
        (ChiSquared(0.4)(X, Z), chi2_kernel(X, Z, gamma=2.5)),
    ]
    for found, expected in same:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("order", [2.0, 3.0, 4.0, 8.0, np.inf])
def test_the_periodic_spline_is_its_series(order):
    X, Z = np.array([[0.05], [0.4], [2.3]]), np.array([[0.9], [0.25]])
    if np.isinf(order):
        expected = 1 + 2 * np.cos(2 * np.pi * (X - Z.T))
    else:
        expected = reference.matrix(
            lambda x, z: reference.periodic_spline(x, z, order, terms=2 * 10**6), X, Z
        )
    # Orders without a closed form are tabulated.
    tolerance = 1e-12 if order % 2 == 0 or np.isinf(order) else 1e-8
    np.testing.assert_allclose(PeriodicSpline(order)(X, Z), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("order", [1.5, 2.5, 3.0])
def test_a_tabulated_spline_is_positive_semi_definite(order):
    values = np.linalg.eigvalsh(PeriodicSpline(order)(rows(60)[:, :1]))
    assert values[0] > -1e-6 * values[-1]


def test_the_arc_cosine_kernel_at_zero_and_opposite_rows():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, -2.0]])
    for order in (0, 1):
        name = f"arc_cosine_{order}"
        kernel, formula = KERNELS[name]
        found = kernel(X)
        assert np.isfinite(found).all()
        assert abs(found[1, 2] - formula(X[1], X[2])) < 1e-7
        assert found[1, 2] == pytest.approx(0.0, abs=1e-7)


@over_pairs(nu=[0.5, 1.5, 2.5], precision=["float32", "float64"])
def test_coincident_rows_have_the_value_one(nu, precision):
    """The square root in the distance magnifies rounding where rows of X are rows of Z."""
    X = rows(30) + 3.0
    found = Matern(nu, 0.6).fitted(X).against(X.copy(), precision)(X)
    # Smooth kernels take distances in float32: two units in the last place.
    rounding = 0 if nu == 0.5 else 1e-7 if precision == "float64" else 2.4e-7
    np.testing.assert_allclose(np.diag(found), 1.0, rtol=0, atol=rounding)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("kernel", "tolerance"),
    [(LaplacianL2(0.6), 0), (Matern(0.5, 9.0), 0), (ArcCosine(0), 1e-15)],
    ids=str,
)
def test_kernels_with_a_kink_are_accurate_at_rows_that_nearly_coincide(kernel, tolerance, form):
    X = np.random.default_rng(0).standard_normal((40, 8)) + 10.0
    X[20:] = X[:20]
    same = np.eye(40) + np.eye(40, k=20) + np.eye(40, k=-20) > 0
    for found in (kernel(form(X)), kernel.against(form(X))(form(X.copy()))):
        np.testing.assert_allclose(found[same], 1.0, rtol=0, atol=tolerance)


def test_the_laplacian_of_rows_that_nearly_coincide():
    X = np.random.default_rng(0).standard_normal((40, 8)) + 10.0
    found = LaplacianL2(0.6)(X + 1e-7 * np.eye(8)[0], X).diagonal()
    np.testing.assert_allclose(1.0 - found, 1e-7 / 0.6, rtol=1e-6)


def test_the_arc_cosine_kernel_at_rows_that_are_nearly_opposite():
    X = np.random.default_rng(0).standard_normal((40, 8))
    np.testing.assert_allclose(ArcCosine(0)(X, -3.0 * X).diagonal(), 0.0, atol=1e-15)


def test_a_precomputed_kernel_is_the_matrix():
    K = Gaussian(0.5)(rows(6))
    np.testing.assert_array_equal(Precomputed()(K), K)
    np.testing.assert_array_equal(Precomputed().diag(K), np.ones(6))
    assert Precomputed().against(K, "float32")(K).dtype == np.float32


def test_a_linear_kernel_of_one_row():
    assert Linear()(np.array([[2.0, 1.0]])).tolist() == [[5.0]]


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("far", [1e3, 1e100, 1e200])
def test_matern_kernels_vanish_far_away(nu, far):
    assert (Matern(nu, 1.0)(np.full((2, 3), far), np.zeros((1, 3))) == 0.0).all()

"""Random features: products average to the kernel, orthogonal ones with a lower variance."""

import numpy as np
import pytest
from scipy import sparse

from cases import KERNELS, NO_RANDOM_FEATURES, rows
from mercer import Gaussian, Linear, Matern, RandomFeatures
from mercer.kernels.feature_maps import FourierFeatures, gaussian_directions

SIZE = 20_000
FEATURES = [name for name in KERNELS if name not in NO_RANDOM_FEATURES]


def spread_of_estimates(orthogonal):
    """The variance over draws of the estimate of the Gaussian kernel, averaged over pairs."""
    X = np.random.default_rng(1).standard_normal((8, 16)) / 3
    estimates = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        psi = Gaussian(1.0).feature_map(16, 16, rng, orthogonal)(X, "float64")
        estimates.append(psi @ psi.T / 16)
    return np.var(estimates, axis=0)[np.triu_indices(8, 1)].mean()


def test_orthogonal_directions_lower_the_variance():
    assert spread_of_estimates(orthogonal=True) < 0.9 * spread_of_estimates(orthogonal=False)


def test_orthogonal_directions_are_orthogonal_in_groups():
    directions = gaussian_directions(4, 10, np.random.default_rng(0), orthogonal=True)
    assert directions.shape == (4, 10)
    for group in (directions[:, :4], directions[:, 4:8], directions[:, 8:]):
        inner = group.T @ group
        np.testing.assert_allclose(inner - np.diag(np.diag(inner)), 0.0, atol=1e-12)


def test_orthogonal_directions_have_the_lengths_of_gaussian_ones():
    directions = gaussian_directions(5, 20_000, np.random.default_rng(0), orthogonal=True)
    assert np.mean(directions**2) == pytest.approx(1.0, abs=0.02)
    assert np.mean(directions) == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("name", FEATURES)
def test_features_fill_a_given_array(name):
    kernel, _ = KERNELS[name]
    X = rows(20)
    psi = kernel.fitted(X).feature_map(50, 2, np.random.default_rng(0))
    out = np.full((20, psi.size), np.nan, dtype=np.float32)
    assert psi(X, "float32", out) is out
    np.testing.assert_array_equal(out, psi(X, "float32"))


@pytest.mark.parametrize("name", [name for name in FEATURES if KERNELS[name][0].accepts_sparse])
def test_features_of_sparse_rows(name):
    kernel, _ = KERNELS[name]
    X = rows(20)
    X[X < 0.4] = 0.0
    psi = kernel.feature_map(50, 2, np.random.default_rng(0))
    np.testing.assert_allclose(psi(sparse.csr_array(X), "float64"), psi(X, "float64"), atol=1e-12)


def test_a_large_phase_costs_no_digits():
    """Rows at 1e6 have phases of millions of turns: whole turns are dropped before the cosine."""
    psi = FourierFeatures(np.array([[0.25]]), np.array([0.0]))  # a quarter turn a unit
    X = 1e6 * 4 + np.arange(4.0)[:, None]
    expected = np.sqrt(2) * np.array([1.0, 0.0, -1.0, 0.0])
    for precision in ("float32", "float64"):
        np.testing.assert_allclose(psi(X, precision)[:, 0], expected, atol=1e-7)


def test_the_features_of_the_linear_kernel_are_the_columns():
    X = rows(9)
    basis = RandomFeatures(100, kernel=Linear(), random_state=0).fit(X)
    assert basis.size == 2
    np.testing.assert_allclose(basis.transform(X), X, rtol=1e-14)


def test_one_feature_of_a_sum_is_still_a_sum():
    X = rows(9)
    basis = RandomFeatures(1, kernel=Gaussian(0.5) + Matern(1.5, 0.5), random_state=0).fit(X)
    assert basis.transform(X).shape == (9, basis.size)


def test_a_product_with_the_linear_kernel_is_refused():
    with pytest.raises(ValueError, match=r"product with the linear kernel.* basis='landmarks'"):
        RandomFeatures(100, kernel=Gaussian() * Linear(), random_state=0).fit(rows(9))

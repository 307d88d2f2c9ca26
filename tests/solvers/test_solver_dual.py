"""The dual system of the full kernel: the bordered system, with weights and without."""

from itertools import product

import numpy as np
import pytest

import reference
from cases import KERNELS, rows, targets, weights
from mercer import Gaussian, Linear, Ridge
from mercer.contracts import Status
from mercer.systems import KernelMatrixSystem
from pairs import over_each


def dual(K, Y, w, intercept, spectral):
    """A system; ``spectral`` makes it solve by eigendecomposition, as after a path."""
    found = KernelMatrixSystem(K, Y, w, intercept)
    if spectral:
        _ = found.spectrum
    return found


def solve(system, alpha):
    """Coefficients, intercept, and how they were found."""
    solution = Ridge().solve(system, alpha)
    return *system.coefficients(solution.value), solution


@over_each(kernel=KERNELS, how=product([False, True], [False, True]))
def test_it_is_the_bordered_system(kernel, how):
    intercept, spectral = how
    X = rows()
    K, Y, w = KERNELS[kernel][0](X), targets(X, 2), weights()
    for alpha in (1e-4, 1e-2, 1.0):
        a, constant, solution = solve(dual(K, Y, w, intercept, spectral), alpha)
        expected, b = reference.dual_ridge(K, Y, w, alpha, intercept)
        np.testing.assert_allclose(K @ a + constant, K @ expected + b, atol=1e-7)
        np.testing.assert_allclose(constant, b, atol=1e-7)
        assert solution.status.succeeded


@pytest.mark.parametrize("spectral", [False, True], ids=["cholesky", "spectrum"])
def test_a_well_conditioned_system_is_solved_to_rounding(spectral):
    X = rows()
    K, Y, w = Gaussian(0.1)(X), targets(X, 2), weights()
    a, constant, solution = solve(dual(K, Y, w, True, spectral), 1e-2)
    expected, b = reference.dual_ridge(K, Y, w, 1e-2, True)
    np.testing.assert_allclose(a, expected, atol=1e-10)
    np.testing.assert_allclose(constant, b, atol=1e-10)
    np.testing.assert_allclose(a.sum(axis=0), 0.0, atol=1e-12)
    assert solution.residuals[-1] < 1e-10


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("spectral", [False, True], ids=["cholesky", "spectrum"])
def test_weight_two_is_the_row_twice(intercept, spectral):
    X = rows()
    Y, twice = targets(X, 2), np.repeat(np.arange(30), 1 + np.arange(30) % 2)
    new = rows(5, seed=5)
    kernel = Gaussian(0.4)
    a, constant, _ = solve(dual(kernel(X), Y, 1.0 + np.arange(30) % 2, intercept, spectral), 1e-3)
    b, other, _ = solve(dual(kernel(X[twice]), Y[twice], np.ones(45), intercept, spectral), 1e-3)
    np.testing.assert_allclose(
        kernel(new, X) @ a + constant, kernel(new, X[twice]) @ b + other, atol=1e-7
    )


def test_without_a_penalty_a_regular_kernel_interpolates():
    X = rows()
    K, Y = Gaussian(0.05)(X), targets(X, 2)
    for intercept in (False, True):
        a, constant, _ = solve(KernelMatrixSystem(K, Y, weights(), intercept), 0.0)
        np.testing.assert_allclose(K @ a + constant, Y, atol=1e-8)


def test_without_a_penalty_a_singular_kernel_has_its_least_norm_solution():
    X = rows()
    K, Y = Linear()(X), targets(X, 2)
    a, constant, solution = solve(KernelMatrixSystem(K, Y, np.ones(30), False), 0.0)
    slopes = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(K @ a + constant, X @ slopes, atol=1e-8)
    assert solution.status is Status.RANK_REDUCED
    assert "28 of 30 directions" in solution.reason


def test_duplicated_rows_without_a_penalty():
    X = np.vstack([rows(10), rows(10)])
    Y = targets(X, 2)
    K = Gaussian(0.05)(X)
    a, constant, solution = solve(KernelMatrixSystem(K, Y, np.ones(20), True), 0.0)
    mean = (Y[:10] + Y[10:]) / 2
    np.testing.assert_allclose(K @ a + constant, np.vstack([mean, mean]), atol=1e-8)
    assert solution.status is Status.RANK_REDUCED


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_the_spectrum_is_that_of_the_weighted_centered_kernel(intercept):
    X = rows()
    K, Y, w = Gaussian(0.3)(X), targets(X, 2), weights()
    found = KernelMatrixSystem(K, Y, w, intercept)
    shares = w / w.sum()
    centering = np.eye(30) - np.outer(np.ones(30), shares) if intercept else np.eye(30)
    A = centering @ K @ centering.T @ np.diag(shares)
    expected = np.sort(np.linalg.eigvals(A).real)
    np.testing.assert_allclose(found.spectrum.values, expected, atol=1e-10)
    Y_c = centering @ Y
    np.testing.assert_allclose(found.target_square, shares @ Y_c**2, atol=1e-12)
    for alpha in (1e-4, 1e-1):
        a, constant = reference.dual_ridge(K, Y, w, alpha, intercept)
        left = shares @ (Y - K @ a - constant) ** 2
        explained = found.spectrum.shifted(np.array([alpha])).explained[0]
        np.testing.assert_allclose(found.target_square - explained, left, atol=1e-9)


def test_one_row():
    for intercept in (False, True):
        system = KernelMatrixSystem(np.ones((1, 1)), np.full((1, 1), 3.0), np.ones(1), intercept)
        a, constant, _ = solve(system, 1.0)
        assert a[0, 0] + constant[0] == pytest.approx(3.0 if intercept else 1.5)


def test_the_system_is_left_alone():
    X = rows()
    K, Y, w = Gaussian(0.3)(X), targets(X, 2), weights()
    before = K.copy(), Y.copy(), w.copy()
    for spectral in (False, True):
        solve(dual(K, Y, w, True, spectral), 1e-3)
    for now, then in zip((K, Y, w), before, strict=True):
        np.testing.assert_array_equal(now, then)

"""Kernels add and multiply, and their parameters are reached as scikit-learn reaches them."""

import numpy as np
import pytest
from sklearn.base import clone

from cases import rows
from mercer import Gaussian, Linear, Matern, Polynomial, Product, Sobolev, Sum


def test_sums_and_products_are_those_of_the_values():
    X, Z = rows(12), rows(5, seed=5)
    a, b, c = Gaussian(0.5), Linear(), Matern(2.5, 0.7)
    np.testing.assert_allclose((a + b)(X, Z), a(X, Z) + b(X, Z), rtol=1e-14)
    np.testing.assert_allclose((a * b)(X, Z), a(X, Z) * b(X, Z), rtol=1e-14)
    np.testing.assert_allclose((a + b * c)(X), a(X) + b(X) * c(X), rtol=1e-13)
    np.testing.assert_allclose(((a + b) * c)(X), (a(X) + b(X)) * c(X), rtol=1e-13)


def test_the_diagonal_of_nested_kernels():
    X = rows(12)
    kernel = (Gaussian(0.5) + Linear()) * Polynomial(2)
    np.testing.assert_allclose(kernel.fitted(X).diag(X), np.diag(kernel(X)), rtol=1e-13)


def test_nested_parameters_are_read_and_set():
    kernel = Gaussian(0.5) + Linear() * Matern(1.5, 0.7)
    assert isinstance(kernel, Sum)
    assert isinstance(kernel.right, Product)
    assert kernel.get_params()["right__right__nu"] == 1.5
    kernel.set_params(left__bandwidth=2.0, right__right__nu=2.5)
    X = rows(12)
    expected = Gaussian(2.0) + Linear() * Matern(2.5, 0.7)
    np.testing.assert_array_equal(kernel(X), expected(X))


def test_a_clone_shares_nothing():
    kernel = Gaussian(0.5) + Matern(1.5, 0.7)
    copy = clone(kernel).set_params(left__bandwidth=9.0)
    assert (kernel.left.bandwidth, copy.left.bandwidth) == (0.5, 9.0)


def test_fitting_resolves_both_parts_and_leaves_the_sum():
    kernel = Gaussian() + Polynomial()
    fitted = kernel.fitted(rows(12))
    assert isinstance(fitted.left.bandwidth, float)
    assert fitted.right.gamma == 0.5
    assert (kernel.left.bandwidth, kernel.right.gamma) == ("auto", None)


def test_traits_are_those_of_both_parts():
    assert (Gaussian() * Matern()).bounded
    assert not (Gaussian() + Linear()).bounded
    assert (Gaussian() + Linear()).accepts_sparse
    assert not (Gaussian() + Sobolev()).accepts_sparse


def test_only_kernels_add():
    with pytest.raises(TypeError, match=r"kernel must be a name .* got int"):
        Gaussian() + 3
    with pytest.raises(TypeError, match=r"right of Sum must be a kernel object"):
        Sum(Gaussian(), 3)(rows(4))


def test_a_name_stands_for_a_kernel_in_sums_and_products():
    X = rows(4)
    np.testing.assert_array_equal((Gaussian(1.0) * "linear")(X), (Gaussian(1.0) * Linear())(X))

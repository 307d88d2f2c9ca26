"""The whitener changes coordinates so that the penalty is the identity."""

import numpy as np

from cases import rows
from mercer import Gaussian
from mercer.bases import Whitener

GRAM = Gaussian(0.3)(rows(9))
FACTOR = np.linalg.cholesky(GRAM)
R = np.linalg.inv(FACTOR).T


def test_the_whitened_gram_matrix_is_the_identity():
    np.testing.assert_allclose(Whitener(FACTOR, 9).matrix(GRAM), np.eye(9), atol=1e-9)


def test_vectors_and_coefficients_are_products_with_the_root():
    whitener, t = Whitener(FACTOR, 9), rows(9)
    np.testing.assert_allclose(whitener.vectors(t), R.T @ t, rtol=1e-7)
    np.testing.assert_allclose(whitener.vectors(t[:, 0]), R.T @ t[:, 0], rtol=1e-7)
    np.testing.assert_allclose(whitener.coefficients(t), R @ t, rtol=1e-7)


def test_the_matrix_is_symmetric_and_the_input_unchanged():
    S = Gaussian(0.5)(rows(9, seed=4))
    before = S.copy()
    A = Whitener(FACTOR, 9).matrix(S)
    np.testing.assert_array_equal(A, A.T)
    np.testing.assert_allclose(A, R.T @ S @ R, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(S, before)


def test_without_a_gram_matrix_nothing_changes():
    whitener = Whitener(None, 4)
    S, t = Gaussian(0.5)(rows(4)), rows(4)
    np.testing.assert_array_equal(whitener.matrix(S), S)
    np.testing.assert_array_equal(whitener.vectors(t), t)
    np.testing.assert_array_equal(whitener.coefficients(t), t)
    assert whitener.matrix(S) is not S


def test_no_functions_at_all():
    whitener = Whitener(np.zeros((0, 0)), 0)
    assert whitener.matrix(np.zeros((0, 0))).shape == (0, 0)
    assert whitener.vectors(np.zeros((0, 2))).shape == (0, 2)
    assert whitener.coefficients(np.zeros((0, 2))).shape == (0, 2)

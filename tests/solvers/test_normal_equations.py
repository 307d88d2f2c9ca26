"""Whitened normal equations give the solution of the plain ones, (S/W + lambda Gamma) c = t/W."""

from itertools import product

import numpy as np
import pytest

import reference
from cases import BASES, KERNELS, Case, fits_together, rows, targets, weights
from mercer import Landmarks, Moments, Ridge
from mercer.systems import DirectSystem
from pairs import over_each


def whitened_solution(basis, X, Y, w, alpha, intercept):
    """Coefficients of the functions and the intercept, by moments, whitener and ridge."""
    whitener, ridge = basis.whitener(), Ridge()
    equations = Moments.of(basis.orthogonalized(X), Y, w).normal_equations(whitener, intercept)
    v = ridge.solve(DirectSystem(equations.A, equations.b), alpha).value
    orthogonalized = whitener.coefficients(v)
    return basis.coefficients(orthogonalized), equations.intercept(orthogonalized)


@over_each(
    kernel=KERNELS,
    how=product([basis for basis in BASES if basis != "full"], [False, True]),
    allowed=lambda kernel, how: fits_together(kernel, *how),
)
def test_whitened_is_least_squares(kernel, how):
    basis, intercept = how
    X, Y, w = rows(), targets(rows(), 2), weights()
    case = Case(kernel, basis, "float64")
    basis = BASES[basis]().set_params(kernel=KERNELS[kernel][0]).fit(X)
    H, gram = basis.evaluate(X), basis.gram()
    c, constant = whitened_solution(basis, X, Y, w, 1e-3, intercept)
    Gamma = np.eye(basis.size) if gram is None else gram
    expected, b = reference.primal_ridge(H, Gamma, Y, w, 1e-3, intercept)
    np.testing.assert_allclose(H @ c + constant, H @ expected + b, atol=case.tolerance)


def test_whitened_is_the_plain_normal_equations():
    X, Y, w = rows(), targets(rows(), 2), weights()
    basis = BASES["given"]().set_params(kernel=KERNELS["laplacian_l1"][0]).fit(X)
    H, gram, W = basis.evaluate(X), basis.gram(), w.sum()
    c, constant = whitened_solution(basis, X, Y, w, 1e-2, intercept=False)
    S, t = H.T @ (w[:, None] * H), H.T @ (w[:, None] * Y)
    np.testing.assert_allclose(c, np.linalg.solve(S / W + 1e-2 * gram, t / W), rtol=1e-9)
    np.testing.assert_array_equal(constant, np.zeros(2))


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 1e-3])
def test_duplicated_landmarks_change_no_prediction(alpha):
    X, Y, new = rows(), targets(rows(), 2), rows(8, seed=5)
    points = rows(6, seed=9)
    predictions = []
    for chosen in (points, np.vstack([points, points[::-1], points[:1]])):
        basis = Landmarks(sampling=chosen, kernel=KERNELS["matern_32"][0]).fit(X)
        c, constant = whitened_solution(basis, X, Y, np.ones(30), alpha, intercept=True)
        predictions.append(basis.evaluate(new) @ c + constant)
    np.testing.assert_allclose(predictions[0], predictions[1], atol=1e-7)

"""Ridge: Cholesky = eigendecomposition = NumPy, and a least-norm answer where A is singular."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import Ridge
from mercer.contracts import Status
from mercer.solvers import as_solver
from mercer.systems import DirectSystem, Spectrum
from pairs import over_each, over_pairs

METHODS = ["auto", "cholesky", "eigen"]


def system(rank=8, size=8, outputs=2, seed=0):
    """A positive semi-definite A of some rank, and b in its range."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((size, rank))
    A = factor @ factor.T / size
    return A, A @ rng.standard_normal((size, outputs))


def solve(A, b, alpha, method="auto"):
    ridge = Ridge(method)
    return ridge.solve(DirectSystem(A, b), alpha)


@over_pairs(method=METHODS, alpha=[1e-8, 1e-3, 1.0, 1e4])
def test_every_method_is_numpys_solve(method, alpha):
    A, b = system()
    found = solve(A, b, alpha, method)
    expected = np.linalg.solve(A + alpha * np.eye(8), b)
    np.testing.assert_allclose(found.value, expected, rtol=1e-7, atol=1e-10)
    assert found.status is Status.SOLVED
    assert found.status.succeeded
    assert found.residuals[-1] < 1e-9
    assert found.steps == 0
    assert found.seconds >= 0


@given(rank=st.integers(0, 8), seed=st.integers(0, 10**6), log_alpha=st.floats(-5, 3))
def test_both_methods_agree_at_any_rank(rank, seed, log_alpha):
    A, b = system(rank=rank, seed=seed)
    alpha = 10**log_alpha
    values = [solve(A, b, alpha, method).value for method in ("cholesky", "eigen")]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_without_a_penalty_a_singular_system_has_its_least_norm_solution(method):
    A, b = system(rank=5)
    found = solve(A, b, 0.0, method)
    expected = np.linalg.pinv(A, hermitian=True) @ b
    np.testing.assert_allclose(found.value, expected, atol=1e-8)
    assert found.status is Status.RANK_REDUCED
    assert "3 of 8 directions" in found.reason
    assert found.status.succeeded


def test_without_a_penalty_b_outside_the_range_is_projected():
    A, b = np.diag([2.0, 1.0, 0.0]), np.ones((3, 1))
    np.testing.assert_allclose(solve(A, b, 0.0).value.ravel(), [0.5, 1.0, 0.0])


@over_each(method=METHODS, alpha=[0.0, 1e-12, 1.0])
def test_nothing_to_solve(method, alpha):
    zero = solve(np.zeros((3, 3)), np.zeros((3, 1)), alpha, method)
    np.testing.assert_array_equal(zero.value, np.zeros((3, 1)))
    np.testing.assert_array_equal(zero.residuals, [0.0])
    empty = solve(np.zeros((0, 0)), np.zeros((0, 2)), alpha, method)
    assert empty.value.shape == (0, 2)


@pytest.mark.parametrize("alpha", [1e-13, 1e-10])
def test_a_matrix_made_indefinite_by_rounding_gives_way_to_the_spectrum(alpha):
    A, b = system(rank=5)
    A[0, 0] -= 1e-9  # an eigenvalue of -1e-9, well over alpha
    found = solve(A, b, alpha)
    assert np.isfinite(found.value).all()
    assert found.status is Status.RANK_REDUCED
    assert np.linalg.norm(found.value) < 1e3 * np.linalg.norm(np.linalg.pinv(A, rcond=1e-6) @ b)


def test_a_path_shares_one_eigendecomposition(monkeypatch):
    calls = []
    original = Spectrum.of.__func__
    monkeypatch.setattr(
        Spectrum, "of", classmethod(lambda *arguments: calls.append(1) or original(*arguments))
    )
    A, b = system()
    ridge = Ridge("eigen")
    state = DirectSystem(A, b)
    for alpha in (1e-3, 1e-2, 1e-1):
        expected = np.linalg.solve(A + alpha * np.eye(8), b)
        np.testing.assert_allclose(ridge.solve(state, alpha).value, expected, rtol=1e-8)
    assert len(calls) == 1


def test_the_system_is_left_alone():
    A, b = system()
    before = A.copy(), b.copy()
    for method in METHODS:
        solve(A, b, 1e-3, method)
    np.testing.assert_array_equal(A, before[0])
    np.testing.assert_array_equal(b, before[1])


def test_names():
    assert type(as_solver("auto")) is type(as_solver("ridge")) is Ridge
    with pytest.raises(ValueError, match="unknown solver 'rigde'; did you mean 'ridge'"):
        as_solver("rigde")
    with pytest.raises(ValueError, match="unknown method of Ridge 'choleski'; did you mean"):
        Ridge("choleski").check()

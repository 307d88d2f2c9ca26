"""One eigendecomposition: every quantity for every alpha, by its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.systems import Spectrum


def system(rank, size=7, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((size, rank))
    A = factor @ factor.T
    return A, A @ rng.standard_normal((size, outputs))


@given(rank=st.integers(1, 7), seed=st.integers(0, 10**6), log_alpha=st.floats(-4, 4))
def test_every_quantity_is_its_definition(rank, seed, log_alpha):
    A, b = system(rank, seed=seed)
    alpha = 10**log_alpha
    spectrum = Spectrum.of(A.copy(), b)
    inverse = np.linalg.inv(A + alpha * np.eye(7))
    v = inverse @ b
    np.testing.assert_allclose(spectrum.solve(alpha), v, rtol=1e-6, atol=1e-8)
    assert spectrum.effective_dimension(alpha) == pytest.approx(np.trace(A @ inverse), abs=1e-6)
    explained = 2 * np.sum(b * v, axis=0) - np.sum(v * (A @ v), axis=0)
    np.testing.assert_allclose(
        spectrum.shifted(np.array([alpha])).explained[0], explained, rtol=1e-6, atol=1e-8
    )


def test_the_effective_dimension_runs_from_the_rank_to_zero():
    spectrum = Spectrum.of(*system(4))
    assert spectrum.dropped == 3
    assert spectrum.effective_dimension(0.0) == pytest.approx(4.0)
    dimensions = [spectrum.effective_dimension(alpha) for alpha in np.geomspace(1e-6, 1e9, 30)]
    assert np.all(np.diff(dimensions) < 0)
    assert dimensions[-1] < 1e-6


def test_directions_below_rounding_are_dropped():
    A, b = system(7)
    values, vectors = np.linalg.eigh(A)
    values[:3] = [-1e-8, 1e-9, 1.5e-8]  # rounding moves eigenvalues up as far as down
    spectrum = Spectrum.of((vectors * values) @ vectors.T, b)
    assert spectrum.dropped == 3
    assert np.isfinite(spectrum.solve(0.0)).all()
    np.testing.assert_array_equal(spectrum.filter(0.0)[:3], np.zeros(3))


def test_an_empty_system():
    spectrum = Spectrum.of(np.zeros((0, 0)), np.zeros((0, 3)))
    assert spectrum.solve(1.0).shape == (0, 3)
    assert spectrum.effective_dimension(1.0) == 0.0
    np.testing.assert_array_equal(spectrum.shifted(np.array([1.0])).explained[0], np.zeros(3))

"""The tridiagonal form answers every question as the eigendecomposition does."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spectra import SPECTRA, matrix

from mercer.systems import DirectSystem, Spectrum
from mercer.systems.direct import TRIDIAGONAL_FROM
from mercer.systems.tridiagonal import Tridiagonal, rounding

SIZES = [1, 2, 3, 31, 32, 33, 65, 307]


def both(values, outputs=2):
    A = matrix(np.asarray(values))
    b = np.random.default_rng(1).standard_normal((len(A), outputs))
    return A, Tridiagonal.of(A, b), Spectrum.of(A.copy(), b)


def assert_equal_answers(A, form, spectrum, alphas, rtol=1e-8):
    """Solutions, scores, dimensions and leverages are those of the eigendecomposition."""
    found, known = form.shifted(alphas), spectrum.shifted(alphas)
    np.testing.assert_allclose(found.explained, known.explained, rtol=rtol)
    np.testing.assert_allclose(
        found.effective_dimension, known.effective_dimension, rtol=rtol, atol=1e-13 * len(A)
    )
    values = form.outward(found.solutions)
    scale = np.abs(spectrum.outward(known.solutions)).max(axis=0)
    assert np.all(np.abs(values - spectrum.outward(known.solutions)) <= rtol * scale)
    rows = np.random.default_rng(2).standard_normal((5, len(A)))
    others = np.random.default_rng(3).standard_normal((5, len(A)))
    G, T = (form.inward(part.T).T for part in (rows, others))
    P, O = (spectrum.inward(part.T).T for part in (rows, others))  # noqa: E741
    np.testing.assert_allclose(found.quadratic(G), known.quadratic(P), rtol=rtol)
    bound = rtol * np.sqrt(known.quadratic(P) * known.quadratic(O))
    one, across, other = found.pairs(G, T)
    np.testing.assert_allclose(one, known.pairs(P, O)[0], rtol=rtol)
    np.testing.assert_allclose(other, known.pairs(P, O)[2], rtol=rtol)
    assert np.all(np.abs(across - known.pairs(P, O)[1]) <= bound)
    per_alpha = np.random.default_rng(4).standard_normal((len(A), 3 * len(alphas)))
    applied = form.outward(found.apply(form.inward(per_alpha)))
    wanted = spectrum.outward(known.apply(spectrum.inward(per_alpha)))
    assert np.abs(applied - wanted).max() <= rtol * np.abs(wanted).max()


@pytest.mark.parametrize("size", SIZES)
def test_of_every_size(size):
    values = np.geomspace(1e-6, 1.0, size) if size > 1 else [0.5]
    A, form, spectrum = both(values)
    assert_equal_answers(A, form, spectrum, np.geomspace(1e-6, 10.0, 5))


@pytest.mark.parametrize("name", SPECTRA)
def test_of_every_spectrum(name):
    A, form, spectrum = both(SPECTRA[name])
    assert_equal_answers(A, form, spectrum, SPECTRA[name].max() * np.geomspace(1e-7, 1.0, 5))


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_the_scale_of_the_matrix_does_not_matter(scale):
    A, form, spectrum = both(scale * np.geomspace(1e-6, 1.0, 120))
    assert_equal_answers(A, form, spectrum, scale * np.geomspace(1e-6, 1.0, 5))
    assert form.extremes == pytest.approx(spectrum.extremes, rel=1e-9)


@given(
    size=st.integers(1, 30),
    rank=st.integers(1, 30),
    seed=st.integers(0, 10**6),
    log_alpha=st.floats(-3, 3),
)
def test_every_quantity_is_its_definition(size, rank, seed, log_alpha):
    """Also of matrices of low rank and of repeated eigenvalues, where reflectors vanish."""
    rng = np.random.default_rng(seed)
    factor = rng.integers(-2, 3, (size, rank)).astype(float)
    A, alpha = factor @ factor.T, 10**log_alpha
    b = rng.standard_normal((size, 2))
    form = Tridiagonal.of(A, b)
    inverse = np.linalg.inv(A + alpha * np.eye(size))
    found, scale = form.shifted(np.array([alpha])), np.abs(inverse).max()
    np.testing.assert_allclose(form.solve(alpha), inverse @ b, rtol=1e-7, atol=1e-9 * scale)
    assert form.effective_dimension(alpha) == pytest.approx(np.trace(A @ inverse), abs=1e-7)
    G = form.inward(b).T
    np.testing.assert_allclose(
        found.quadratic(G)[:, 0], np.sum(b * (inverse @ b), axis=0), rtol=1e-7, atol=1e-9 * scale
    )
    v = inverse @ b
    explained = 2 * np.sum(b * v, axis=0) - np.sum(v * (A @ v), axis=0)
    np.testing.assert_allclose(found.explained[0], explained, rtol=1e-7, atol=1e-9 * scale)


def test_a_diagonal_matrix_and_zero_stay_what_they_are():
    for values in (np.zeros(7), np.ones(7), np.arange(7.0)):
        form = Tridiagonal.of(np.diag(values), np.eye(7))
        np.testing.assert_allclose(form.solve(0.5), np.diag(1 / (values + 0.5)), atol=1e-15)


def test_the_tridiagonal_matrix_has_the_same_eigenvalues_and_coordinates_are_orthogonal():
    A, form, spectrum = both(np.geomspace(1e-4, 1.0, 100))
    T = form.product(np.eye(100))
    np.testing.assert_allclose(np.linalg.eigvalsh(T), spectrum.values, rtol=1e-10)
    assert not T[np.abs(np.subtract.outer(np.arange(100), np.arange(100))) > 1].any()
    Q = form.outward(np.eye(100))
    np.testing.assert_allclose(Q.T @ Q, np.eye(100), atol=1e-13)
    np.testing.assert_allclose(Q @ T @ Q.T, A, atol=1e-13)
    assert form.extremes == pytest.approx(spectrum.extremes, rel=1e-9)


def test_leverages_in_float32_are_close_to_float64():
    _, form, spectrum = both(np.geomspace(1e-9, 1.0, 300))
    alphas = np.geomspace(1e-9, 1.0, 10)
    rows = np.random.default_rng(0).standard_normal((20, 300))
    known = spectrum.shifted(alphas).quadratic(spectrum.inward(rows.T).T)
    G = form.inward(rows.T).T.astype(np.float32)
    found = form.shifted(alphas).astype("float32").quadratic(G)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, known, rtol=1e-5)


def test_small_and_singular_matrices_are_left_to_the_eigendecomposition():
    values = np.geomspace(1e-6, 1.0, TRIDIAGONAL_FROM)
    A, b = matrix(values), np.ones((TRIDIAGONAL_FROM, 1))
    assert isinstance(DirectSystem(A, b).decomposition, Tridiagonal)
    assert isinstance(DirectSystem(A, b, cutoff=True).decomposition, Spectrum)
    assert isinstance(DirectSystem(A[1:, 1:], b[1:]).decomposition, Spectrum)
    level = rounding(A)
    singular = A - (values[0] - 0.5 * level) * np.eye(TRIDIAGONAL_FROM)
    assert isinstance(DirectSystem(singular, b).decomposition, Spectrum)
    system = DirectSystem(A, b)
    assert system.spectrum is system.decomposition  # computed already


@pytest.mark.parametrize(("threaded", "cores"), [(2500, 1), (100, 4)])
def test_only_large_matrices_are_reduced_on_all_cores(threaded, cores, monkeypatch):
    threads = []
    monkeypatch.setattr(
        "mercer.engines.local.blas_threads", lambda count: threads.append(count) or nullcontext()
    )
    monkeypatch.setattr("mercer.engines.local.available_cores", lambda: 4)
    monkeypatch.setattr("mercer.engines.local.THREADED", threaded)
    Tridiagonal.of(np.eye(200), np.ones((200, 1)))
    assert set(threads) == {cores}

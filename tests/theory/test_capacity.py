"""Effective dimension and largest leverage against the exact kernel, and known exponents."""

import numpy as np
import pytest
from problems import request_for, rows_of, sharded

from mercer.kernels import Gaussian, Linear, Matern, Sobolev
from mercer.theory import Capacity, PowerLaw, capacity_of_rows


def exact(kernel, X, alphas):
    """N and N_inf of the exact kernel, by definition."""
    values, vectors = np.linalg.eigh(kernel(X) / len(X))
    values = np.maximum(values, 0)
    N = np.array([np.sum(values / (values + alpha)) for alpha in alphas])
    # K_x in the eigenvectors of C: sqrt(n) sqrt(s) u.
    squares = len(X) * values * vectors**2
    return N, np.array([(squares / (values + alpha)).sum(axis=1).max() for alpha in alphas])


@pytest.mark.parametrize("kernel", [Gaussian(0.4), Matern(nu=1.5, bandwidth=0.4), Sobolev()])
def test_all_rows_as_landmarks_are_the_exact_kernel(kernel):
    X = np.random.default_rng(0).random((300, 1))
    found = capacity_of_rows(
        rows_of(X, X[:, 0]), request_for(X[:, 0], kernel), 300, np.random.default_rng(0)
    )
    reliable = found.alphas > 1e-8
    N, N_inf = exact(kernel, X, found.alphas[reliable])
    np.testing.assert_allclose(found.dimension[reliable], N, rtol=1e-5)
    np.testing.assert_allclose(found.largest[reliable], N_inf, rtol=1e-4)


def test_few_landmarks_are_close_where_the_power_law_is_fitted():
    X = np.random.default_rng(0).random((1500, 2))
    kernel = Matern(nu=1.5, bandwidth=0.5)
    found = capacity_of_rows(
        rows_of(X, X[:, 0]), request_for(X[:, 0], kernel), 200, np.random.default_rng(0)
    )
    assert found.usable.sum() >= 5
    N, N_inf = exact(kernel, X, found.alphas[found.usable])
    np.testing.assert_allclose(found.dimension[found.usable], N, rtol=0.12)
    np.testing.assert_allclose(found.largest[found.usable], N_inf, rtol=0.35)


@pytest.mark.parametrize(
    ("kernel", "gamma"),
    [(Sobolev(), 0.5), (Matern(nu=1.5, bandwidth=0.2), 0.25), (Gaussian(0.2), 0.0)],
)
def test_known_capacity_exponents_on_a_line(kernel, gamma):
    """Eigenvalues j^-2 and j^-4, and faster than any power."""
    X = np.random.default_rng(0).random((4000, 1))
    found = capacity_of_rows(
        rows_of(X, X[:, 0]), request_for(X[:, 0], kernel), 400, np.random.default_rng(0)
    )
    assert -found.gamma.exponent == pytest.approx(gamma, abs=0.06)
    # On a line the largest leverage grows like the mean one.
    assert -found.supremum.exponent >= -found.gamma.exponent - 1e-9


def test_a_finite_number_of_functions_has_no_power_law():
    X = np.random.default_rng(0).standard_normal((500, 3))
    found = capacity_of_rows(
        rows_of(X, X[:, 0]), request_for(X[:, 0], Linear()), 100, np.random.default_rng(0)
    )
    assert found.dimension.max() < 3.001
    assert not found.gamma.fits
    assert "too few points" in found.gamma.verdict


def test_shards_and_one_place_agree():
    X = np.random.default_rng(0).random((600, 2))
    y, kernel = X[:, 0], Gaussian(0.3)
    one = rows_of(X, y)
    landmarks = np.random.default_rng(3)
    apart = sharded(X, y, 5)
    found = capacity_of_rows(one, request_for(y, kernel), 600, landmarks)
    other = capacity_of_rows(apart, request_for(y, kernel), 600, np.random.default_rng(3))
    reliable = found.alphas > 1e-7
    np.testing.assert_allclose(other.alphas[0], found.alphas[0], rtol=1e-8)
    N, N_inf = zip(*(other.at(alpha) for alpha in found.alphas[reliable]), strict=True)
    np.testing.assert_allclose(N, found.dimension[reliable], rtol=0.01)
    np.testing.assert_allclose(N_inf, found.largest[reliable], rtol=0.05)


def test_an_isolated_row_has_the_largest_leverage():
    X = np.random.default_rng(0).random((500, 2))
    kernel, rng = Gaussian(0.5), np.random.default_rng(0)
    before = capacity_of_rows(rows_of(X, X[:, 0]), request_for(X[:, 0], kernel), 100, rng)
    X = np.vstack([X, [[30.0, 30.0]]])
    after = capacity_of_rows(rows_of(X, X[:, 0]), request_for(X[:, 0], kernel), 100, rng)
    # 1 / (alpha + 1 / n): only the row itself is near it.
    assert after.at(1e-4)[1] == pytest.approx(1 / (1e-4 + 1 / 501), rel=0.05)
    assert after.at(1e-4)[1] > 2 * before.at(1e-4)[1]


def test_rows_that_are_all_isolated_have_the_same_leverage_landmark_or_not():
    X = 100.0 * np.arange(20)[:, None]
    request, rng = request_for(X[:, 0], Gaussian(1.0)), np.random.default_rng(0)
    found = capacity_of_rows(rows_of(X, X[:, 0]), request, 8, rng)
    np.testing.assert_allclose(found.largest, 1 / (found.alphas + 1 / 20), rtol=1e-6)


def test_rows_of_weight_zero_do_not_count():
    X = np.random.default_rng(0).random((200, 1))
    weight = np.r_[np.ones(150), np.zeros(50)]
    far = X.copy()
    far[150:] += 40
    found = capacity_of_rows(
        rows_of(far, X[:, 0], weight), request_for(X[:, 0], Gaussian(0.3)), 200,
        np.random.default_rng(0),
    )  # fmt: skip
    N, N_inf = exact(Gaussian(0.3), far[:150], np.array([1e-3]))
    assert found.at(1e-3)[0] == pytest.approx(N[0], rel=0.02)
    assert found.at(1e-3)[1] == pytest.approx(N_inf[0], rel=0.02)


def test_only_ratios_of_weights_count():
    X = np.random.default_rng(0).random((300, 2))
    request = request_for(X[:, 0], Gaussian(0.3))
    found, other = (
        capacity_of_rows(rows_of(X, X[:, 0], weight), request, 20, np.random.default_rng(0))
        for weight in (None, np.full(300, 4.0))
    )
    np.testing.assert_allclose(other.dimension, found.dimension, rtol=1e-9)
    np.testing.assert_allclose(other.doubt, found.doubt, rtol=1e-9)


def test_power_laws_say_what_does_not_fit():
    at = np.geomspace(1e-6, 1, 30)
    assert PowerLaw.of(at, at**-0.3).fits
    bent = PowerLaw.of(at, np.where(at < 1e-3, at**-0.1, at**-0.8))
    assert not bent.fits
    assert bent.low < bent.exponent < bent.high
    assert PowerLaw.of(at[:3], at[:3]).verdict == "too few points to tell (3)"


def test_capacity_beyond_its_range_follows_the_law():
    alphas = np.geomspace(1, 1e-4, 30)
    found = Capacity(alphas, 2 * alphas**-0.5, 0 * alphas, 3 * alphas**-0.75, alphas > 0)
    N, N_inf = found.at(1e-8)
    assert pytest.approx(2e4, rel=1e-6) == N
    assert pytest.approx(3e6, rel=1e-6) == N_inf

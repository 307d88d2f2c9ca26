"""Variances of a Gaussian process given some rows, against systems solved one by one."""

import numpy as np
import pytest
from scipy import sparse

import reference
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.sampling import PosteriorVariance
from mercer.sampling.posterior_variance import in_proportion, largest
from reference_variance_draws import greedy_variance, posterior_variance

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
KERNELS = {
    "gaussian": (Gaussian(1.5), lambda x, z: reference.gaussian(x, z, 1.5)),
    "linear": (Linear(), reference.linear),
    "polynomial": (Polynomial(2, gamma=0.4), lambda x, z: reference.polynomial(x, z, 2, 0.4)),
}


@pytest.mark.parametrize("noise", [1e-8, 0.01, 2.0])
@pytest.mark.parametrize("name", KERNELS)
def test_the_greedy_choice_is_its_definition(name, noise):
    kernel, plain = KERNELS[name]
    K = reference.matrix(plain, X)
    # With the linear kernel and next to no noise, three rows leave variances of rounding alone.
    number = 3 if name == "linear" and noise < 1e-3 else 15
    found, rows, before = PosteriorVariance.prior(kernel, X, noise).chosen(number, largest)
    wanted, variances = greedy_variance(K, number, noise)
    assert rows.tolist() == wanted
    np.testing.assert_allclose(before, variances, rtol=1e-6, atol=1e-8)
    left = posterior_variance(K, wanted, noise)
    np.testing.assert_allclose(found.variance, left, rtol=1e-5, atol=1e-7)
    assert np.all(np.diff(before) <= 1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_given_rows_are_conditioned_on_in_any_parts(name):
    kernel, plain = KERNELS[name]
    K, rows = reference.matrix(plain, X), [4, 40, 7, 12, 13]
    prior = PosteriorVariance.prior(kernel, X, 0.1)
    np.testing.assert_allclose(prior.variance, np.diag(K), rtol=1e-12)
    whole, parts = prior.given(np.array(rows)), prior.given(np.array(rows[:2]))
    parts = parts.given(np.array(rows[2:]))
    wanted = posterior_variance(K, rows, 0.1)
    for found in (whole, parts):
        np.testing.assert_allclose(found.variance, wanted, rtol=1e-8, atol=1e-10)
        assert found.labelled.tolist() == rows
    more = greedy_variance(K, 6, 0.1, tuple(rows))[0]
    for found in (whole, parts):
        assert found.chosen(6, largest)[1].tolist() == more


def test_rounds_are_one_long_round_and_leave_what_was_before():
    prior = PosteriorVariance.prior(Gaussian(1.0), X, 0.05)
    first, one, _ = prior.chosen(8, largest)
    kept = first.variance.copy()
    for _ in range(2):  # a second time from the same state
        second, two, _ = first.chosen(5, largest)
        whole, rows, _ = prior.chosen(13, largest)
        np.testing.assert_array_equal(np.concatenate([one, two]), rows)
        np.testing.assert_allclose(second.variance, whole.variance, rtol=1e-10)
    np.testing.assert_array_equal(first.variance, kept)


def test_no_row_is_chosen_twice_and_all_can_be():
    for choose in (largest, in_proportion(np.random.default_rng(1))):
        twins = np.repeat(X[:6], 3, axis=0)
        found, rows, _ = PosteriorVariance.prior(Gaussian(1.0), twins, 0.5).chosen(18, choose)
        assert sorted(rows.tolist()) == list(range(18))
        with pytest.raises(ValueError, match="at most the 0 rows without label"):
            found.chosen(1, choose)


def test_rows_of_no_variance_are_chosen_last():
    rows = np.array([[0.0], [2.0], [0.0], [1.0]])
    prior = PosteriorVariance.prior(Linear(), rows, 0.1)
    assert prior.chosen(4, largest)[1].tolist() == [1, 3, 0, 2]
    for seed in range(10):
        chosen = prior.chosen(4, in_proportion(np.random.default_rng(seed)))[1]
        assert set(chosen[:2]) == {1, 3}
        assert set(chosen[2:]) == {0, 2}


def test_sparse_rows_are_as_dense_ones():
    thin = sparse.random_array((60, 20), density=0.2, rng=np.random.default_rng(0)).tocsr()
    prior = PosteriorVariance.prior(Gaussian(1.0), thin, 0.01)
    full = PosteriorVariance.prior(Gaussian(1.0), thin.toarray(), 0.01)
    np.testing.assert_array_equal(prior.chosen(20, largest)[1], full.chosen(20, largest)[1])


def test_random_choice_is_in_proportion_to_the_variance():
    """A second draw given the first: frequencies against the definition, within four errors."""
    rows, noise, trials = X[:5], 0.2, 4000
    K = reference.matrix(KERNELS["polynomial"][1], rows)
    prior = PosteriorVariance.prior(KERNELS["polynomial"][0], rows, noise)
    choose = in_proportion(np.random.default_rng(3))
    seen = np.zeros((5, 5))
    for _ in range(trials):
        seen[*prior.chosen(2, choose)[1]] += 1
    wanted = np.zeros((5, 5))
    for first in range(5):
        variance = posterior_variance(K, [first], noise)
        variance[first] = 0.0
        wanted[first] = K[first, first] / np.trace(K) * variance / variance.sum()
    error = np.sqrt(wanted * (1 - wanted) / trials) + 1e-12
    assert np.all(np.abs(seen / trials - wanted) < 4 * error + 1e-12)

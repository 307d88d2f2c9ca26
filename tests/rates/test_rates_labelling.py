"""Exponents that Murata and Suzuki (2021) print, from the functions."""

import math

import pytest

from mercer.rates import labelling_rates as rates
from mercer.rates.exponents import optimal_penalty, optimal_risk
from mercer.rates.labelling_rates import Labelling

N = 10.0**6
POINTS = [(0.5, 0.5), (0.25, 0.25), (1.0, 0.8), (0.1, 0.5)]


def order(value):
    """Return the exponent of n."""
    return math.log(value) / math.log(N)


@pytest.mark.parametrize(("r", "gamma"), POINTS)
def test_low_noise_acceleration(r, gamma):
    # n^(-2 r decay) where supervised gradient descent has n^(-2 r).
    problem = Labelling(r=r, gamma=gamma, noise=0.0)
    assert order(rates.labelling_risk(N, problem)) == pytest.approx(-2 * r / gamma)
    assert order(rates.uniform_risk(N, problem)) == pytest.approx(-2 * r)


@pytest.mark.parametrize(("r", "gamma"), POINTS)
def test_the_optimal_rate_with_noise_for_every_r(r, gamma):
    # n^(-2 r decay / (2 r decay + 1)), the rate of the others; no condition on r and gamma.
    problem = Labelling(r=r, gamma=gamma)
    decay = problem.decay
    exact = N ** (-2 * r * decay / (2 * r * decay + 1))
    assert exact == pytest.approx(optimal_risk(N, r=r, gamma=gamma))
    assert exact <= rates.labelling_risk(N, problem) <= 4 * exact
    penalty = optimal_penalty(N, r=r, gamma=gamma)
    assert penalty <= rates.labelling_penalty(N, problem) <= 2 * penalty


def test_uniform_labels_are_optimal_with_noise_only_for_smooth_targets():
    """Section 4, wider optimality: r > (decay - 1) / (2 decay), at mu = 1."""
    gamma = 0.5
    edge = (1 / gamma - 1) / (2 / gamma)
    for r, optimal in [(edge + 0.05, True), (edge - 0.05, False)]:
        problem = Labelling(r=r, gamma=gamma)
        ratio = rates.uniform_risk(1e30, problem) / optimal_risk(1e30, r=r, gamma=gamma)
        assert (ratio < 2) == optimal


def test_semi_supervised_eigenfunctions_are_slower():
    """Section 4: n^(-(decay-1)/2) against n^(-2 r decay) at r = 1/2 without noise."""
    for gamma in (0.2, 0.5, 0.9):
        problem = Labelling(r=0.5, gamma=gamma, noise=0.0)
        slow = rates.eigenfunction_risk(N, problem)
        assert order(slow) == pytest.approx(-(1 / gamma - 1) / 2)
        assert slow > rates.labelling_risk(N, problem)


def test_table_1_orders_the_methods_without_noise():
    problem = Labelling(r=0.5, gamma=0.5, noise=0.0)
    best = rates.labelling_risk(N, problem)
    for other in (rates.uniform_risk, rates.prefix_risk, rates.uniform_features_risk):
        assert order(other(N, problem)) == pytest.approx(-1.0)
        assert other(N, problem) > best
    # A bound on the features' supremum as good as their mean would make uniform labels as good.
    assert rates.uniform_risk(N, problem, mu=0.5) == pytest.approx(best)


def test_prefixes_with_noise_take_the_better_of_two_rates():
    loud = Labelling(r=0.5, gamma=0.5, noise=1.0)
    assert rates.prefix_risk(N, loud) == pytest.approx(N ** (-2 / 3))
    quiet = Labelling(r=0.5, gamma=0.5, noise=1e-4)
    assert rates.prefix_risk(N, quiet) == pytest.approx(1 / N + (1e-4 / N) ** 0.5)


def test_more_noise_and_smaller_pools_ask_for_more():
    risks = [
        rates.labelling_risk(N, Labelling(r=0.5, gamma=0.5, noise=noise))
        for noise in (0.0, 1e-6, 1e-2, 1.0)
    ]
    assert risks == sorted(risks)
    assert len(set(risks)) == 4
    pools = [
        rates.labelling_penalty(100, Labelling(r=0.5, gamma=0.5, pool=pool))
        for pool in (math.inf, 1e8, 1e5, 1e3)
    ]
    assert pools == sorted(pools)
    assert pools[0] < pools[-1]


def test_the_terms_of_a_pool():
    problem = Labelling(0.5, 0.5, noise=0.3, radius=2.0, pool=1e4, bound=1.5, largest=3.0)
    kappa2 = 1.5**2
    inside = (kappa2 * 0.3 + kappa2 * 9 / 1e4 + 1.5**2 * 4 / 1e4) / (100 * 1e4)
    expected = inside**0.5 + kappa2 * 4 / (100 * 1e4) + 1.5 * 2 / (10 * 1e4)
    assert rates.pool_penalty(100, problem) == pytest.approx(expected)


def test_steps_features_and_pool_go_with_the_inverse_penalty():
    problem = Labelling(r=0.5, gamma=0.5, noise=0.1, bound=2.0)
    penalty = rates.labelling_penalty(1000, problem)
    assert rates.labelling_steps(1000, problem, step_size=0.25) == math.ceil(4 / penalty)
    assert rates.labelling_features(1000, problem) == pytest.approx(1 + 4 / penalty)
    quiet = Labelling(r=0.5, gamma=0.5, noise=0.0)
    assert rates.labelling_pool(1000, quiet) == rates.labelling_features(1000, quiet) > 1000
    assert rates.labelling_pool(10**6, problem) == 10**6  # no fewer than labels


@pytest.mark.parametrize(("r", "gamma"), POINTS)
@pytest.mark.parametrize("noise", [0.0, 1e-3, 1.0])
def test_labels_for_an_error_are_the_inverse(r, gamma, noise):
    problem = Labelling(r=r, gamma=gamma, noise=noise)
    error = rates.labelling_risk(5000, problem)
    assert rates.labels_needed(error, problem) == pytest.approx(5000, rel=1e-6)


def test_labels_for_an_error_in_closed_form():
    quiet, loud = Labelling(0.5, 0.5, noise=0.0), Labelling(0.5, 0.5, noise=1.0)
    assert rates.labels_needed(1e-6, quiet) == pytest.approx(1e6**0.5)
    assert rates.labels_needed(1e-6, loud) == pytest.approx(1e6**1.5, rel=1e-2)
    assert rates.labels_needed(1e3, loud) == 1.0


def test_a_finite_number_of_functions():
    # (R^2 T/n)^infinity: nothing is left once there are more labels than functions.
    problem = Labelling(r=0.5, gamma=0.0, noise=0.0, trace=10.0)
    assert rates.labelling_risk(11, problem) == 0.0
    assert rates.labelling_risk(9, problem) == math.inf
    assert rates.labelling_features(11, problem) == math.inf
    with pytest.raises(ValueError, match="no number of steps is enough"):
        rates.labelling_steps(11, problem, step_size=1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Labelling(r=0.5, gamma=1.0), r"theorem 4.4: gamma must be in \[0, 1\)"),
        (lambda: Labelling(r=0.0, gamma=0.5), r"r must be in \(0, 1\]"),
        (lambda: Labelling(r=0.5, gamma=0.5, noise=-1), "noise must be a finite number at least 0"),
        (lambda: Labelling(r=0.5, gamma=0.5, trace=0), "trace must be a finite number greater"),
        (lambda: Labelling(r=0.5, gamma=0.5, pool=0), "pool must be at least 1"),
        (lambda: rates.labels_needed(0, Labelling(0.5, 0.5)), "error must be a finite number"),
        (lambda: rates.labelling_risk(0.5, Labelling(0.5, 0.5)), "n must be a finite number"),
        (lambda: rates.eigenfunction_risk(9, Labelling(0.5, 0.5)), "not covered by Ji"),
        (lambda: rates.uniform_features_risk(9, Labelling(0.4, 0.5)), "not covered by Rudi"),
        (lambda: rates.uniform_risk(9, Labelling(0.5, 0.5), mu=0.4), "mu must be"),
        (lambda: rates.uniform_risk(9, Labelling(0.5, 0.5), mu=1.4), r"mu must be in \[gamma, 1"),
    ],
)
def test_what_is_not_covered_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

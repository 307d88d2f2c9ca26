"""Exponents, conditions and rounding: what is accepted, converted and refused."""

import math

import pytest

from mercer.rates.exponents import (
    Conditions,
    Exponents,
    Interval,
    at_least,
    effective_dimension,
    fewest,
    log_factor,
    most,
    optimal_penalty,
    optimal_risk,
    power,
)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"r": -0.1, "gamma": 0.5}, "r must be a finite number at least 0"),
        ({"r": math.nan, "gamma": 0.5}, "r must be a finite number"),
        ({"r": 0.5, "gamma": 1.5}, r"gamma must be in \[0, 1\], got 1.5.*take gamma=1"),
        ({"r": 0.5, "gamma": 0.5, "alpha": 0.4}, r"alpha must be in \[gamma, 1\] = \[0.5, 1\]"),
        ({"r": 0.5, "gamma": 0.5, "alpha": 1.1}, r"alpha must be in \[gamma, 1\]"),
    ],
)
def test_bad_exponents_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Exponents(**given)


def test_a_string_is_no_exponent():
    with pytest.raises(TypeError, match="gamma must be a number"):
        Exponents(0.5, "1")


@pytest.mark.parametrize("decay", [1.0, 0.5, math.nan])
def test_eigenvalues_must_be_summable(decay):
    with pytest.raises(ValueError, match="decay must be greater than 1"):
        Exponents.of_decay(0.5, decay)


def test_conventions_of_the_papers():
    assert Exponents.of_zeta(0.3, 0.6) == Exponents(0.3, 0.6)
    assert Exponents.of_decay(0.3, 4.0) == Exponents(0.3, 0.25)
    assert Exponents(0.3, 0.25).decay == 4.0
    assert Exponents(0.3, 0.0).decay == math.inf
    # L^-r f in the space of the kernel, itself L^(1/2) of the square-integrable functions.
    assert Exponents.of_ranking(0.5).r == 1.0
    assert Exponents.of_ranking(0.5).ranking_r == 0.5
    assert Exponents.of_ranking(1e-9).attainable
    assert not Exponents(0.49, 1.0).attainable


def test_conditions_name_all_that_does_not_hold():
    wide = at_least("2 r + gamma >= 1", lambda e: e.complexity)
    conditions = Conditions("a theorem", r=Interval(0.5, 1), joint=(wide,))
    assert conditions.broken(Exponents(0.5, 0.0)) == []
    assert len(conditions.broken(Exponents(0.2, 0.1))) == 2
    (word,) = conditions.broken(Exponents(2.0, 0.1))
    assert "no better than at r = 1" in word
    # 2 * 0.35 + 0.3 is 1 up to rounding only.
    assert Conditions("a theorem", joint=(wide,)).broken(Exponents(0.35, 0.3)) == []


def test_open_ends():
    assert 0.0 not in Interval(0, 1, "(]")
    assert 1.0 not in Interval(0, 1, "[)")
    assert str(Interval(0, 1, "()")) == "(0, 1)"


def test_rounding_is_to_the_safe_side_and_forgives_rounding_errors():
    assert fewest(10.01) == 11
    assert most(10.99) == 10
    for root in range(2, 200):
        assert fewest((root**3) ** (1 / 3)) == root
        assert most((root**3) ** (1 / 3)) == root
    assert fewest(10, constant=2.5) == 25
    with pytest.raises(ValueError, match="constant must be a finite number greater than 0"):
        fewest(10, constant=0)


def test_fewer_than_one_row_is_refused():
    with pytest.raises(ValueError, match="n must be a finite number at least 1"):
        power(0, 0.5)


def test_sizes_past_the_end_of_floats_are_infinite():
    assert power(1e6, 100.0) == math.inf
    assert power(1e6, -100.0) == 0.0


def test_the_log_factor_is_at_least_one():
    assert log_factor(1, 1.0) == 1.0
    assert log_factor(math.e**4, 0.5) == pytest.approx(2.0)


def test_the_rates_of_ridge_regression():
    # The capacity-independent case: 1 / sqrt(n) for both.
    assert optimal_penalty(10**6, r=0.5, gamma=1.0) == pytest.approx(1e-3)
    assert optimal_risk(10**6, r=0.5, gamma=1.0) == pytest.approx(1e-3)
    # The squared bias lambda^2r is of the order of the variance N(lambda) / n.
    for r, gamma in [(0.2, 0.9), (0.5, 0.5), (1.0, 0.1)]:
        penalty = optimal_penalty(5000, r=r, gamma=gamma)
        assert optimal_risk(5000, r=r, gamma=gamma) == pytest.approx(penalty ** (2 * r))
        variance = effective_dimension(penalty, gamma=gamma) / 5000
        assert optimal_risk(5000, r=r, gamma=gamma) == pytest.approx(variance)
    with pytest.raises(ValueError, match="r must be in"):
        optimal_risk(1000, r=1.5, gamma=1.0)

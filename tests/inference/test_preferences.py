"""The probability that one row is above another."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression

from mercer.inference.preferences import (
    PENALTY,
    Pairs,
    PreferenceMap,
    fit_preferences,
    pairs_within,
)
from mercer.storage.state import check_state


def drawn(sizes=(1, 2, 3, 4, 7, 12), seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    f = rng.normal(size=len(groups))
    relevance = np.round(f + rng.logistic(size=len(f)))
    return groups, f, relevance, rng.uniform(0.5, 2.0, len(f))


def every_pair(groups, f, relevance, weight):
    """All pairs of a group in which the first row is of higher relevance."""
    return sorted(
        (f[i] - f[j], weight[i] * weight[j])
        for i in range(len(f))
        for j in range(len(f))
        if groups[i] == groups[j] and relevance[i] > relevance[j]
    )


def test_all_pairs_are_taken_if_they_are_few():
    rows = drawn()
    found = pairs_within(*rows)
    expected = np.array(every_pair(*rows))
    order = np.argsort(found.difference)
    np.testing.assert_allclose(found.difference[order], expected[:, 0])
    np.testing.assert_allclose(found.weight[order], expected[:, 1])


def test_a_sample_stands_for_all_pairs():
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1], [600, 60])
    f = rng.normal(size=660) * np.where(groups == 0, 1.0, 3.0)
    relevance = f + rng.logistic(size=660)
    full = pairs_within(groups, f, relevance, np.ones(660))
    part = pairs_within(groups, f, relevance, np.ones(660), most=10_000)
    assert 10_000 <= len(part.weight) < 11_000 < len(full.weight)
    assert part.weight.sum() == pytest.approx(full.weight.sum())
    whole, some = fit_preferences(full), fit_preferences(part)
    assert some.slope == pytest.approx(whole.slope, rel=0.1)
    np.testing.assert_array_equal(
        part.difference, pairs_within(groups, f, relevance, np.ones(660), most=10_000).difference
    )


def test_every_query_may_weigh_the_same():
    groups, f, _, weight = drawn()
    relevance = np.arange(len(f), dtype=float)  # no ties
    found = pairs_within(groups, f, relevance, weight, by_group=True)
    assert found.weight.sum() == pytest.approx(5)  # one of the six has a single row


def test_ties_are_left_out():
    found = pairs_within(np.zeros(4), np.arange(4.0), np.array([1.0, 1.0, 1.0, 2.0]), np.ones(4))
    np.testing.assert_array_equal(np.sort(found.difference), [1.0, 2.0, 3.0])
    none = pairs_within(np.zeros(4), np.arange(4.0), np.ones(4), np.ones(4))
    assert fit_preferences(none) is None
    assert (
        fit_preferences(pairs_within(np.arange(4), np.arange(4.0), np.arange(4.0), np.ones(4)))
        is None
    )


def test_the_slope_is_that_of_the_least_sum():
    pairs = pairs_within(*drawn((40,)))
    found = fit_preferences(pairs)
    weight = pairs.weight / pairs.weight.mean()
    spread = np.sqrt(np.mean(pairs.difference**2))

    def loss(slope):
        rows = np.log1p(np.exp(-slope * pairs.difference))
        return weight @ rows + 0.5 * PENALTY * (slope * spread) ** 2

    best = minimize_scalar(loss, bounds=(0, 10), method="bounded", options={"xatol": 1e-9})
    assert found.slope == pytest.approx(best.x, rel=1e-5)


def test_the_true_slope_is_found():
    rng = np.random.default_rng(0)
    d = rng.normal(size=20_000)
    above = rng.random(20_000) < 1 / (1 + np.exp(-1.7 * d))
    found = fit_preferences(Pairs(np.where(above, d, -d), np.ones(20_000)))
    assert found.slope == pytest.approx(1.7, rel=0.05)
    plain = LogisticRegression(C=np.inf, fit_intercept=False).fit(d[:, None], above)
    assert found.slope == pytest.approx(plain.coef_[0, 0], rel=1e-3)


def test_pairs_in_perfect_order_give_finite_probabilities():
    found = fit_preferences(Pairs(np.ones(50), np.ones(50)))
    assert 0.9 < found.probabilities(np.array([1.0]))[0] < 1.0
    assert found.error == 0.0


def test_scores_in_the_wrong_order_or_constant_say_nothing():
    assert fit_preferences(Pairs(-np.ones(50), np.ones(50))).slope == 0.0
    constant = fit_preferences(Pairs(np.zeros(50), np.ones(50)))
    assert constant.slope == 0.0
    assert constant.error == 0.5


def test_units_do_not_matter():
    pairs = pairs_within(*drawn((40,)))
    found = fit_preferences(pairs)
    other = fit_preferences(Pairs(1e6 * pairs.difference, 3 * pairs.weight))
    assert other.slope * 1e6 == pytest.approx(found.slope, rel=1e-9)


@pytest.mark.parametrize("wrong", [(-1.0, 0.1, 0.1, 5), (1.0, 0.1, 2.0, 5), (1.0, 0.1, 0.1, 0)])
def test_maps_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        check_state(PreferenceMap(*wrong))

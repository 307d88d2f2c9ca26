"""Numbers and exponents that Li, Liu and Wang (2022) print, from the functions."""

import math

import pytest

from mercer.rates import feature_rates as rates
from mercer.rates import nystroem_rates

N = 10.0**6
ATTAINABLE = [(0.5, 1.0), (0.5, 0.5), (0.75, 0.25), (1.0, 1.0), (1.0, 0.0)]
OUTSIDE = [(0.25, 0.75), (0.1, 0.9), (0.4, 0.5)]


def order(value):
    """Return the exponent of n."""
    return math.log(value) / math.log(N)


@pytest.mark.parametrize(("r", "gamma"), ATTAINABLE)
def test_theorems_1_and_2_in_the_space_of_the_kernel(r, gamma):
    count = order(rates.features(N, r=r, gamma=gamma))
    assert count == pytest.approx(((2 * r - 1) * gamma + 1) / (2 * r + gamma))
    older = order(rates.older_feature_partitions(N, r=r, gamma=gamma))
    assert older == pytest.approx((2 * r - 1) / (2 * r + gamma))
    refined = order(rates.feature_partitions(N, r=r, gamma=gamma))
    assert refined == pytest.approx((2 * r + gamma - 1) / (2 * r + gamma))


@pytest.mark.parametrize(("r", "gamma"), OUTSIDE)
def test_theorem_2_outside_the_space_of_the_kernel(r, gamma):
    assert order(rates.features(N, r=r, gamma=gamma)) == pytest.approx(1 / (2 * r + gamma))


def test_the_number_of_features_is_continuous_at_one_half():
    for alpha in (0.5, 0.8, 1.0):
        below = rates.features(N, r=0.5 - 1e-9, gamma=0.5, alpha=alpha)
        assert below == pytest.approx(rates.features(N, r=0.5, gamma=0.5, alpha=alpha), rel=1e-6)


@pytest.mark.parametrize(("r", "gamma"), ATTAINABLE)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_theorem_3_in_both_of_its_forms(r, gamma, share):
    alpha = gamma + share * (1 - gamma)
    count = order(rates.features(N, r=r, gamma=gamma, alpha=alpha))
    # The text after theorem 3 writes it as what theorem 2 needs less something.
    saved = 2 * (r - 1) * (1 - alpha)
    assert count == pytest.approx(((2 * r - 1) * gamma + 1 + saved) / (2 * r + gamma))
    assert count <= order(rates.features(N, r=r, gamma=gamma)) + 1e-12


def test_the_general_case():
    # r = 1/2, gamma = 1: sqrt(n) features, and sqrt(n) shards where older proofs allow a constant.
    assert rates.features(N, r=0.5, gamma=1.0) == pytest.approx(1e3)
    assert rates.older_feature_partitions(N, r=0.5, gamma=1.0) == 1.0
    assert rates.feature_partitions(N, r=0.5, gamma=1.0) == pytest.approx(1e3)
    assert rates.semi_supervised_partitions(N, r=0.5, gamma=1.0) == pytest.approx(N)


@pytest.mark.parametrize(("r", "gamma"), [*ATTAINABLE, *OUTSIDE, (0.25, 0.25), (0.4, 0.1)])
def test_theorem_4(r, gamma):
    shards = rates.semi_supervised_partitions(N, r=r, gamma=gamma)
    assert order(shards) == pytest.approx((2 * r + 2 * gamma - 1) / (2 * r + gamma), abs=1e-12)
    for alpha in (gamma, (1 + gamma) / 2, 1.0):
        rows = rates.semi_supervised_rows(N, r=r, gamma=gamma, alpha=alpha)
        extra = max(0.0, (gamma + alpha - 1) / (2 * r + gamma))
        assert order(rows) == pytest.approx(1 + extra)
        # Equation 58: a shard must have N_inf(lambda) = n^(alpha/(2r+gamma)) rows or more.
        assert order(rows / shards) >= alpha / (2 * r + gamma) - 1e-9


def test_unlabelled_rows_never_cost_shards():
    for r, gamma in ATTAINABLE + OUTSIDE:
        more = rates.semi_supervised_partitions(N, r=r, gamma=gamma)
        assert more >= rates.feature_partitions(N, r=r, gamma=gamma) * (1 - 1e-9)


@pytest.mark.parametrize(("r", "gamma"), [(0.5, 1.0), (0.75, 0.25), (0.25, 0.75)])
def test_landmarks_and_features_in_the_worst_case(r, gamma):
    """Both papers of the authors: the same shards, and no fewer features than landmarks."""
    assert rates.feature_partitions(N, r=r, gamma=gamma) == pytest.approx(
        nystroem_rates.shared_partitions(N, r=r, gamma=gamma)
    )
    centers = nystroem_rates.shared_centers(N, r=r, gamma=gamma)
    assert rates.features(N, r=r, gamma=gamma) >= centers * (1 - 1e-9)


def test_older_results_are_the_same_for_landmarks_and_features():
    given = {"r": 0.75, "gamma": 0.25}
    assert rates.older_feature_partitions(N, **given) == pytest.approx(
        nystroem_rates.averaged_partitions(N, **given)
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rates.older_feature_partitions(N, r=0.4, gamma=1), "theorem 1: r must be in"),
        (lambda: rates.feature_partitions(N, r=0.25, gamma=0.25), r"2 r \+ gamma >= 1 does not"),
        (lambda: rates.semi_supervised_rows(N, r=0.2, gamma=0.2), r"2 r \+ 2 gamma >= 1 does not"),
        (lambda: rates.features(N, r=0.0, gamma=0.5), r"r must be in \(0, 1\], got 0"),
        (lambda: rates.features(N, r=0.5, gamma=0.5, alpha=0.1), r"alpha must be in \[gamma, 1\]"),
    ],
)
def test_what_is_not_covered_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_figures_1_to_4_each_theorem_costs_no_more_than_the_one_before():
    """Time n M^2 / m, with alpha = gamma for theorems 3 and 4 and all rows counted."""
    for r in (0.1, 0.3, 0.5, 0.75, 1.0):
        for gamma in (0.1, 0.5, 0.8, 1.0):
            given = {"r": r, "gamma": gamma}
            plain = rates.features(N, **given)
            few = rates.features(N, **given, alpha=gamma)
            slack = 1 + 1e-9
            if 2 * r + gamma >= 1:
                shards = rates.feature_partitions(N, **given)
                refined, scored = N * plain**2 / shards, N * few**2 / shards
                assert scored <= refined * slack
                rows = rates.semi_supervised_rows(N, **given, alpha=gamma)
                more = rates.semi_supervised_partitions(N, **given)
                assert rows * few**2 / more <= scored * slack
            if r >= 0.5:
                older = N * plain**2 / rates.older_feature_partitions(N, **given)
                assert refined <= older * slack

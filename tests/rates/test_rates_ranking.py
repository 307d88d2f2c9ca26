"""Numbers and exponents that the paper on distributed rankings prints, from the functions."""

import math

import pytest

from mercer.rates import Exponents
from mercer.rates import ranking_rates as rates
from mercer.rates.krylov_rates import krylov_error

N = 10**6
SMOOTHNESS = [0.1, 0.25, 0.5, 0.75, 1.0]


def order(value):
    """Return the exponent of n."""
    return math.log(value) / math.log(N)


@pytest.mark.parametrize("r", SMOOTHNESS)
def test_remark_1_one_shard(r):
    assert order(rates.ranking_error([N], r=r)) == pytest.approx(-r / (1 + r))
    assert order(rates.ranking_features([N], r=r)) == pytest.approx(2 * r / (1 + r))
    assert order(rates.ranking_penalty([N], r=r)) == pytest.approx(-1 / (1 + r))


@pytest.mark.parametrize("r", SMOOTHNESS)
def test_remark_1_equal_shards(r):
    sizes = [N / 100] * 100
    assert rates.shard_ratio(sizes) == pytest.approx(100 / N)
    assert rates.ranking_error(sizes, r=r) == pytest.approx((N / 100) ** (-r / (1 + r)))
    assert rates.ranking_features(sizes, r=r) == pytest.approx((N / 100) ** (2 * r / (1 + r)))


@pytest.mark.parametrize("sizes", [[N], [N / 50] * 50, [N / 2] + [N / 100] * 50])
def test_theorem_1_is_sharper_than_the_older_rate(sizes):
    for r in SMOOTHNESS:
        assert rates.ranking_error(sizes, r=r) < rates.exact_ranking_error(sizes, r=r)


def test_the_older_rate_for_equal_shards():
    # sum n_j^(3/2) / sum n_k^2 = (n/p)^(-1/2)
    value = rates.exact_ranking_error([N / 100] * 100, r=0.5)
    assert value == pytest.approx((N / 100) ** (-0.5 * 0.5 / 1.5))


@pytest.mark.parametrize("r", SMOOTHNESS)
@pytest.mark.parametrize("rounds", [1, 2, 8, 32])
def test_remark_3_is_where_the_rates_of_both_theorems_meet(r, rounds):
    edge = rates.most_ranking_shards(N, rounds, r=r)
    assert order(edge) == pytest.approx(r * rounds / (r * rounds + rounds + 2))
    for factor, better in [(0.9, True), (1.1, False)]:
        shards = max(1.0, edge * factor)
        with_rounds = rates.rounds_error(N, shards, rounds, r=r)
        without = rates.ranking_error([N / shards] * 1, r=r)  # p/n by the ratio of one such shard
        assert (with_rounds < without) == better


def test_more_rounds_allow_more_shards_up_to_a_limit():
    edges = [rates.most_ranking_shards(N, rounds, r=0.5) for rounds in (0, 1, 2, 4, 8, 10**6)]
    assert edges == sorted(edges)
    assert edges[0] == 1.0
    assert order(edges[-1]) == pytest.approx(0.5 / 1.5, abs=1e-5)


@pytest.mark.parametrize("r", SMOOTHNESS)
def test_rounds_needed_is_the_inverse(r):
    for rounds in (1, 2, 3, 10, 40):
        edge = rates.most_ranking_shards(N, rounds, r=r)
        assert rates.rounds_needed(N, edge * (1 - 1e-6), r=r) == rounds
        assert rates.rounds_needed(N, edge * (1 + 1e-6), r=r) == rounds + 1
    assert rates.rounds_needed(N, N ** (r / (1 + r)), r=r) == math.inf
    assert rates.rounds_needed(N, 1, r=r) == 1


def test_theorem_2():
    assert rates.rounds_penalty(N, r=0.5) == pytest.approx(N ** (-2 / 3))
    assert rates.rounds_features(N, r=0.5) == pytest.approx(N ** (2 / 3))
    error = rates.rounds_error(N, 10, 4, r=0.5)
    assert error == pytest.approx((10**0.5 * N ** (-1 / 6)) ** 6)
    # One shard without rounds is theorem 1's rate: (n^(-r/(2(1+r))))^2.
    assert rates.rounds_error(N, 1, 0, r=0.5) == pytest.approx(rates.ranking_error([N], r=0.5))


@pytest.mark.parametrize("r", SMOOTHNESS)
def test_the_variance_of_the_proofs_is_a_floor(r):
    floor = N ** (-r / (2 * (1 + r)))
    assert rates.rounds_error_with_variance(N, 2, 1000, r=r) == pytest.approx(floor)
    assert rates.ranking_error_with_variance([N], r=r) == pytest.approx(floor)
    edge = N ** (r / (1 + 2 * r))
    for factor in (1.0, 4.0):  # from here on theorem 1 is what its proof bounds
        shards = math.ceil(edge * factor)
        sizes = [N / shards] * shards
        kept = rates.ranking_error_with_variance(sizes, r=r)
        assert kept == pytest.approx(rates.ranking_error(sizes, r=r), rel=1e-3)


@pytest.mark.parametrize("r", SMOOTHNESS)
def test_with_the_variance_one_shard_has_the_rate_of_regression_in_the_same_norm(r):
    """Rankings count r from the kernel's space; without a capacity, gamma is 1."""
    exponents = Exponents.of_ranking(r)
    known = krylov_error(N, zeta=exponents.r, gamma=exponents.gamma, norm=0.5)
    assert rates.ranking_error_with_variance([N], r=r) == pytest.approx(known)
    assert rates.ranking_error([N], r=r) == pytest.approx(known**2)  # as printed


def test_the_proof_asks_for_more_features_of_rough_targets():
    for r in SMOOTHNESS:
        stated = rates.ranking_features([N], r=r)
        asked = rates.ranking_features_of_proof([N], r=r)
        assert (asked > stated * (1 + 1e-9)) == (r < 0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rates.ranking_error([N], r=0), "r of a ranking must be a finite number greater"),
        (lambda: rates.ranking_error([N], r=1.5), r"must be in \(0, 1\], got 1.5.*ranking_r"),
        (lambda: rates.shard_ratio([]), "at least one shard"),
        (lambda: rates.shard_ratio([10, 0]), "a size of a shard must be"),
        (lambda: rates.rounds_error(N, 10, -1, r=1), "rounds must be at least 0"),
        (lambda: rates.rounds_error(N, 0, 1, r=1), "shards must be a finite number"),
    ],
)
def test_what_is_not_covered_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

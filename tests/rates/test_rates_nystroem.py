"""Numbers and exponents that Li, Liu and Wang (2023) print, from the functions."""

import math

import pytest

from mercer.rates import nystroem_rates as rates

N = 10.0**6
POINTS = [(0.5, 1.0), (0.5, 0.5), (0.75, 0.25), (1.0, 1.0), (1.0, 0.1)]
OUTSIDE = [(0.25, 0.75), (0.1, 0.9), (0.4, 0.5)]


def order(value):
    """Return the exponent of n."""
    return math.log(value) / math.log(N)


@pytest.mark.parametrize(("r", "gamma"), POINTS)
def test_figure_2_complexity_of_averaged_local_landmarks(r, gamma):
    centers = rates.local_centers(N, r=r, gamma=gamma)
    shards = rates.averaged_partitions(N, r=r, gamma=gamma)
    assert order(N * centers**2 / shards) == pytest.approx((3 + gamma) / (2 * r + gamma))
    space = rates.training_space(N, centers, shards)
    assert order(space) == pytest.approx((2 + gamma) / (2 * r + gamma))


def test_the_general_case_of_local_landmarks():
    # r = 1/2, gamma = 1: a constant number of shards, n^2 time and n^1.5 space.
    centers = rates.local_centers(N, r=0.5, gamma=1.0)
    shards = rates.averaged_partitions(N, r=0.5, gamma=1.0)
    assert shards == 1.0
    assert order(N * centers**2 / shards) == pytest.approx(2.0)
    assert order(rates.training_space(N, centers, shards)) == pytest.approx(1.5)


@pytest.mark.parametrize(("r", "gamma"), POINTS + OUTSIDE)
def test_corollary_12_and_figure_3(r, gamma):
    centers = rates.shared_centers(N, r=r, gamma=gamma)
    shards = rates.shared_partitions(N, r=r, gamma=gamma)
    assert order(shards) == pytest.approx((2 * r + gamma - 1) / (2 * r + gamma))
    assert order(centers) == pytest.approx(1 / (2 * r + gamma))
    assert centers == pytest.approx(N / shards)  # "M = N/m in the worst case"
    assert order(rates.training_time(N, centers, shards) / 2) == pytest.approx(3 / (2 * r + gamma))
    assert order(rates.training_space(N, centers, shards)) == pytest.approx(2 / (2 * r + gamma))


@pytest.mark.parametrize(("r", "gamma"), [*POINTS, *OUTSIDE, (0.05, 0.05)])
def test_corollary_13_and_figure_4(r, gamma):
    centers = rates.shared_centers(N, r=r, gamma=gamma, alpha=gamma)
    shards = rates.shared_partitions(N, r=r, gamma=gamma, alpha=gamma)
    assert order(shards) == pytest.approx(2 * r / (2 * r + gamma))
    assert order(centers) == pytest.approx(gamma / (2 * r + gamma))
    assert order(N * centers**2 / shards) == pytest.approx(3 * gamma / (2 * r + gamma))
    scores = rates.leverage_time(N, r=r, gamma=gamma)
    assert order(scores) == pytest.approx((1 + 2 * gamma) / (2 * r + gamma))
    assert scores >= N * centers**2 / shards * (1 - 1e-9)
    space = rates.training_space(N, centers, shards)
    assert order(space) == pytest.approx(2 * gamma / (2 * r + gamma))


def test_scores_take_less_than_n_squared_from_a_quarter_on():
    for gamma in (0.1, 0.5, 1.0):
        assert order(rates.leverage_time(N, r=0.26, gamma=gamma)) < 2
        assert order(rates.leverage_time(N, r=0.25, gamma=gamma)) == pytest.approx(2.0)
        assert order(rates.leverage_time(N, r=0.24, gamma=gamma)) > 2


@pytest.mark.parametrize("alpha", [0.5, 0.7, 1.0])
def test_theorem_16_allows_the_square_root_of_the_shards(alpha):
    given = {"r": 0.5, "gamma": 0.5, "alpha": alpha}
    mean = rates.shared_partitions(N, **given)
    assert rates.shared_partitions(N, **given, in_probability=True) == pytest.approx(mean**0.5)


@pytest.mark.parametrize(("r", "gamma"), POINTS)
def test_shared_landmarks_ask_for_less_than_local_ones(r, gamma):
    for alpha in (gamma, (gamma + 1) / 2, 1.0):
        given = {"r": r, "gamma": gamma, "alpha": alpha}
        slack = 1 + 1e-9
        local = rates.local_centers(N, r=r, gamma=gamma)
        assert rates.shared_centers(N, **given) <= local * slack
        leverage = rates.shared_centers(N, **given, sampling="leverage")
        assert leverage <= rates.shared_centers(N, **given) * slack
        assert leverage == pytest.approx(rates.local_sketch_size(N, r=r, gamma=gamma))
        older = rates.averaged_partitions(N, r=r, gamma=gamma)
        assert rates.shared_partitions(N, **given) * slack >= older


def test_smoother_targets_allow_more_shards_and_need_fewer_landmarks():
    values = [0.5, 0.6, 0.8, 1.0]
    shards = [rates.shared_partitions(N, r=r, gamma=0.5) for r in values]
    centers = [rates.shared_centers(N, r=r, gamma=0.5) for r in values]
    assert shards == sorted(shards)
    assert centers == sorted(centers, reverse=True)


def test_few_functions_need_few_landmarks():
    assert rates.shared_centers(N, r=0.5, gamma=1e-9, alpha=1e-9) == pytest.approx(1.0, rel=1e-6)
    assert rates.shared_partitions(N, r=0.5, gamma=1e-9, alpha=1e-9) == pytest.approx(N, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: rates.local_centers(N, r=0.4, gamma=0.5),
            r"proposition 8: r must be",
        ),
        (lambda: rates.shared_centers(N, r=0.2, gamma=0.2), r"theorem 11: 2 r \+ gamma >= alpha"),
        (lambda: rates.shared_centers(N, r=1.2, gamma=0.2), "no better than at r = 1"),
        (lambda: rates.shared_centers(N, r=0.5, gamma=0.0), r"gamma must be in \(0, 1\], got 0"),
        (lambda: rates.shared_centers(N, r=1, gamma=1, sampling="levrage"), "mean 'leverage'"),
        (
            lambda: rates.shared_partitions(N, r=0.1, gamma=0.2, in_probability=True),
            "not covered by .*theorem 16",
        ),
    ],
)
def test_what_is_not_covered_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

"""Numbers and exponents that Lin and Cevher (2018) print, from the functions."""

import math

import pytest

from mercer import StopAtDiscrepancy
from mercer.rates import krylov_rates as rates
from mercer.rates import nystroem_rates
from mercer.rates.exponents import optimal_penalty, optimal_risk

N = 10.0**6
LOG = math.log(N)
WELL = [(0.5, 0.5), (0.5, 1.0), (0.3, 0.6), (1.0, 0.25), (1.0, 1.0)]
ILL = [(0.25, 0.5), (0.1, 0.3), (0.0, 1.0), (0.0, 0.4)]


@pytest.mark.parametrize("n", [32, 64, 128, 256, 512, 1024])
def test_section_4_first_order_sobolev_space(n):
    # zeta = 1/2, gamma = 1/2: sketches of n^(1/3), landmarks n^(2/3), squared errors n^(-2/3).
    given = {"zeta": 0.5, "gamma": 0.5}
    assert rates.sketch_size(n, **given) == pytest.approx(n ** (1 / 3))
    logs = max(1.0, 0.5 * math.log(n))
    assert rates.landmark_size(n, **given) == pytest.approx(n ** (2 / 3) * logs)
    assert rates.krylov_error(n, **given) ** 2 == pytest.approx(n ** (-2 / 3))


@pytest.mark.parametrize(("zeta", "gamma"), WELL)
def test_the_well_posed_case_has_no_logarithm_and_is_minimax(zeta, gamma):
    given = {"zeta": zeta, "gamma": gamma}
    assert rates.ill_posed_factor(N, **given) == 1.0
    assert rates.krylov_penalty(N, **given) == pytest.approx(
        optimal_penalty(N, r=zeta, gamma=gamma)
    )
    risk = rates.krylov_error(N, **given) ** 2
    assert risk == pytest.approx(optimal_risk(N, r=zeta, gamma=gamma))
    # Sketches are of the order of the effective dimension, as the text after corollary 3.2 says.
    expected = N ** (gamma / (2 * zeta + gamma))
    assert rates.sketch_size(N, **given) == pytest.approx(expected)
    assert rates.discrepancy(N, **given) == pytest.approx(N ** (-(zeta + 0.5) / (2 * zeta + gamma)))


@pytest.mark.parametrize(("zeta", "gamma"), ILL)
def test_the_ill_posed_case_has_logarithms(zeta, gamma):
    given = {"zeta": zeta, "gamma": gamma}
    b = max(1.0, gamma * LOG)
    assert rates.ill_posed_factor(N, **given) == pytest.approx(b)
    assert rates.discrepancy(N, **given) == pytest.approx((b / N) ** (zeta + 0.5))
    assert rates.krylov_error(N, **given) == pytest.approx((b / N) ** zeta)
    assert rates.sketch_size(N, **given) == pytest.approx(N**gamma * b**-gamma)
    assert rates.leverage_size(N, **given) == pytest.approx(N**gamma * b ** (1 - gamma))
    with pytest.raises(ValueError, match=r"corollary 3.3: 2 r \+ gamma > 1 does not hold"):
        rates.landmark_size(N, **given)


def test_a_finite_number_of_functions_has_no_logarithm():
    assert rates.ill_posed_factor(N, zeta=0.25, gamma=0.0) == 1.0
    assert rates.sketch_size(N, zeta=2.0, gamma=0.0) == 1.0


@pytest.mark.parametrize("norm", [0.0, 0.25, 0.5])
def test_smooth_targets_are_not_saturated(norm):
    given = {"zeta": 2.0, "gamma": 0.5, "norm": norm}
    theta = (2.0 - norm) / ((1 - norm) * 4.5)
    assert rates.sketch_size(N, **given) == pytest.approx(N ** (0.5 * theta))
    assert rates.landmark_size(N, **given) == pytest.approx(N**theta * 0.5 * LOG)
    assert rates.leverage_size(N, **given) == pytest.approx(N ** (0.5 * theta) * 0.5 * LOG)
    assert rates.krylov_error(N, **given) == pytest.approx(N ** (-(2.0 - norm) / 4.5))


def test_sizes_are_continuous_at_zeta_one():
    for size in (rates.sketch_size, rates.landmark_size, rates.leverage_size):
        below = size(N, zeta=1 - 1e-9, gamma=0.5, norm=0.3)
        assert below == pytest.approx(size(N, zeta=1.0, gamma=0.5, norm=0.3), rel=1e-6)


def test_orthogonal_systems_pay_four_logarithms():
    given = {"zeta": 0.5, "gamma": 0.5}
    more = rates.sketch_size(N, **given, log_power=4)
    assert more == pytest.approx(rates.sketch_size(N, **given) * LOG**4)


def test_the_same_landmarks_as_over_shards_but_for_logarithms():
    for zeta, gamma in WELL:
        one = rates.landmark_size(N, zeta=zeta, gamma=gamma) / max(1.0, gamma * LOG)
        assert one == pytest.approx(nystroem_rates.shared_centers(N, r=zeta, gamma=gamma))
        scored = rates.leverage_size(N, zeta=zeta, gamma=gamma) / max(1.0, gamma * LOG)
        assert scored == pytest.approx(
            nystroem_rates.shared_centers(N, r=zeta, gamma=gamma, sampling="leverage")
        )


@pytest.mark.parametrize(("zeta", "gamma"), WELL)
def test_the_stopping_rule_is_equation_26(zeta, gamma):
    rule = StopAtDiscrepancy(zeta=zeta, gamma=gamma)
    assert rule.threshold(N) == pytest.approx(rates.discrepancy(N, zeta=zeta, gamma=gamma))


def test_confidence_and_constant_scale_the_threshold():
    given = {"zeta": 0.5, "gamma": 0.5}
    plain = rates.discrepancy(N, **given)
    sure = rates.discrepancy(N, **given, constant=2.0, confidence=0.95)
    assert sure == pytest.approx(plain * 2 * math.log(40) ** 1.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rates.krylov_error(N, zeta=-1, gamma=0.5), "r must be a finite number at least 0"),
        (lambda: rates.krylov_error(N, zeta=0.2, gamma=1, norm=0.3), r"norm must be in .*0, 0.2\]"),
        (lambda: rates.krylov_error(N, zeta=1, gamma=1, norm=0.6), r"norm must be in .*0, 0.5\]"),
        (lambda: rates.discrepancy(N, zeta=1, gamma=1, confidence=1.0), "confidence must be below"),
        (lambda: rates.discrepancy(N, zeta=1, gamma=1, constant=0), "constant must be a finite"),
        (lambda: rates.sketch_size(N, zeta=1, gamma=1.1), r"gamma must be in \[0, 1\]"),
    ],
)
def test_what_is_not_covered_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

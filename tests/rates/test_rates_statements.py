"""The table of systems: complete, in agreement with itself, and plain about what is not covered."""

import math

import pytest

from mercer.rates import SYSTEMS, Exponents, tabulate
from mercer.rates.exponents import optimal_risk
from mercer.recipes import RECIPES

N = 10.0**6
GRID = [
    Exponents(r, gamma, alpha)
    for r in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 3.0)
    for gamma in (0.0, 0.2, 0.5, 0.9, 1.0)
    for alpha in sorted({gamma, (1 + gamma) / 2, 1.0})
]
#: The exponents of partitions and of size, times 2r + gamma, for targets in the kernel's space.
EXPECTED = {
    "DKRR": (lambda e: 2 * e.r - 1, None),
    "DC-NY": (lambda e: 2 * e.r - 1, lambda e: 1.0),
    "DC-Sketch": (lambda e: 2 * e.r - 1, lambda e: e.gamma),
    "DC-RF": (lambda e: 2 * e.r - 1, lambda e: (2 * e.r - 1) * e.gamma + 1),
    "DKRR-RF": (lambda e: e.complexity - 1, lambda e: (2 * e.r - 1) * e.gamma + 1),
    "DKRR-RF, data-dependent": (
        lambda e: e.complexity - 1,
        lambda e: (2 * e.r - 1) * (1 + e.gamma - e.alpha) + e.alpha,
    ),
    "DKRR-RF, semi-supervised": (
        lambda e: 2 * e.r + 2 * e.gamma - 1,
        lambda e: (2 * e.r - 1) * (1 + e.gamma - e.alpha) + e.alpha,
    ),
    "DNystroem": (lambda e: e.complexity - e.alpha, lambda e: e.alpha),
    "DNystroem, leverage": (lambda e: e.complexity - e.alpha, lambda e: e.gamma),
    "DNystroem, in probability": (lambda e: (e.complexity - e.alpha) / 2, lambda e: e.alpha),
    "DNystroem, leverage, in probability": (
        lambda e: (e.complexity - e.alpha) / 2,
        lambda e: e.gamma,
    ),
    "sketched KCGM": (None, lambda e: e.gamma),
}


def order(value):
    """Return the exponent of n."""
    return math.log(value) / math.log(N)


@pytest.mark.parametrize("name", EXPECTED)
def test_exponents_in_the_space_of_the_kernel(name):
    partitions, size = EXPECTED[name]
    covered = 0
    for e in GRID:
        found = SYSTEMS[name].at(N, e)
        if found.not_covered or not 0.5 <= e.r <= 1:
            continue
        covered += 1
        for value, expected in ((found.partitions, partitions), (found.size, size)):
            assert (value is None) == (expected is None)
            if expected is not None:
                assert order(value) == pytest.approx(expected(e) / e.complexity, abs=1e-12)
    assert covered > 10


@pytest.mark.parametrize("statement", SYSTEMS.values(), ids=lambda one: one.name)
def test_every_statement_gives_numbers_or_says_why_not(statement):
    covered = 0
    for e in GRID:
        found = statement.at(N, e)
        numbers = (found.penalty, found.error)
        if found.not_covered:
            assert numbers == (None, None)
            assert "not covered" in str(found)
            assert "must be in" in found.not_covered or "does not hold" in found.not_covered
            continue
        covered += 1
        # Finitely many functions and no noise: nothing is left to learn.
        done = e.gamma == 0 and statement.name == "CRED-GD, without noise"
        assert all(value == 0 if done else value > 0 for value in numbers)
        assert (found.size is None) == (statement.size is None)
        assert (statement.functions == "") == (statement.size is None)
        assert found.partitions is None or 1 - 1e-9 <= found.partitions <= N * (1 + 1e-9)
        assert found.rows is None or found.rows >= 1
    assert covered > 10
    assert statement.statement
    assert str(statement.conditions).startswith("r in ")


@pytest.mark.parametrize(
    "name", [name for name in SYSTEMS if not name.startswith(("DRank", "CRED", "RF-CRED"))]
)
def test_the_systems_for_regression_keep_the_optimal_rate(name):
    for e in GRID:
        found = SYSTEMS[name].at(N, e)
        if not found.not_covered and e.r <= 1 and e.complexity > 1:
            assert found.error == pytest.approx(optimal_risk(N, r=e.r, gamma=e.gamma))


def test_who_covers_targets_outside_the_space_of_the_kernel():
    def covers(name, **exponents):
        return not SYSTEMS[name].at(N, Exponents(**exponents)).not_covered

    outside = {"r": 0.25, "gamma": 0.75}
    for name in ("DKRR", "DC-NY", "DC-Sketch", "DC-RF"):
        assert not covers(name, **outside)
    for name in ("DNystroem", "DKRR-RF", "DKRR-RF, semi-supervised"):
        assert covers(name, **outside)
    harder = {"r": 0.25, "gamma": 0.25}
    assert not covers("DKRR-RF", **harder)
    assert covers("DKRR-RF, semi-supervised", **harder)
    assert covers("DNystroem", **harder, alpha=0.25)
    assert covers("CRED-GD", **harder)


def test_fewer_assumptions_never_allow_more():
    for e in GRID:
        mean, sure = (SYSTEMS[f"DNystroem{end}"].at(N, e) for end in ("", ", in probability"))
        assert bool(mean.not_covered) == bool(sure.not_covered)
        if not mean.not_covered:
            assert sure.partitions <= mean.partitions
            assert sure.size == mean.size


def test_rankings_count_smoothness_from_the_kernels_space():
    at_half = SYSTEMS["DRank-RF"].at(N, Exponents.of_ranking(0.5))
    assert at_half.error == pytest.approx(N ** (-0.5 / 1.5))
    assert SYSTEMS["DRank-RF"].at(N, Exponents(0.5, 1.0)).not_covered


def test_names_are_those_of_recipes_where_there_is_one():
    ours = {name.split(",")[0].lower() for name in SYSTEMS}
    recipes = {name.lower() for name in RECIPES}
    assert {"krr", "dkrr", "dc-ny", "dnystroem", "dkrr-rf", "kcgm", "drank-rf-c"} <= ours & recipes


def test_the_table_has_a_line_for_every_system():
    lines = tabulate(N, Exponents(0.25, 0.25)).splitlines()
    assert len(lines) == len(SYSTEMS)
    assert sum("not covered" in line for line in lines) > 5

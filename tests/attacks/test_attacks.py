"""A few attacks of every kind with fixed seeds; ``make fuzz`` runs them for as long as asked."""

import numpy as np
import pytest
from tests.attacks.harness import Counts, WrongError, attempt, refused_or, run_for, table
from tests.attacks.kinds import ATTACKS

#: Attacks of each kind in the suite.
CASES = 15


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_goes_wrong(name):
    counts = Counts()
    for number in range(CASES):
        attempt(ATTACKS[name], [1, list(ATTACKS).index(name), number], counts)
    assert counts.tried == CASES == counts.right + counts.refused, "\n".join(counts.found)


def test_the_harness_counts_what_goes_wrong():
    def wrong(rng, folder):
        raise WrongError("as planned")

    def hangs(rng, folder):
        while True:
            pass

    def raw(rng, folder):
        return refused_or(lambda: np.zeros(3).missing_attribute)

    def vague(rng, folder):
        def raises():
            raise ValueError("no")

        return refused_or(raises)

    counts = Counts()
    for attack in (wrong, raw, vague):
        attempt(attack, [0], counts)
    assert (counts.tried, counts.wrong) == (3, 3)
    attempt(hangs, [0], counts, limit=0.2)
    assert counts.hung == 1
    found = run_for({"right": lambda rng, folder: "right", "wrong": wrong}, 0.05)
    text = table(found)
    assert f"| right | {found['right'].tried:,} | {found['right'].right:,} | 0 | 0 | 0 |" in text
    assert "wrong [0, 1, 0]: WrongError" in text

"""A few attacks of every kind with fixed seeds; ``make fuzz`` runs them for as long as asked."""

import json

import numpy as np
import pytest
from tests.attacks.harness import Counts, WrongError, attempt, refused_or, run_for, seed_of, table
from tests.attacks.kinds import ATTACKS
from tests.attacks.outcomes import STRATEGIES, fitted, predicted_elsewhere

#: Attacks of each kind in the suite.
CASES = 15


#: Tables of each kind that are compared with a baseline.
TABLES = 5
#: Tables that were fitted wrongly: each split of a search had an alpha of its own, which overfits,
#: or its small fits had no landmark in some levels.
ONCE_WRONG = [
    ("categories", 21, 7),
    ("categories", 24, 4),
    ("new levels", 21, 4),
    ("rare levels", 21, 9),
    ("more columns than rows", 21, 12),
    ("more columns than rows", 21, 13),
]


@pytest.mark.parametrize("name", [name for name in ATTACKS if not name.startswith("outcome")])
def test_nothing_goes_wrong(name):
    counts = Counts()
    for number in range(CASES):
        attempt(ATTACKS[name], [1, list(ATTACKS).index(name), number], counts)
    assert counts.tried == CASES == counts.right + counts.refused, "\n".join(counts.found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STRATEGIES)
def test_defaults_are_as_good_as_the_simplest_model(name, tmp_path):
    folders = [tmp_path / str(number) for number in range(TABLES)]
    cases = []
    for number, folder in enumerate(folders):
        folder.mkdir()
        rng = np.random.default_rng([2, list(STRATEGIES).index(name), number])
        cases.append(fitted(name, rng, folder))
    predicted_elsewhere(folders)
    lags = np.array([case.lag() for case in cases])
    # Alpha is chosen by rows left out one by one, of which copies tell: the fit says so.
    assert all(case.warned for case in cases) == (name == "copies")
    if name == "copies":
        return
    # Rows are few, and which candidate of a search is best on them is partly luck.
    assert np.sum(lags > 1) <= 1, lags.round(2)
    assert lags.max() <= 3, lags.round(2)


@pytest.mark.filterwarnings("ignore")
def test_tables_that_were_once_wrong_are_right(tmp_path):
    folders = [tmp_path / str(number) for number in range(len(ONCE_WRONG))]
    cases = []
    for folder, (name, seed, number) in zip(folders, ONCE_WRONG, strict=True):
        folder.mkdir()
        rng = np.random.default_rng(seed_of(seed, f"outcome: {name}", number))
        cases.append(fitted(name, rng, folder))
    predicted_elsewhere(folders)
    assert [case.check() for case in cases] == ["right"] * len(cases)


def test_the_log_says_how_to_repeat_an_attack(tmp_path):
    drawn = []

    def draws(rng, folder):
        drawn.append(rng.random())
        return "right"

    attacks = {"one": draws, "other": draws}
    run_for(attacks, 60, seed=3, numbers=range(2), log=tmp_path / "log")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["attack"], line["number"], line["outcome"]) for line in lines] == [
        (name, number, "right") for number in range(2) for name in attacks
    ]
    last = lines[-1]
    run_for({"other": draws}, 60, last["seed"], range(last["number"], last["number"] + 1))
    assert drawn[-1] == drawn[-2]


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
    assert f"wrong {seed_of(0, 'wrong', 0)}: WrongError" in text

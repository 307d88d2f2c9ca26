"""Engines run tasks and add as a tree; combinations and recipes that need no cluster."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRanker, recipe
from mercer.engines import Communication, ThreadEngine, as_engine, available_cores, tree_sum
from mercer.engines.journal import Journal
from mercer.recipes import RECIPES
from pairs import over_each
from shard_cases import X, Y


def pair(left, right):
    return f"({left}{right})"


def by_levels(parts):
    """The tree as it is drawn: neighbors, then neighbors of those."""
    while len(parts) > 1:
        parts = [
            pair(*parts[i : i + 2]) if len(parts[i : i + 2]) == 2 else parts[i]
            for i in range(0, len(parts), 2)
        ]
    return parts[0]


@given(st.integers(1, 200))
def test_the_tree_has_one_shape(count):
    parts = [chr(97 + i % 26) for i in range(count)]
    assert tree_sum(parts, pair) == by_levels(parts)
    engine = ThreadEngine(workers=3)
    assert engine.reduce(str, pair, parts) == by_levels(parts)


def test_the_journal_keeps_the_shape(tmp_path):
    parts = [chr(97 + i % 26) for i in range(77)]
    journal = Journal(ThreadEngine(), tmp_path, 1, "me")
    assert journal.reduce(str, pair, parts) == by_levels(parts)
    again = Journal(ThreadEngine(), tmp_path, 2, "me")
    assert again.seed == 1
    assert again.reduce(fail, pair, parts) == by_levels(parts)  # nothing runs


def fail(item):
    raise AssertionError("this should not run")


fail.__name__ = "str"  # what the journal knows it by


def test_nothing_is_summed_of_nothing():
    with pytest.raises(ValueError, match="at least one part"):
        tree_sum([], pair)


def test_results_keep_their_order_and_tasks_one_core():
    def task(item):
        time.sleep(0.01 * (5 - item))
        return item, available_cores(), threading.current_thread().name

    found = ThreadEngine(workers=3).map(task, range(5))
    assert [item for item, *_ in found] == list(range(5))
    assert {cores for _, cores, _ in found} == {1}
    assert available_cores() >= 1


def test_the_first_error_ends_a_map():
    begun = []

    def task(item):
        begun.append(item)
        if item == 1:
            raise KeyError("one")

    with pytest.raises(KeyError, match="one"):
        ThreadEngine(workers=2).map(task, range(100))
    assert len(begun) < 20


def test_progress_is_told_in_order():
    told = []
    engine = ThreadEngine(workers=2)
    engine.progress = lambda *what: told.append(what)
    engine.map(abs, [1, 2, 3], label="moments")
    assert told == [("moments", 1, 3), ("moments", 2, 3), ("moments", 3, 3)]


@pytest.mark.parametrize("engine", ["somewhere", 3, object()])
def test_what_is_no_engine_is_refused(engine):
    with pytest.raises((TypeError, ValueError), match="engine must be None"):
        as_engine(engine)


def test_communication_adds_up():
    told = Communication(shards=4)
    for _ in range(8):
        told.record("solve", 10, 10)
    told.record("moments", 0, 100)
    assert (told.numbers, told.bytes) == (260, 8320)
    assert "solve" in str(told)


RANKINGS = [name for name, found in RECIPES.items() if found.estimator is KernelRanker]


@over_each(name=RANKINGS, qid=[None, np.arange(len(X)) % 20])
def test_every_recipe_of_a_ranking_fits(name, qid):
    found = RECIPES[name]
    settings = {"kernel": "gaussian", "random_state": 0, "alpha": 1e-3}
    if name == "MPRank":
        settings.pop("alpha")
    if found.combine is not None:
        settings["shards"] = 4
    if "RF" in name:
        settings["n_components"] = 50
    model = recipe(name, **settings).fit(X, Y[:, 0], qid)
    assert isinstance(model, KernelRanker)
    assert model.score(X, Y[:, 0]) > 0.85

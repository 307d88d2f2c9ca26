"""Engines run tasks and add as a tree; combinations and recipes that need no cluster."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelClassifier, KernelRanker, KernelRegressor, Ridge, recipe
from mercer.engines import Communication, ThreadEngine, as_engine, available_cores, tree_sum
from mercer.engines.journal import Journal
from mercer.recipes import RECIPES
from mercer.solvers import PreconditionedCG
from pairs import over_each
from shard_cases import CLASSES, X, Y


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


OF_THEIR_OWN = [name for name, found in RECIPES.items() if found.estimator is not None]
RANKINGS = [name for name, found in RECIPES.items() if found.estimator is KernelRanker]


@pytest.mark.parametrize("name", OF_THEIR_OWN)
def test_recipes_with_an_estimator_of_their_own_take_no_task(name):
    with pytest.raises(ValueError, match="omit task="):
        recipe(name, "classification", kernel="gaussian")


@over_each(
    name=[name for name in RECIPES if name not in RANKINGS],
    task=["regression", "classification"],
    allowed=lambda name, task: task == "regression" or name not in OF_THEIR_OWN,
)
def test_every_recipe_fits(name, task):
    found = RECIPES[name]
    settings = {"kernel": "gaussian", "random_state": 0}
    if found.combine is not None:
        settings["shards"] = 4
    if name not in ("KRR", "DKRR", "KCGM", "CRED", "CRED-GD", "KTR3"):
        settings["n_components"] = 50
    if found.solver in (Ridge, PreconditionedCG):
        settings["alpha"] = 1e-4
    model = recipe(name, None if name in OF_THEIR_OWN else task, **settings)
    by_task = KernelRegressor if task == "regression" else KernelClassifier
    assert isinstance(model, found.estimator or by_task)
    rows, target = X[::2], (Y[:, 0] if task == "regression" else CLASSES)[::2]
    assert model.fit(rows, target).score(rows, target) > 0.7
    if found.combine is not None:
        assert model.communication_.shards == 4


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
    with pytest.raises(ValueError, match="omit task="):
        recipe(name, "regression", **settings)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("DNystrom",), "did you mean 'DNystroem'"),
        (("DNystroem",), "set shards="),
        (("KRR", "ranking"), "task"),
    ],
)
def test_recipes_refuse_what_they_are_not(arguments, said):
    with pytest.raises(ValueError, match=said):
        recipe(*arguments)
    with pytest.raises(ValueError, match="omit n_components="):
        recipe("KRR", n_components=3)
    with pytest.raises(ValueError, match="shards= is not a parameter of KRR"):
        recipe("KRR", shards=3)
    assert np.isfinite(recipe("KRR", alpha=1.0).alpha)

"""Checks of an engine: results in order, sums as a tree of fixed shape, errors that arrive.

The tasks are functions of this module, so that workers elsewhere can import them.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.contracts import Array, Engine
from mercer.engines import tree_sum
from mercer.testing.assertions import named, require

#: How many items are tried: a power of two, one more, and others.
COUNTS = (1, 2, 3, 5, 8, 13)


def check_engine(engine: Engine) -> None:
    """Check that an engine keeps what :class:`mercer.contracts.Engine` promises.

    Runs every function of ``ENGINE_CHECKS``; the first property that fails raises. It takes a few
    seconds on a cluster.

    Parameters
    ----------
    engine : Engine
        An engine that can run tasks now.

    Raises
    ------
    AssertionError
        It says which property failed, with what was got.

    Examples
    --------
    >>> from mercer.engines import ThreadEngine
    >>> check_engine(ThreadEngine(workers=2))
    """
    for check in ENGINE_CHECKS:
        check(engine)


class TaskError(KeyError):
    """What the failing task raises: not a type that an engine would know."""


def delayed_square(item: int, wait: float, offset: float = 0.0) -> float:
    """Return ``item^2 + offset``; early items take longer, so that they end out of order."""
    time.sleep(wait / (1 + item))
    return item**2 + offset


def as_letter(item: int) -> str:
    """Return a letter for a number: a part whose place in a sum can be read."""
    return chr(ord("a") + item % 26)


def bracket(left: str, right: str) -> str:
    """Add two letters, or sums of letters, so that the tree can be read."""
    return f"({left}{right})"


def irrational(item: int, factor: float) -> float:
    """Return a float whose sums depend on the order of addition."""
    return factor / (item + 1.0) ** 3


def as_vector(item: int) -> Array:
    """Return an array that is left on the engine."""
    return np.arange(3.0) + item


def total_of(vector: Array, offset: float = 0.0) -> float:
    """Return the sum of an array that was left on the engine."""
    return float(vector.sum()) + offset


def doubled(vector: Array) -> Array:
    """Return an array, made of one that was left on the engine."""
    return 2.0 * vector


def inner(item: int, vector: Array) -> float:
    """Return an item times the sum of a shared array."""
    return item * float(np.sum(vector))


def failing(item: int) -> int:
    """Raise at item 2."""
    if item == 2:
        raise TaskError("item 2 is not to be had")
    return item


def placed(engine: Engine, count: int) -> list[Any]:
    """Return 0, 1, 2, ... as the engine has placed them."""
    return engine.place(list(range(count)))


def check_width(engine: Engine) -> None:
    """``width`` is a whole number of tasks, at least one."""
    require(
        isinstance(engine.width, int) and engine.width >= 1,
        f"width of {named(engine)} must be a whole number of at least 1, got {engine.width!r}; "
        f"count workers times their threads",
    )


def check_map_order(engine: Engine) -> None:
    """``map`` returns results in the order of the items, whichever ends first."""
    for count in COUNTS:
        for light in (False, True):
            wait = 0.0 if light else 0.02
            found = engine.map(delayed_square, placed(engine, count), wait, 0.5, light=light)
            wanted = [delayed_square(item, 0.0, 0.5) for item in range(count)]
            require(
                list(found) == wanted,
                f"map of {named(engine)} (light={light}) must return the results of {count} items "
                f"in their order, {wanted}, got {list(found)}; sort results by item, not by when "
                f"they end, and hand every task what is common",
            )


def check_reduce_tree(engine: Engine) -> None:
    """``reduce`` adds as :func:`mercer.engines.tree_sum` does, to the last bit."""
    for count in COUNTS:
        items = placed(engine, count)
        wanted = tree_sum(map(as_letter, range(count)), bracket)
        found = engine.reduce(as_letter, bracket, items)
        require(
            found == wanted,
            f"reduce of {named(engine)} must add {count} parts as the tree {wanted}, got {found}; "
            f"use mercer.engines.tree_sum, whose shape depends on the number of parts only",
        )
        total = engine.reduce(irrational, operator.add, items, 0.1)
        exact = tree_sum((irrational(item, 0.1) for item in range(count)), operator.add)
        require(
            total == exact,
            f"reduce of {named(engine)} must give the same bits as tree_sum, {exact!r} for {count} "
            f"parts, got {total!r}; add neighbors, then neighboring sums",
        )


def check_hold(engine: Engine) -> None:
    """What ``hold`` leaves behind can be the items of ``map``, ``reduce`` and ``hold``."""
    held = engine.hold(as_vector, placed(engine, 5))
    require(
        len(held) == 5,
        f"hold of {named(engine)} must return one reference an item, 5, got {len(held)}; keep "
        f"their order",
    )
    for what, items, factor in (
        ("hold", held, 1.0),
        ("hold of what hold has left", engine.hold(doubled, held), 2.0),
        ("hold, asked again", held, 1.0),
    ):
        wanted = [factor * (3.0 + 3.0 * item) + 0.5 for item in range(5)]
        found = engine.map(total_of, items, 0.5)
        require(
            list(found) == wanted,
            f"map over results of {what} of {named(engine)} must be {wanted}, got {list(found)}; "
            f"keep each result until nothing refers to it, and pass it to tasks by value",
        )
    total = engine.reduce(total_of, operator.add, held)
    require(
        total == 45.0,
        f"reduce over results of hold of {named(engine)} must be 45.0, got {total!r}; items of "
        f"reduce may be what hold has left",
    )


def check_share(engine: Engine) -> None:
    """A shared value arrives in every task as what it was."""
    value = 1.0 / np.arange(1.0, 1000.0)
    shared = engine.share(value)
    found = engine.map(inner, placed(engine, 4), shared)
    wanted = [inner(item, value) for item in range(4)]
    require(
        list(found) == wanted,
        f"tasks of {named(engine)} must get a shared value as it is, with results {wanted}, got "
        f"{list(found)}; share() may return a reference if tasks get the value",
    )


def check_errors(engine: Engine) -> None:
    """An error in a task reaches the caller with its type and message; the engine goes on."""
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("map", lambda: engine.map(failing, placed(engine, 4))),
        ("reduce", lambda: engine.reduce(failing, operator.add, placed(engine, 4))),
    ]
    for what, call in calls:
        caught: BaseException | None = None
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever arrives is looked at below
            caught = error
        require(
            isinstance(caught, TaskError) and "item 2" in str(caught),
            f"{what} of {named(engine)} must raise what a task has raised, TaskError('item 2 is "
            f"not to be had'), got {caught!r}; raise it as it is, unless the cluster itself failed",
        )
    found = list(engine.map(as_letter, placed(engine, 3)))
    require(
        found == ["a", "b", "c"],
        f"{named(engine)} must go on after an error, with results ['a', 'b', 'c'], got {found}; "
        f"cancel what is waiting, and keep the engine",
    )


def check_progress(engine: Engine) -> None:
    """``progress`` is called with the label and up to all items of all; not without a label."""
    told: list[tuple[str, int, int]] = []
    before = engine.progress
    engine.progress = lambda label, done, total: told.append((label, done, total))
    try:
        engine.map(as_letter, placed(engine, 3))
        silent = list(told)
        for label, ask in (
            ("looking", lambda: engine.map(as_letter, placed(engine, 5), label="looking")),
            (
                "adding",
                lambda: engine.reduce(as_letter, bracket, placed(engine, 5), label="adding"),
            ),
        ):
            told.clear()
            ask()
            done = [count for name, count, total in told if (name, total) == (label, 5)]
            require(
                len(done) == len(told) > 0 and done == sorted(done) and done[-1] == 5,
                f"progress of {named(engine)} must be called with ({label!r}, done, 5), done "
                f"rising to 5, got {told}; call it as tasks end",
            )
    finally:
        engine.progress = before
    require(
        not silent,
        f"progress of {named(engine)} must not be called for tasks without a label, got {silent}; "
        f"look at label first",
    )


#: All checks of an engine, each called as ``check(engine)``: to parametrize a test with.
ENGINE_CHECKS: list[Callable[..., None]] = [
    check_width,
    check_map_order,
    check_reduce_tree,
    check_hold,
    check_share,
    check_errors,
    check_progress,
]

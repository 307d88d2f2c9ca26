"""All records, and their means over the splits that the methods of a table share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.scaffold.json_lines import read_lines
from experiments.uncertainty import interval_methods, probability_methods
from experiments.uncertainty.parts import INTERVALS, PROBABILITIES, SHIFTED
from experiments.uncertainty.problems import FULL, Size
from experiments.uncertainty.scores import LEVELS
from experiments.uncertainty.trials import Intervals, Probabilities

#: The level that tables of one level show.
SHOWN = LEVELS.index(0.9)
MERCER = "mercer"
Value = Callable[[Any], float]


@dataclass(frozen=True)
class Results:
    """Records of all tables."""

    intervals: list[Intervals]
    shifted: list[Intervals]
    probabilities: list[Probabilities]


def read(folder: Path, size: Size) -> Results | None:
    """Return what is kept; the last record of a key counts."""
    kinds = {INTERVALS: Intervals, SHIFTED: Intervals, PROBABILITIES: Probabilities}
    found = []
    for table, kind in kinds.items():
        records = read_lines(folder / f"{table}.jsonl", kind)
        last = {(*one.key, getattr(one, "where", "")): one for one in records}
        found.append(common([last[key] for key in sorted(last)]))
    return Results(*found) if any(found) else None


def common(records: Sequence[Any]) -> list[Any]:
    """Return the records of splits that every method of their set has: means compare like rows."""
    splits: dict[str, dict[str, set[int]]] = {}
    for one in records:
        splits.setdefault(one.name, {}).setdefault(one.method, set()).add(one.split)
    both = {name: set.intersection(*by.values()) for name, by in splits.items()}
    return [one for one in records if one.split in both[one.name]]


def names(records: Iterable[Any], order: Sequence[str]) -> list[str]:
    """Return the sets that have records, in their order; others after them."""
    known = {one.name for one in records}
    return [*(n for n in order if n in known), *sorted(known - set(order))]


def methods(records: Iterable[Any]) -> dict[str, str]:
    """Return the methods that have records, with what readers are told."""
    every = {k: m.told for k, m in interval_methods.methods(FULL.gp_rows).items()}
    every |= {k: m.told for k, m in probability_methods.METHODS.items()}
    known = {one.method for one in records}
    return {method: told for method, told in every.items() if method in known}


def means(records: Sequence[Any], value: Value) -> dict[tuple[str, str], float]:
    """Return the mean over splits by set and method."""
    groups: dict[tuple[str, str], list[float]] = {}
    for one in records:
        groups.setdefault((one.name, one.method), []).append(value(one))
    return {key: float(np.mean(values)) for key, values in groups.items()}


def splits(records: Sequence[Any], name: str) -> str:
    """Return how many splits of a set there are."""
    return str(len({one.split for one in records if one.name == name}))


def relative(found: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Divide by the best of each set.

    >>> relative({("a", "x"): 2.0, ("a", "y"): 1.0})
    {('a', 'x'): 2.0, ('a', 'y'): 1.0}
    """
    best: dict[str, float] = {}
    for (name, _), value in found.items():
        best[name] = min(best.get(name, np.inf), value)
    return {key: value / best[key[0]] for key, value in found.items()}


def ranks(found: dict[tuple[str, str], float]) -> dict[tuple[str, str], int]:
    """Return places in each set, 1 for the smallest.

    >>> ranks({("a", "x"): 2.0, ("a", "y"): 1.0, ("b", "x"): 0.0})
    {('a', 'x'): 2, ('a', 'y'): 1, ('b', 'x'): 1}
    """
    return {
        (name, method): 1
        + sum(other < value for (which, _), other in found.items() if which == name)
        for (name, method), value in found.items()
    }


def score_at(level: int) -> Value:
    """Return the interval score of a level."""
    return lambda one: float(one.score[level])


def mean_score(one: Intervals) -> float:
    """Return the mean of the interval scores of all levels."""
    return float(np.mean(one.score))

"""The five parts of MQ2008, and the official folds made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from experiments.scaffold import Array
from experiments.scaffold.data import load as load_set

NAME = "letor_mq2008"
PARTS = 5


@dataclass(frozen=True)
class Judged:
    """Documents with their grades; those of a query follow each other."""

    X: Array
    y: Array
    qid: Array

    @property
    def sizes(self) -> Array:
        """How many documents each query has, in the order of the rows."""
        return np.diff(np.r_[0, np.flatnonzero(np.diff(self.qid)) + 1, len(self.qid)])


@dataclass(frozen=True)
class Fold:
    """Rows to fit to, rows to choose settings on, and rows to test on."""

    number: int
    train: Judged
    valid: Judged
    test: Judged


def parts_of(number: int) -> tuple[list[int], int, int]:
    """Return the parts that a fold trains on, and those it validates and tests on.

    >>> parts_of(1), parts_of(4)
    (([1, 2, 3], 4, 5), ([4, 5, 1], 2, 3))
    """
    first, second, third, fourth, fifth = ((number - 1 + i) % PARTS + 1 for i in range(PARTS))
    return [first, second, third], fourth, fifth


def load() -> list[Judged]:
    """Return the five parts, rows in the order of their queries."""
    data = load_set(NAME)
    parts = []
    for part in range(1, PARTS + 1):
        at = np.flatnonzero(data.fold_part == part)
        at = at[np.argsort(data.qid[at], kind="stable")]
        parts.append(Judged(data.X[at].astype(float), data.y[at].astype(int), data.qid[at]))
    return parts


def shortened(part: Judged, queries: int | None) -> Judged:
    """Return the first queries of a part, or all of it."""
    end = int(np.sum(part.sizes[:queries]))
    return Judged(part.X[:end], part.y[:end], part.qid[:end])


def fold(parts: list[Judged], number: int) -> Fold:
    """Return an official fold, 1 to 5."""
    train, valid, test = parts_of(number)
    return Fold(number, stacked(parts[i - 1] for i in train), parts[valid - 1], parts[test - 1])


def stacked(parts: Iterable[Judged]) -> Judged:
    """Return several parts as one, in the order of queries: XGBoost takes no other."""
    several = list(parts)
    order = np.argsort(np.concatenate([part.qid for part in several]), kind="stable")
    columns = ([getattr(part, name) for part in several] for name in ("X", "y", "qid"))
    return Judged(*(np.concatenate(column)[order] for column in columns))

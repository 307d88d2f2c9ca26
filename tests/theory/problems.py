"""Problems whose capacity, noise and rate are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.request import Request, Seeds
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import cut
from mercer.targets.class_targets import ClassTargets
from mercer.targets.number_targets import Numbers


def rows_of(X: Any, y: Any, weight: Any = None) -> RowSet:
    return RowSet.in_one_place(ArraySource(X, y, weight))


def sharded(X: Any, y: Any, shards: int) -> RowSet:
    from mercer.engines import ThreadEngine

    parts = cut(ArraySource(X, y), shards, np.random.default_rng(1))
    return RowSet.over_shards(ThreadEngine(), parts, lambda source: None)


def request_for(y: Any, kernel: Any, *, classes: bool = False, intercept: bool = True) -> Request:
    numbers = Numbers("", intercept).of_source(ArraySource(np.zeros((len(y), 1)), y))
    targets = ClassTargets(np.unique(y)) if classes else numbers
    return Request(targets, kernel=kernel, intercept=intercept, seeds=Seeds.of(0))

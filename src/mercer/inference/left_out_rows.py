"""Rows that are predicted by models that have not seen them.

.. math:: \\hat y_i = f_{-k(i)}(x_i)

with k(i) the fold of row i and :math:`f_{-k}` the model without that fold. These predictions are
honest: they are as good as those of new rows. Intervals and calibration are learned from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.storage.state import Count, Numbers, State


@dataclass(frozen=True)
class LeftOutRows:
    """Left-out predictions of a sample of labelled rows, for encoded targets."""

    state = State(
        weight=Numbers("n", label="weights of left-out rows"),
        values=Numbers("n k", label="values of left-out rows"),
        fitted=Numbers("n k", label="fitted of left-out rows"),
        targets=Numbers("n k", label="targets of left-out rows"),
        count=Count(label="count of left-out rows", optional=True),
        fold=Numbers("n", kind="iuf", label="folds of left-out rows"),
        query=Numbers("n", kind="iuf", label="queries of left-out rows", optional=True),
    )
    values: Array  # (n, k) f_{-k(i)}(x_i)
    fitted: Array  # (n, k) f(x_i) of the model itself
    targets: Array  # (n, k)
    weight: Array  # (n,)
    fold: Array  # (n,) the place of the left-out model among all of them
    query: Array | None = None  # (n,) codes of queries, for rankings
    count: int | None = None  # the number of rows that these stand for, if they stayed in shards

    @classmethod
    def joined(cls, parts: Sequence[LeftOutRows]) -> LeftOutRows:
        """Return the rows of several shards."""
        columns: dict[str, Any] = {}
        for field in fields(cls)[:-1]:
            values = [getattr(part, field.name) for part in parts]
            columns[field.name] = None if values[0] is None else np.concatenate(values)
        return cls(**columns)

    @property
    def errors(self) -> Array:
        """The errors ``y_i - f_{-k(i)}(x_i)``, of shape (n, k)."""
        return np.asarray(self.targets - self.values)

    @property
    def number(self) -> int:
        """How many rows were left out."""
        return len(self.weight) if self.count is None else self.count

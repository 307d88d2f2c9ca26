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
from mercer.validation import check_array, check_count


@dataclass(frozen=True)
class LeftOutRows:
    """Left-out predictions of a sample of labelled rows, for encoded targets."""

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

    def check_state(self, outputs: int) -> None:
        """Raise ValueError if the arrays, read from a file, do not fit together."""
        rows = len(self.weight)
        for name in ("values", "fitted", "targets"):
            check_array(getattr(self, name), f"{name} of left-out rows", (rows, outputs))
        check_array(self.weight, "weights of left-out rows", (rows,))
        if self.count is not None:
            check_count(self.count, "count of left-out rows")
        check_array(self.fold.astype(float), "folds of left-out rows", (rows,))

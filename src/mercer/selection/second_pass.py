"""A second pass over the rows, to leave some of them out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array, Reading, Targets
from mercer.rows.rowset import RowSet
from mercer.selection.leave_landmark_out import leave_landmark_out
from mercer.selection.leave_one_out import leave_one_out
from mercer.selection.leave_query_out import leave_query_out, some_queries_out
from mercer.systems import LeftOut, MomentSystem


@dataclass(frozen=True)
class SecondPass:
    """A second pass over the rows: ``(system, alphas, sample, rng)`` -> one error per alpha."""

    rows: RowSet
    targets: Targets
    reading: Reading

    def __call__(
        self, system: MomentSystem, alphas: Array, sample: int | None, rng: np.random.Generator
    ) -> Array:
        """Return the mean squared error of left-out rows or queries."""
        leave_out = leave_one_out if self.targets.pairs is None else leave_query_out
        return leave_out(self.rows, self.targets, self.reading, system, alphas, sample, rng)

    def with_landmarks(self, system: MomentSystem, alphas: Array, sample: int) -> LeftOut:
        """Return the errors of about ``sample`` rows, left out with the landmarks at them."""
        leave_out = leave_landmark_out if self.targets.pairs is None else some_queries_out
        return leave_out(self.rows, self.targets, self.reading, system, alphas, sample)

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

#: From this many left-out rows a function, eigenvectors repay their cost.
REPAID = 2


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

    def needs_vectors(self, sample: int | None, size: int) -> bool:
        """Whether leaving out rows needs eigenvectors of ``size`` functions, or repays them.

        Eigenvectors make the leverages of a row for all alphas one product. A band form makes them
        a few, and is computed in a third of the time.
        """
        rows = self.rows.n_rows if sample is None else min(sample, self.rows.n_rows)
        return self.targets.pairs is not None or rows > REPAID * size

    def with_landmarks(self, system: MomentSystem, alphas: Array, sample: int) -> LeftOut:
        """Return the errors of about ``sample`` rows, left out with the landmarks at them."""
        leave_out = leave_landmark_out if self.targets.pairs is None else some_queries_out
        return leave_out(self.rows, self.targets, self.reading, system, alphas, sample)

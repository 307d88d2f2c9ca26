"""The record of a search for kernel, bandwidth, scaling and metric."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from mercer.contracts import Array
from mercer.storage.state import Count, Each, Numbers, OneOf, Part, State


@dataclass(frozen=True)
class Tried:
    """One candidate and its error on held-out rows, relative to predicting the mean."""

    stage: str
    kernel: str
    factor: float  # of the median distance
    scale: str
    metric: str
    round: int
    error: float
    seconds: float


@dataclass(frozen=True)
class SearchRecord:
    """What a search chose, and everything it tried.

    Attributes
    ----------
    scale : str
        "none", "standard" or "quantile".
    form : str
        "none", "diagonal", "full", or "given".
    importances : array of shape (d,) or None
        The diagonal of G in the scaled columns, adding to 1.
    rows, rounds : int
        Rows of the small fits, and rounds in which the metric was learned.
    constant : array of int
        Columns that are constant, and left out.
    tried : tuple of Tried
        All candidates, in order.
    seconds : float
        The time it took.
    """

    state = State(
        scale=OneOf(["none", "standard", "quantile"]),
        form=OneOf(["none", "diagonal", "full", "given"]),
        importances=Numbers("d", optional=True),
        constant=Numbers("constant", kind="iu", optional=True),
        rows=Count(0),
        rounds=Count(0),
        tried=Each(Part(Tried), must="tried must hold candidates of a search"),
    )
    scale: str
    form: str
    importances: Array | None = None
    rows: int = 0
    rounds: int = 0
    constant: Array | None = None
    tried: tuple[Tried, ...] = ()
    seconds: float = 0.0

    def table(self) -> dict[str, Array] | None:
        """Return all that was tried as columns; None if there was no search."""
        if not self.tried:
            return None
        return {
            f.name: np.array([getattr(row, f.name) for row in self.tried]) for f in fields(Tried)
        }

    def describe(self) -> str:
        """Return the metric as text, for the summary."""
        if not self.tried:
            return self.form
        # The last choice between kernels has more functions, so its errors do not compare; and a
        # linear kernel at a tie is chosen over a better error in another metric.
        alike = [row for row in self.tried if row.stage != "final"]
        first = alike[0].error
        best = min(row.error for row in alike if self.form in (row.metric, "given"))
        learned = ""
        if self.rounds:
            learned = f", learned in {self.rounds} round{'s' if self.rounds > 1 else ''}"
        return (
            f"{self.form}{learned} from {self.rows:,} rows; held-out error {first:.3g} -> "
            f"{best:.3g} of the spread of y"
        )

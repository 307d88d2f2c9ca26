"""The record of a search for kernel, bandwidth, scaling and metric."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from mercer.contracts import Array
from mercer.validation import check_array, check_choice, check_count


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
        # The last choice between kernels has more functions, so its errors do not compare.
        alike = [row.error for row in self.tried if row.stage != "final"]
        first, best = alike[0], min(alike)
        learned = ""
        if self.rounds:
            learned = f", learned in {self.rounds} round{'s' if self.rounds > 1 else ''}"
        return (
            f"{self.form}{learned} from {self.rows:,} rows; held-out error {first:.3g} -> "
            f"{best:.3g} of the spread of y"
        )

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if a record read from a file is inconsistent."""
        check_choice(self.scale, "scale", ["none", "standard", "quantile"])
        check_choice(self.form, "form", ["none", "diagonal", "full", "given"])
        if self.importances is not None:
            check_array(self.importances, "importances", (n_features,))
        if self.constant is not None:
            check_array(self.constant, "constant", (None,), "iu")
        check_count(self.rows, "rows", minimum=0)
        check_count(self.rounds, "rounds", minimum=0)
        if not all(isinstance(row, Tried) for row in self.tried):
            raise ValueError("tried must hold candidates of a search")

"""How rows are left out after a fit, and where that is refused."""

from __future__ import annotations

from dataclasses import dataclass

#: The most rows that are left out one at a time.
MOST = 4000


@dataclass(frozen=True)
class LeaveOut:
    """How rows are left out after a fit, to be predicted by models without them.

    ``folds`` is the number of models. About half of the rows are left out, but at least ``few`` and
    at most ``sample``. ``scale`` is whether intervals are wanted, which need the local scale of
    errors. With ``one_row`` every row is left out by itself. ``tolerance`` is how well the change
    of a model has to be known where it is found in steps.

    >>> LeaveOut().dealing(1000), LeaveOut().dealing(8000), LeaveOut().dealing(1_000_000)
    ((10, None), (9, 0.5), (9, 0.02))
    """

    folds: int = 8
    sample: int = 20_000
    few: int = 4000
    scale: bool = False
    one_row: bool = False
    tolerance: float = 0.01

    @classmethod
    def for_scores(cls) -> LeaveOut:
        """Return how a map of scores leaves rows out: it has few parameters, so few are enough.

        >>> LeaveOut.for_scores().dealing(1000), LeaveOut.for_scores().dealing(10_000)
        ((10, None), (3, 0.2))
        """
        return cls(folds=2, sample=5000, few=2000)

    def dealing(self, n_rows: int) -> tuple[int, float | None]:
        """Return the number of folds, and the share of rows outside the first if that one stays."""
        if self.one_row:
            return 1, None
        if n_rows <= self.few:
            return max(1, min(10, n_rows)), None
        # The fewer rows a model leaves out, the more it is like that of all rows.
        share = 0.5 if self.folds > 2 else 0.2
        return self.folds + 1, min(self.sample, max(self.few, int(share * n_rows))) / n_rows


def check_one_row(n_rows: int, one_place: bool, form: str, exact: bool) -> None:
    """Raise ValueError if rows cannot be left out one at a time."""
    if not one_place:
        raise ValueError(
            "intervals='jackknife+' needs the errors of single rows, which stay in their shards: "
            "use intervals='cv+'"
        )
    if n_rows > MOST:
        raise ValueError(
            f"intervals='jackknife+' keeps a model for each row, for at most {MOST} rows, got "
            f"{n_rows}: use intervals='cv+'"
        )
    if form not in ("moments", "kernel matrix") or not exact:
        raise ValueError(
            "intervals='jackknife+' needs a direct solve, of moments or of the kernel matrix: use "
            "solver='ridge', or intervals='cv+'"
        )

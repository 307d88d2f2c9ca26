"""What a part of the experiment has measured, and its file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Measured:
    """One method in one setting on EEG eye state: means and standard deviations over splits."""

    method: str
    components: int  # M
    shards: int  # m, 1 for all rows in one place
    unlabeled: int  # rows without labels
    alpha: float
    trials: int
    accuracy: float
    accuracy_sd: float
    choosing: float  # seconds of CPU for drawing features and choosing among candidates
    choosing_sd: float
    fitting: float  # seconds of CPU for the fit, all shards
    fitting_sd: float


@dataclass(frozen=True)
class Excess:
    """Both methods on the made-up regression: excess risk, means over trials."""

    alpha: float  # 0: for each method the alpha with the lowest mean
    shards: int
    noise: float  # standard deviation
    trials: int
    supervised: float
    semi: float
    difference_se: float  # standard error of the mean difference, the same rows in both
    supervised_alpha: float
    semi_alpha: float

    @property
    def clear(self) -> int:
        """Return -1 where the difference lowers the risk by two standard errors, 1 where it raises.

        0 where it does neither.
        """
        difference = self.semi - self.supervised
        return int(np.sign(difference)) if abs(difference) > 2 * self.difference_se else 0


@dataclass(frozen=True)
class Trial:
    """One fit."""

    accuracy: float
    choosing: float
    fitting: float


def measured(
    method: str, setting: tuple[int, int, int, float], trials: Sequence[Trial]
) -> Measured:
    """Summarize trials; ``setting`` is M, m, rows without labels, and alpha."""
    columns = np.array([astuple(trial) for trial in trials]).T
    pairs = [float(part) for column in columns for part in (column.mean(), deviation(column))]
    return Measured(method, *setting, len(trials), *pairs)


def deviation(values: Any) -> float:
    """Return the standard deviation over trials, 0 for one trial."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def as_csv(found: Sequence[Any]) -> str:
    """Return one line a setting."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(found[0])])
    for row in found:
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in astuple(row)])
    return out.getvalue()


def from_csv(path: Path, kind: Any = Measured) -> list[Any]:
    """Read what was written; nothing where there is no file."""
    if not path.is_file():
        return []
    kinds = {"str": str, "int": int, "float": float}
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            kind(**{field.name: kinds[str(field.type)](row[field.name]) for field in fields(kind)})
            for row in csv.DictReader(lines)
        ]


def select(found: Sequence[Any], **wanted: Any) -> list[Any]:
    """Return the rows with these values, in the order in which they were run."""
    return [row for row in found if all(getattr(row, k) == v for k, v in wanted.items())]

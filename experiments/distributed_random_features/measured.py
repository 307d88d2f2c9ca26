"""What a part of the experiment has measured, and its file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Measured:
    """One method in one setting: means and standard deviations over trials."""

    group: str  # the problem, or what is varied
    method: str
    rows: int
    components: int  # M, 0 for the exact kernel
    shards: int  # m, 1 for all rows in one place
    alpha: float
    trials: int
    error: float
    error_sd: float
    seconds: float  # of the fit, in this process, all shards
    seconds_sd: float


def measured(
    group: str,
    method: str,
    setting: tuple[int, int, int, float],
    errors: Sequence[float],
    seconds: Sequence[float],
) -> Measured:
    """Summarize trials; ``setting`` is rows, M, m and alpha."""
    values = [part for pair in (errors, seconds) for part in (np.mean(pair), deviation(pair))]
    return Measured(group, method, *setting, len(errors), *(float(value) for value in values))


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation over trials, 0 for one trial."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def as_csv(found: Sequence[Measured]) -> str:
    """Return one line a setting."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Measured)])
    for row in found:
        values = astuple(row)
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values])
    return out.getvalue()


def from_csv(path: Path) -> list[Measured]:
    """Read what was written; nothing where there is no file."""
    if not path.is_file():
        return []
    kinds = {"str": str, "int": int, "float": float}
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            Measured(
                **{
                    field.name: kinds[str(field.type)](row[field.name])
                    for field in fields(Measured)
                }
            )
            for row in csv.DictReader(lines)
        ]


def select(found: Sequence[Measured], group: str, method: str) -> list[Measured]:
    """Return the settings of a method in a group, in the order in which they were run."""
    return [row for row in found if row.group == group and row.method == method]

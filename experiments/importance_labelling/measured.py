"""What is measured, and the files it is kept in."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

#: Called with a line about what was done.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Point:
    """A labeled point of figure 1."""

    scheme: str
    x1: float
    x2: float
    weight: float


@dataclass(frozen=True)
class Estimate:
    """Coefficients of one trial of figure 2."""

    scheme: str
    trial: int
    beta1: float
    beta2: float


@dataclass(frozen=True)
class Trial:
    """One method in one repeat of figure 3."""

    task: str
    labels: int
    noise: float  # variance
    repeat: int
    method: str
    rmse: float  # the best of all draws and settings
    setting: float  # that it had: a penalty, or a number of functions
    draw: int  # that it had: of uniform draws, or of penalties of the scores
    typical: float  # the median over draws, each at its best setting


@dataclass(frozen=True)
class Split:
    """One method on one split."""

    name: str
    split: int
    labels: int
    noise: float
    method: str
    rmse: float  # the best of all draws
    typical: float  # the median over draws


@dataclass(frozen=True)
class Descent:
    """Gradient descent after some steps, or the analytic solution (no steps)."""

    noise: float
    method: str
    steps: int
    rmse: float


def as_csv(found: Sequence[object]) -> str:
    """Return one line for each, with the names of its fields above."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in found[:1]:
        writer.writerow([field.name for field in fields(row)])  # type: ignore[arg-type]
    for row in found:
        values = astuple(row)  # type: ignore[call-overload]
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values])
    return out.getvalue()


def from_csv(path: Path, kind: type) -> list:
    """Read what was written; nothing where there is no file."""
    if not path.is_file():
        return []
    kinds = {"str": str, "int": int, "float": float}
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            kind(**{f.name: kinds[str(f.type)](row[f.name]) for f in fields(kind)})
            for row in csv.DictReader(lines)
        ]

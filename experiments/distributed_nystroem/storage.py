"""Trials as CSV, one file a data set: what is there is not run again."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from experiments.distributed_nystroem.trials import Point, Results, order

COLUMNS = ("method", "partitions", "centers", "rows", "seed", "error")


def read(path: Path) -> Results:
    """Return the trials of a file; none if there is no such file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {
            (
                Point(row["method"], int(row["partitions"]), int(row["centers"]), int(row["rows"])),
                int(row["seed"]),
            ): float(row["error"])
            for row in csv.DictReader(lines)
        }


def write(path: Path, results: Results) -> None:
    """Write trials in an order that does not depend on when they were made."""
    ordered = sorted(results.items(), key=lambda item: (order(item[0][0]), item[0][1]))
    rows = [
        [at.method, at.partitions, at.centers, at.rows, seed, f"{value:.6g}"]
        for (at, seed), value in ordered
    ]
    text = to_csv(COLUMNS, rows)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)  # so that an interrupted run leaves the last whole file


def to_csv(header: tuple[str, ...], rows: list[list[object]]) -> str:
    """Return a table as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()

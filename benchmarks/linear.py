"""Seconds and memory of a fit as the rows double, from 25,000 to 1,600,000.

The rows are those of a memory map, and every fit is that of a fresh process. Writes
``linear.json``, which the figure of the documentation is drawn from.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.scaffold.records import write_text
from experiments.scaffold.tables import Table, bytes_text

from benchmarks.child import run_child
from benchmarks.data import write_npy

ROWS = tuple(25_000 * 2**k for k in range(7))
COLUMNS, LANDMARKS = 20, 500
#: What a fit may use: memory that does not grow with the rows.
LIMIT = "400MB"
RECORD = Path(__file__).with_name("linear.json")


def slope(rows: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log seconds against log rows, by least squares.

    >>> slope([1, 2, 4], [3, 6, 12])
    1.0
    """
    return round(float(np.polyfit(np.log(rows), np.log(seconds), 1)[0]), 6)


def run(
    sizes: Sequence[int] = ROWS, landmarks: int = LANDMARKS, record: Path = RECORD
) -> list[object]:
    found = []
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            path = write_npy(Path(name), rows, COLUMNS)
            settings = {"path": str(path), "target": str(path.with_name("y.npy"))}
            one = run_child("linear_fit", **settings, landmarks=landmarks, limit=LIMIT)
        found.append({"rows": rows, **one})
    settings = {"columns": COLUMNS, "landmarks": landmarks, "limit": LIMIT}
    write_text(record, json.dumps({**settings, "fits": found}, indent=1) + "\n")
    return report(json.loads(record.read_text(encoding="utf-8")))


def report(record: Mapping[str, Any]) -> list[object]:
    """Return the table of a record, and its slopes."""
    fits = record["fits"]
    table = Table(
        ["rows", "fit", "a million rows", "predict", "memory of the fit", "with pages of the file"]
    )
    for one in fits:
        each = 1e6 * one["seconds"] / one["rows"]
        cells = [f"{one['seconds']:.2f} s", f"{each:.1f} s", f"{one['predict']:.2f} s"]
        peaks = one["own"], one["peak"] - one["before"]
        table.add([f"{one['rows']:,}", *cells, *map(bytes_text, peaks)])
    rows = [one["rows"] for one in fits]
    slopes = {key: slope(rows, [one[key] for one in fits]) for key in ("seconds", "predict")}
    of_processor = {
        key: slope(rows, [one[key] for one in fits]) for key in ("processor", "predict processor")
    }
    upper = slope(rows[-3:], [one["seconds"] for one in fits[-3:]])
    return [
        f"{record['columns']} columns of a memory map, {record['landmarks']:,} landmarks, fixed "
        f'Gaussian kernel, open alpha, `memory_limit="{record["limit"]}"`; each fit, and the '
        f"prediction of its rows from the file, in a fresh process.",
        table,
        f"The slope of log seconds on log rows is {slopes['seconds']:.2f} for fits "
        f"({upper:.2f} over the last three) and {slopes['predict']:.2f} for predictions. Below 1, "
        f"fixed costs (factors of M x M matrices, the choice of alpha) count for few rows. Of the "
        f"processor they are {of_processor['processor']:.2f} and "
        f"{of_processor['predict processor']:.2f}, which other work on the machine changes less.",
    ]

"""Wide text files: the time to open one grows with its columns, not with their square."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from experiments.scaffold.tables import Table

from benchmarks.child import run_child

COLUMNS, ROWS = (25_000, 50_000, 100_000, 200_000), 4


def run() -> list[object]:
    """Time opening and one pass for doubled numbers of columns."""
    table = Table(["columns", "file", "open", "pass", "both", "ratio", "after import", "peak"])
    before = None
    with tempfile.TemporaryDirectory() as folder:
        for columns in COLUMNS:
            path = write_wide(Path(folder), columns)
            found = run_child("wide_file", path=str(path))
            both = found["open"] + found["pass"]
            table.add(
                [
                    f"{columns:,}",
                    f"{path.stat().st_size / 1e6:.1f} MB",
                    f"{found['open']:.2f} s",
                    f"{found['pass']:.2f} s",
                    f"**{both:.2f} s**",
                    "" if before is None else f"{both / before:.2f}",
                    *(f"{found[one] / 1e6:.0f} MB" for one in ("before", "peak")),
                ]
            )
            before = both
    return [
        f"`.csv` files of {ROWS} rows of numbers, opened (which reads them once) and read in one "
        f"pass, in a fresh process each. The ratio is that to half the columns: 2 is linear, 4 "
        f"would be quadratic.",
        table,
    ]


def write_wide(folder: Path, columns: int) -> Path:
    """Write a file of normal numbers."""
    path = folder / f"{columns}.csv"
    numbers = np.random.default_rng(0).normal(size=(ROWS, columns))
    lines = [",".join(f"c{column}" for column in range(columns))]
    lines += [",".join(f"{value:.3f}" for value in row) for row in numbers]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path

"""Scores of a pool: what a choice of rows to label costs, beside one pass of moments."""

from __future__ import annotations

import tempfile
from pathlib import Path

from experiments.scaffold.tables import Table

from benchmarks.child import run_child
from benchmarks.data import write_npy

ROWS, COLUMNS, FEATURES, BUDGET = 1_000_000, 20, 500, 2000
STAGES = ("basis", "moments", "solve", "scores")


def run() -> list[object]:
    """Time the stages of a labeller and of a regression on the same rows."""
    table = Table(["fit", *STAGES, "all", "after import", "peak"])
    with tempfile.TemporaryDirectory() as folder:
        path = str(write_npy(Path(folder), ROWS, COLUMNS))
        for task, name in (("moments", "regression"), ("scores", "labeller")):
            found = run_child("pool_fit", task=task, path=path, features=FEATURES, budget=BUDGET)
            stages = found["stages"]
            cells = [f"{stages[one]:.1f} s" if one in stages else "" for one in STAGES]
            sizes = [f"{found[one] / 1e6:.0f} MB" for one in ("before", "peak")]
            table.add([name, *cells, f"**{found['seconds']:.1f} s**", *sizes])
    return [
        f"{ROWS:,} x {COLUMNS} float64 rows ({ROWS * COLUMNS * 8 / 1e6:.0f} MB) from a memory map, "
        f"{FEATURES} random features in float32, alpha given. A labeller reads them twice: for the "
        f"moments, and for the scores. Each fit is in a fresh process.",
        table,
    ]

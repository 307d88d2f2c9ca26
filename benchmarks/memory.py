"""Peak resident size of a fresh process that fits a million rows from a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from experiments.scaffold.tables import Table

from benchmarks.child import run_child
from benchmarks.data import write_npy, write_parquet

ROWS, COLUMNS, LANDMARKS = 1_000_000, 20, 1000
#: What a fit may use: without one, "auto" keeps the values of all rows where they fit.
LIMIT = "400MB"


def run() -> list[object]:
    table = Table(["source", "after import", "peak", "estimate of the plan (above import)", "fit"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        npy = write_npy(folder, ROWS, COLUMNS)
        parquet = write_parquet(folder / "rows.parquet", ROWS, COLUMNS)
        for source, path, target in (
            ("memory map (.npy)", npy, str(npy.with_name("y.npy"))),
            ("Parquet, 20 row groups", parquet, "y"),
        ):
            settings = {"path": str(path), "target": target, "landmarks": LANDMARKS}
            found = run_child("file_fit", **settings, limit=LIMIT)
            before, peak, estimate = (found[k] / 1e6 for k in ("before", "peak", "estimate"))
            cells = [f"{before:.0f} MB", f"**{peak:.0f} MB**", f"{estimate:.0f} MB"]
            table.add([source, *cells, f"{found['seconds']:.1f} s"])
    return [
        f"{ROWS:,} x {COLUMNS} float64 rows ({ROWS * COLUMNS * 8 / 1e6:.0f} MB) from a file, "
        f'{LANDMARKS:,} landmarks, `memory_limit="{LIMIT}"`: peak resident size of a fresh '
        "process.",
        table,
    ]

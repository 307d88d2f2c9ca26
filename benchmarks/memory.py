"""Peak resident size of a fresh process that fits a million rows from a file."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS, COLUMNS, LANDMARKS = 1_000_000, 20, 1000

_CHILD = """
import json, sys, time
import mercer
from benchmarks.child import peak_bytes

baseline = peak_bytes()
start = time.perf_counter()
model = mercer.KernelRegressor(
    "gaussian", mercer.Landmarks({landmarks}), alpha=1e-6, random_state=0
)
kind, path = sys.argv[1:3]
rows = mercer.sources.NpySource(path, path.replace("X.npy", "y.npy")) if kind == "npy" else None
model.fit(path, "y") if rows is None else model.fit(rows)
seconds = time.perf_counter() - start
peak = peak_bytes()
print(json.dumps([baseline, peak, seconds, model.fit_.plan.memory]))
"""


def write_files(folder: Path) -> dict[str, Path]:
    """Write the rows as .npy and as Parquet, in blocks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    npy, parquet = folder / "X.npy", folder / "rows.parquet"
    X = np.lib.format.open_memmap(npy, "w+", np.float64, (ROWS, COLUMNS))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.float64, (ROWS,))
    writer = None
    for start in range(0, ROWS, 50_000):
        block = rng.standard_normal((50_000, COLUMNS))
        X[start : start + 50_000] = block
        y[start : start + 50_000] = np.sin(block[:, 0]) + block[:, 1] * block[:, 2]
        table = pa.table(
            {f"x{j}": block[:, j] for j in range(COLUMNS)} | {"y": y[start : start + 50_000]}
        )
        writer = writer or pq.ParquetWriter(parquet, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    X.flush()
    y.flush()
    return {"npy": npy, "parquet": parquet}


def measure(kind: str, path: Path) -> tuple[float, float, float, float]:
    """Return bytes before, peak bytes, seconds and estimated bytes of a fit in a new process."""
    code = _CHILD.format(landmarks=LANDMARKS)
    done = subprocess.run(
        [sys.executable, "-c", code, kind, str(path)], capture_output=True, text=True, check=True
    )
    return tuple(json.loads(done.stdout))


def run(repeats: int = 1) -> list[str]:
    lines = [
        f"{ROWS:,} x {COLUMNS} float64 rows ({ROWS * COLUMNS * 8 / 1e6:.0f} MB) from a file, "
        f"{LANDMARKS:,} landmarks: peak resident size of a fresh process.",
        "",
        "| source | after import | peak | estimate of the plan (above import) | fit |",
        "|---|---|---|---|---|",
    ]
    names = {"npy": "memory map (.npy)", "parquet": "Parquet, 20 row groups"}
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in write_files(Path(folder)).items():
            baseline, peak, seconds, estimate = measure(kind, path)
            print(f"  {kind}: {peak / 1e6:.0f} MB, {seconds:.1f} s", flush=True)
            lines.append(
                f"| {names[kind]} | {baseline / 1e6:.0f} MB | **{peak / 1e6:.0f} MB** | "
                f"{estimate / 1e6:.0f} MB | {seconds:.1f} s |"
            )
    return lines

"""Scores of a pool: what a choice of rows to label costs, beside one pass of moments."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS, COLUMNS, FEATURES, BUDGET = 1_000_000, 20, 500, 2000

_CHILD = """
import json, sys, time
import numpy as np
import mercer
from benchmarks.child import peak_bytes

task, path, features, budget = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
pool = np.load(path, mmap_mode="r")
y = pool[:, 0] if task == "moments" else None
settings = {
    "kernel": mercer.Gaussian(6.0),
    "basis": mercer.RandomFeatures(features, random_state=0),
    "alpha": 1e-4,
    "random_state": 0,
}
before = peak_bytes()
start = time.perf_counter()
if task == "moments":
    model = mercer.KernelRegressor(**settings, solver="ridge").fit(pool, y)
    stages = model.fit_.seconds
else:
    model = mercer.ImportanceLabeller(**settings, budget=budget).fit(pool)
    stages = model.seconds_
print(json.dumps([time.perf_counter() - start, stages, before, peak_bytes()]))
"""


def measure(task: str, path: Path) -> tuple[float, dict[str, float], int, int]:
    """Return seconds, seconds by stage, and bytes before and at the peak, in a new process."""
    arguments = [task, str(path), str(FEATURES), str(BUDGET)]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *arguments], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"  {task}: {found}", flush=True)
    return tuple(found)


def write_rows(path: Path) -> None:
    """Write the rows, in blocks."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, "w+", np.float64, (ROWS, COLUMNS))
    for start in range(0, ROWS, 50_000):
        X[start : start + 50_000] = rng.standard_normal((50_000, COLUMNS))
    X.flush()


def run() -> list[str]:
    """Time the stages of a labeller and of a regression on the same rows."""
    lines = [
        f"{ROWS:,} x {COLUMNS} float64 rows ({ROWS * COLUMNS * 8 / 1e6:.0f} MB) from a memory map, "
        f"{FEATURES} random features in float32, alpha given. A labeller reads them twice: for the "
        f"moments, and for the scores. Each fit is in a fresh process.",
        "",
        "| fit | basis | moments | solve | scores | all | after import | peak |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        write_rows(path)
        for task, name in (("moments", "regression"), ("scores", "labeller")):
            seconds, stages, before, peak = measure(task, path)
            cells = [
                f"{stages[stage]:.1f} s" if stage in stages else ""
                for stage in ("basis", "moments", "solve", "scores")
            ]
            lines.append(
                f"| {name} | {' | '.join(cells)} | **{seconds:.1f} s** | {before / 1e6:.0f} MB | "
                f"{peak / 1e6:.0f} MB |"
            )
    return lines

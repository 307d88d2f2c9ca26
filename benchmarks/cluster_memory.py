"""Rows many times larger than a worker's memory: the peak of every worker."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.scaffold.tables import Table
from experiments.scaffold.timing import peak_bytes

from benchmarks.data import FIT_ONLY, write_parquet

FILES, ROWS, COLUMNS, GROUP = 12, 1_000_000, 20, 25_000
LANDMARKS, LIMIT = 300, "500MB"


def write_rows(folder: Path, files: int = FILES, rows: int = ROWS) -> int:
    """Write Parquet files of noise with a signal; return the bytes of the rows in memory."""
    for number in range(files):
        write_parquet(folder / f"part{number:02d}.parquet", rows, COLUMNS, GROUP, seed=number)
    return files * rows * (COLUMNS + 1) * 8


def fit_on_workers(folder: Path, limit: str, workers: int = 2) -> dict[str, Any]:
    """Fit on a cluster whose workers may take ``limit`` each; return seconds, peaks and score."""
    import dask
    from distributed import Client, LocalCluster

    from mercer import Gaussian, KernelRegressor, Landmarks

    with (
        dask.config.set({"distributed.worker.memory.terminate": 0.95}),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=limit, dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(__import__, "mercer")
        before = client.run(peak_bytes)
        model = KernelRegressor(
            Gaussian(6.0), Landmarks(LANDMARKS), 1e-6, engine=client, random_state=0, **FIT_ONLY
        )
        start = time.perf_counter()
        model.fit(folder, "y")
        seconds = time.perf_counter() - start
        peaks = client.run(peak_bytes)
        return {
            "seconds": seconds,
            "before": max(before.values()),
            "peak": max(peaks.values()),
            "workers": len(peaks),
            "shards": model.communication_.shards,
        }


def run() -> list[object]:
    with tempfile.TemporaryDirectory() as name:
        size = write_rows(Path(name))
        found = fit_on_workers(Path(name), LIMIT)
    table = Table(["worker after import", "peak of a worker", "fit"])
    table.add(
        [
            f"{found['before'] / 1e6:,.0f} MB",
            f"**{found['peak'] / 1e6:,.0f} MB**",
            f"{found['seconds']:.0f} s",
        ]
    )
    return [
        f"{FILES * ROWS:,} x {COLUMNS} float64 rows in {FILES} Parquet files, {size / 1e6:,.0f} MB "
        f"in memory, {LANDMARKS} landmarks, {found['shards']} shards (row groups), on "
        f"{found['workers']} Dask workers with a memory limit of {LIMIT} each:",
        table,
    ]

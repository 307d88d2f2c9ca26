"""Rows many times larger than a worker's memory: the peak of every worker."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.child import peak_bytes

FILES, ROWS, COLUMNS, GROUP = 12, 1_000_000, 20, 25_000
LANDMARKS, LIMIT = 300, "500MB"


def write_rows(folder: Path, files: int = FILES, rows: int = ROWS) -> int:
    """Write Parquet files of noise with a signal; return the bytes of the rows in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for number in range(files):
        X = rng.standard_normal((rows, COLUMNS))
        table = pa.table(
            {f"x{j}": X[:, j] for j in range(COLUMNS)} | {"y": np.sin(X[:, 0]) + X[:, 1]}
        )
        pq.write_table(table, folder / f"part{number:02d}.parquet", row_group_size=GROUP)
    return files * rows * (COLUMNS + 1) * 8


def fit_on_workers(folder: Path, limit: str, workers: int = 2) -> dict[str, object]:
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
            Gaussian(6.0), Landmarks(LANDMARKS), 1e-6, engine=client, random_state=0
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


def run() -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        size = write_rows(Path(name))
        found = fit_on_workers(Path(name), LIMIT)
    return [
        f"{FILES * ROWS:,} x {COLUMNS} float64 rows in {FILES} Parquet files, {size / 1e6:,.0f} MB "
        f"in memory, {LANDMARKS} landmarks, {found['shards']} shards (row groups), on "
        f"{found['workers']} Dask workers with a memory limit of {LIMIT} each:",
        "",
        "| worker after import | peak of a worker | fit |",
        "|---|---|---|",
        f"| {found['before'] / 1e6:,.0f} MB | **{found['peak'] / 1e6:,.0f} MB** | "
        f"{found['seconds']:.0f} s |",
    ]

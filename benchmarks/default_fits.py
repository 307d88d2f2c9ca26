"""Default fits on two workers of a cluster against two threads in one place, also beside a load."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from experiments.scaffold.tables import Table
from experiments.scaffold.timing import CORES, interleaved

from benchmarks.data import write_parquet
from mercer import KernelRegressor

WORKERS, COLUMNS = 2, 10
#: Seconds after which the scheduler has heard what is no longer needed.
LATER = 1.0
#: Rows, the files that hold them, and how many processes do nothing useful meanwhile.
CASES = ((2_000, 8, 0), (2_000, 8, 4), (20_000, 8, 0), (20_000, 8, 4), (1_000_000, 20, 0))


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep so many processes busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def fitted(X: Any, engine: Any = None) -> KernelRegressor:
    """Return a fit with default parameters."""
    return KernelRegressor(random_state=0, engine=engine).fit(X, "y")


def tasks_left(dask_scheduler: Any) -> int:
    """Return how many tasks the scheduler knows."""
    return len(dask_scheduler.tasks)


def run(repeats: int) -> list[object]:
    from distributed import Client, LocalCluster

    table = Table(
        ["rows", "busy processes", "2 threads", "2 workers", "ratio", "of the search", "left"]
    )
    with (
        patch.dict(os.environ, {CORES: str(WORKERS)}),
        tempfile.TemporaryDirectory() as parent,
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(__import__, "mercer")
        for rows, files, busy in CASES:
            folder = Path(parent) / str(rows)
            if not folder.exists():
                folder.mkdir()
                for number in range(files):
                    path, each = folder / f"{number:02d}.parquet", rows // files
                    write_parquet(path, each, COLUMNS, each, seed=number)
            parts = sorted(folder.iterdir())
            with load(busy):
                timed = interleaved(
                    {
                        "2 threads": partial(fitted, folder),
                        "2 workers": partial(fitted, parts, client),
                    },
                    repeats,
                )
            here, there = timed.values()
            time.sleep(LATER)
            search = there.value.fit_.search.seconds / here.value.fit_.search.seconds
            table.add(
                [
                    f"{rows:,}",
                    str(busy),
                    f"{here.median:.1f} s",
                    f"{there.median:.1f} s",
                    f"{there.median / here.median:.2f}x",
                    f"{search:.2f}x",
                    str(client.run_on_scheduler(tasks_left)),
                ]
            )
    return [
        f"Parquet files of {COLUMNS} columns, default parameters: a folder in one place with "
        f"{WORKERS} threads, and its files on {WORKERS} worker processes of a thread each, whose "
        f"driver waits: medians of {repeats}, and tasks left on the scheduler a second later.",
        table,
    ]

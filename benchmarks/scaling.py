"""Strong scaling: one fit on 1, 2 and 4 worker processes, against what this machine can do at once.

Cores share memory, caches and clock, so that two processes need not be twice as fast as one. The
ideal is measured: as many independent processes sum the moments of their share of the rows, with
no cluster between them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from itertools import pairwise

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import BLAS_THREADS, CORES, ROOT, interleaved

from benchmarks.data import FIT_ONLY
from mercer import ExactSum, Gaussian, KernelRegressor, Landmarks

ROWS, COLUMNS, FUNCTIONS, SHARDS = 24_000, 10, 500, 24
WORKERS = (1, 2, 4)
#: Every process has one core.
PINNED = {CORES: "1", **dict.fromkeys(BLAS_THREADS, "1")}
#: What an independent process does once its parent says so.
ALONE = """
import sys
from benchmarks.scaling import fitted, rows
X, y = rows()
start, stop = int(sys.argv[1]), int(sys.argv[2])
fitted(X[:1000], y[:1000], 1)
print("ready", flush=True)
sys.stdin.readline()
fitted(X[start:stop], y[start:stop], int(sys.argv[3]))
print("done", flush=True)
"""


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose fit takes a few seconds of one core."""
    X = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))
    return X, np.sin(X[:, 0]) + X[:, 1]


def fitted(X: np.ndarray, y: np.ndarray, shards: int, engine: object = None) -> KernelRegressor:
    """Return a fit by exact sums with a fixed alpha."""
    model = KernelRegressor(
        Gaussian(3.0),
        Landmarks(FUNCTIONS),
        1e-6,
        shards=shards,
        combine=ExactSum(),
        engine=engine,
        dtype="float32",
        random_state=0,
        **FIT_ONLY,
    )
    return model.fit(X, y)


def at_once(processes: int) -> float:
    """Return the seconds that independent processes take for all rows, each its share."""
    cuts = np.linspace(0, ROWS, processes + 1).astype(int)
    shards = str(SHARDS // processes)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ALONE, str(a), str(b), shards],
            env={**os.environ, **PINNED},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for a, b in pairwise(cuts)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"process {process.pid} did not start")
        begin = time.perf_counter()
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        return time.perf_counter() - begin
    finally:
        for process in started:
            process.communicate()


def on_workers(workers: int, repeats: int) -> float:
    """Return the median seconds of a fit on so many worker processes of one thread."""
    import dask
    from distributed import Client, LocalCluster

    X, y = rows()
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": PINNED}),
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(__import__, "mercer")
        fitted(X[:2000], y[:2000], SHARDS, client)
        timed = interleaved({f"{workers} workers": partial(fitted, X, y, SHARDS, client)}, repeats)
    return next(iter(timed.values())).median


def run(repeats: int) -> list[object]:
    table = Table(
        ["worker processes", "fit", "speedup", "independent processes", "speedup", "share"]
    )
    first: tuple[float, float] | None = None
    for workers in WORKERS:
        ideal = float(np.median([at_once(workers) for _ in range(repeats)]))
        seconds = on_workers(workers, repeats)
        first = first or (seconds, ideal)
        table.add(
            [
                str(workers),
                f"{seconds:.2f} s",
                f"{first[0] / seconds:.2f}x",
                f"{ideal:.2f} s",
                f"{first[1] / ideal:.2f}x",
                f"{ideal / seconds:.0%}",
            ]
        )
    return [
        f"{ROWS:,} x {COLUMNS} rows, {FUNCTIONS} landmarks, {SHARDS} shards, exact sum: worker "
        f"processes of a local Dask cluster with one core each, and as many independent processes "
        f"that fit their share of the rows at the same time, which is the ideal of this machine "
        f"({os.cpu_count()} hardware threads): medians of {repeats}. The last column is the part "
        f"of the ideal that the cluster reaches.",
        table,
    ]

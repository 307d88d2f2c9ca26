"""Combinations of shards: time, bytes and accuracy against their number; and what Dask adds."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import joblib
import numpy as np
from experiments.scaffold.tables import Table, bytes_text
from experiments.scaffold.timing import interleaved

from benchmarks.data import FIT_ONLY, levels
from mercer import (
    Average,
    ConjugateRounds,
    ExactSum,
    Gaussian,
    KernelRegressor,
    MercerWarning,
    NewtonRounds,
    RandomFeatures,
)

ROWS, FEATURES, ALPHA, BANDWIDTH = 100_000, 500, 2.0**-15, 100.0
SHARDS = (1, 4, 20, 100, 400)
#: Rows of a shard on a cluster, about 100 ms of one core, and numbers of shards.
ROWS_EACH, ON_CLUSTER = 5_000, (4, 20, 100)
#: Rounds that are tried, in this order, until the target is reached.
ROUNDS = (1, 2, 4, 8, 16, 32)
#: Root mean square distance of predictions to those of the fit of all rows, relative to their
#: spread, that counts as equal.
TARGET = 1e-3
METHODS: dict[str, Any] = {
    "average": Average(),
    "8 Newton rounds": NewtonRounds(8),
    "8 conjugate rounds": ConjugateRounds(8),
    "exact sum": ExactSum(),
}


def fitted(
    X: np.ndarray, y: np.ndarray, shards: int, combine: Any, engine: Any = None
) -> KernelRegressor:
    """Return a fit over shards."""
    model = KernelRegressor(
        Gaussian(BANDWIDTH),
        RandomFeatures(FEATURES),
        ALPHA,
        shards=shards,
        combine=combine,
        engine=engine,
        dtype="float64",
        random_state=0,
        **FIT_ONLY,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)  # that rounds diverge is in the table
        return model.fit(X, y)


def run(repeats: int) -> list[object]:
    X, y, new = levels(ROWS)
    central = fitted(X, y, 1, ExactSum()).predict(new)
    spread = float(np.std(central))

    def distance(model: KernelRegressor) -> float:
        return float(np.sqrt(np.mean((model.predict(new) - central) ** 2))) / spread

    table = Table(["shards", *METHODS, "conjugate rounds to 0.1 %"])
    for shards in SHARDS:
        timed = interleaved(
            {name: partial(fitted, X, y, shards, combine) for name, combine in METHODS.items()},
            repeats,
        )
        cells = [_cell(one.value, one.median, distance(one.value)) for one in timed.values()]
        table.add([str(shards), *cells, _rounds(X, y, shards, distance)])
    return [
        f"Simulated data, {ROWS:,} x 7, {FEATURES} random features, alpha = 2^-15, shards in this "
        f"process: median seconds of {repeats} interleaved fits; bytes to and from one shard; "
        f"distance of predictions to those of the fit of all rows, relative to their spread.",
        table,
        *_dask(repeats),
    ]


def _cell(model: KernelRegressor, seconds: float, away: float) -> str:
    told = model.communication_
    end = ", diverges" if not model.fit_.solution.status.succeeded else ""
    sent = bytes_text(told.bytes / told.shards)
    return f"{seconds:.2f} s, {sent}, {away:.0e}{end}"


def _rounds(X: np.ndarray, y: np.ndarray, shards: int, distance: Any) -> str:
    for rounds in ROUNDS:
        model = fitted(X, y, shards, ConjugateRounds(rounds))
        if distance(model) <= TARGET:
            told = model.communication_
            return f"{rounds} ({bytes_text(told.bytes / told.shards)})"
    return f"over {ROUNDS[-1]}"


def _dask(repeats: int) -> list[object]:
    """Compare threads of this process with a cluster of as many worker processes."""
    from distributed import Client, LocalCluster

    workers = joblib.cpu_count()
    every, targets, _ = levels(ROWS_EACH * max(ON_CLUSTER))
    table = Table(["shards", "combination", "threads", "Dask", "ratio"])
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster, set_as_default=False) as client:
        fitted(every[:1000], targets[:1000], 2, ExactSum(), client)  # imports, on the workers
        for shards in ON_CLUSTER:
            X, y = every[: shards * ROWS_EACH], targets[: shards * ROWS_EACH]
            for name in ("exact sum", "8 conjugate rounds"):
                engines = {"threads": None, "Dask": client}
                timed = interleaved(
                    {
                        kind: partial(fitted, X, y, shards, METHODS[name], engine)
                        for kind, engine in engines.items()
                    },
                    repeats,
                )
                here, there = (timed[kind].median for kind in engines)
                times = [f"{here:.2f} s", f"{there:.2f} s", f"{there / here:.1f}x"]
                table.add([str(shards), name, *times])
    return [
        f"Shards of {ROWS_EACH:,} rows on {workers} threads of this process and on {workers} "
        f"worker processes of a local Dask cluster (rows are sent within the time): "
        f"medians of {repeats}.",
        table,
    ]

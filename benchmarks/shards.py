"""Combinations of shards: time, bytes and accuracy against their number; and what Dask adds."""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any

import numpy as np

from mercer import (
    ConjugateRounds,
    ExactSum,
    Gaussian,
    KernelRegressor,
    MercerWarning,
    NewtonRounds,
    RandomFeatures,
)
from mercer.combine import Average, Combination
from mercer.plan import human_bytes

ROWS, FEATURES, ALPHA, BANDWIDTH = 100_000, 500, 2.0**-15, 100.0
SHARDS = (1, 4, 20, 100, 400)
#: Rounds that are tried, in this order, until the target is reached.
ROUNDS = (1, 2, 4, 8, 16, 32)
#: Root mean square distance of predictions to those of the fit of all rows, relative to their
#: spread, that counts as equal.
TARGET = 1e-3
METHODS: dict[str, Combination] = {
    "average": Average(),
    "8 Newton rounds": NewtonRounds(8),
    "8 conjugate rounds": ConjugateRounds(8),
    "exact sum": ExactSum(),
}


def simulated() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with 7 columns on {1..100}, y = floor(||x|| / 7) and noise, and new rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 101, (ROWS, 7)).astype(float)
    y = np.floor(np.linalg.norm(X, axis=1) / 7) + 0.1 * rng.standard_normal(ROWS)
    return X, y, rng.integers(1, 101, (5000, 7)).astype(float)


def fitted(
    X: np.ndarray, y: np.ndarray, shards: int, combine: Combination, engine: Any = None
) -> tuple[KernelRegressor, float]:
    """Return a fit over shards, and its seconds."""
    model = KernelRegressor(
        Gaussian(BANDWIDTH),
        RandomFeatures(FEATURES),
        ALPHA,
        shards=shards,
        combine=combine,
        engine=engine,
        dtype="float64",
        random_state=0,
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)  # that rounds diverge is in the table
        model.fit(X, y)
    return model, time.perf_counter() - start


def run(repeats: int = 3) -> list[str]:
    X, y, new = simulated()
    central = fitted(X, y, 1, ExactSum())[0].predict(new)
    spread = float(np.std(central))

    def distance(model: KernelRegressor) -> float:
        return float(np.sqrt(np.mean((model.predict(new) - central) ** 2))) / spread

    lines = [
        f"Simulated data, {ROWS:,} x 7, {FEATURES} random features, alpha = 2^-15, shards in this "
        f"process: median seconds of {repeats} interleaved fits; bytes to and from one shard; "
        f"distance of predictions to those of the fit of all rows, relative to their spread.",
        "",
        "| shards | " + " | ".join(METHODS) + " | conjugate rounds to 0.1 % |",
        "|---|" + "---|" * (len(METHODS) + 1),
    ]
    for shards in SHARDS:
        times: dict[str, list[float]] = {name: [] for name in METHODS}
        found: dict[str, KernelRegressor] = {}
        for _ in range(repeats):
            for name, combine in METHODS.items():
                found[name], seconds = fitted(X, y, shards, combine)
                times[name].append(seconds)
        cells = [_cell(found[n], statistics.median(times[n]), distance(found[n])) for n in METHODS]
        lines.append(
            f"| {shards} | " + " | ".join([*cells, _rounds(X, y, shards, distance)]) + " |"
        )
        print(lines[-1], flush=True)
    return [*lines, "", *_dask(X, y, repeats)]


def _cell(model: KernelRegressor, seconds: float, away: float) -> str:
    told = model.communication_
    end = ", diverges" if not model.fit_.solution.status.succeeded else ""
    sent = human_bytes(told.bytes / told.shards)
    return f"{seconds:.2f} s, {sent}, {away:.0e}{end}"


def _rounds(X: np.ndarray, y: np.ndarray, shards: int, distance: Any) -> str:
    for rounds in ROUNDS:
        model, _ = fitted(X, y, shards, ConjugateRounds(rounds))
        if distance(model) <= TARGET:
            told = model.communication_
            return f"{rounds} ({human_bytes(told.bytes / told.shards)})"
    return f"over {ROUNDS[-1]}"


def _dask(X: np.ndarray, y: np.ndarray, repeats: int) -> list[str]:
    """Compare threads of this process with a cluster of as many worker processes."""
    from distributed import Client, LocalCluster

    from mercer.engines import ThreadEngine, available_cores

    workers = available_cores()
    lines = [
        f"The same on {workers} threads of this process and on {workers} worker processes of a "
        f"local Dask cluster (rows are sent to the workers within the time): medians of {repeats}.",
        "",
        "| shards | combination | threads | Dask | ratio |",
        "|---|---|---|---|---|",
    ]
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster, set_as_default=False) as client:
        fitted(X[:1000], y[:1000], 2, ExactSum(), client)  # imports, on the workers
        for shards in (4, 20, 100):
            for name in ("exact sum", "8 conjugate rounds"):
                times: dict[str, list[float]] = {"threads": [], "dask": []}
                for _ in range(repeats):
                    for kind, engine in (("threads", ThreadEngine()), ("dask", client)):
                        times[kind].append(fitted(X, y, shards, METHODS[name], engine)[1])
                here, there = (statistics.median(times[kind]) for kind in ("threads", "dask"))
                lines.append(
                    f"| {shards} | {name} | {here:.2f} s | {there:.2f} s | {there / here:.1f}x |"
                )
                print(lines[-1], flush=True)
    return lines

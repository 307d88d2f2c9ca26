"""Loss of all workers of a cluster at a random stage of a fit with default parameters.

Others come back: a nanny starts them after a kill, or the cluster is scaled up again. The fit must
end with the bits of one on threads, for rows in every form, and within a minute; that it gives up
counts as wrong.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

from mercer import EngineError, KernelClassifier, KernelRanker, KernelRegressor, growth
from mercer.bases import landmarks
from mercer.engines import ThreadEngine
from mercer.engines.dask_engine import DaskEngine
from mercer.opening import opened_rows as sharding
from mercer.rows.shards import cut
from mercer.search import kernel_search

Rng = np.random.Generator
KINDS = {"regressor": KernelRegressor, "classifier": KernelClassifier, "ranker": KernelRanker}
FORMS = ("array", "files", "folder", "dask array", "dask frame")
LOSSES = ("all workers killed", "only worker killed", "scaled to nothing and back")
ROWS, SHARDS = 600, 6
#: Seconds after which a fit without news, or after its workers are back, has hung: all of its tasks
#: take less than one.
HUNG = 60.0
#: How often workers were lost in each stage.
stages: Counter[str] = Counter()


def rows_of(kind: str, form: str, folder: Path) -> tuple[Any, Any]:
    """Return X and y in some form; files are written once."""
    rng = np.random.default_rng(7)
    X = rng.random((ROWS, 4))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(ROWS)
    y = (y > 0.7).astype(int) if kind == "classifier" else y
    size = ROWS // SHARDS
    if form == "array":
        return X, y
    if form == "dask array":
        return da.from_array(X, chunks=(size, 4)), da.from_array(y, chunks=size)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    if form == "dask frame":
        return dd.from_pandas(frame, npartitions=SHARDS), "y"
    place = folder / kind
    if not place.exists():
        place.mkdir()
        for number in range(SHARDS):
            part = frame[number * size : (number + 1) * size]
            part.to_parquet(place / f"{number}.parquet")
    return (place, "y") if form == "folder" else (sorted(place.iterdir()), "y")


def answers(kind: str, form: str, folder: Path, engine: Any) -> list[Any]:
    """Fit with default parameters; return what must be the same to the bit."""
    model = KINDS[kind](random_state=0, engine=engine)
    if form in ("array", "folder"):
        model.set_params(shards=SHARDS)
    with (
        patch.object(sharding, "cut", cut),
        # So few rows would all be landmarks: let the model grow all the same.
        patch.object(growth, "FIRST", 25),
        patch.object(growth, "FULL_ROWS", 100),
        patch.object(landmarks, "DEFAULT_SIZE", 100),
        patch.object(kernel_search, "MORE_CORES", 0),
        patch.object(kernel_search, "SENT", 0),  # candidates go to the workers
    ):
        model.fit(*rows_of(kind, form, folder))
    new = np.random.default_rng(8).random((50, 4))
    more = {
        "regressor": lambda: np.asarray(model.predict_interval(new)),
        "classifier": lambda: model.predict_proba(new),
        "ranker": lambda: model.predict(new),
    }
    return [model.dual_coef_, model.alpha_, model.metric_, more[kind]()]


class Counting(ThreadEngine):
    """Counts the waits of a fit: a cluster has the same ones."""

    waits = 0

    def hold(self, *arguments: Any) -> Any:
        """Run; there is no wait on a cluster, and here it is a map."""
        self.waits -= 1
        return super().hold(*arguments)

    def map(self, *arguments: Any, **options: Any) -> Any:
        """Count, and run."""
        self.waits += 1
        return super().map(*arguments, **options)

    def reduce(self, *arguments: Any, **options: Any) -> Any:
        """Count, and run."""
        self.waits += 1
        return super().reduce(*arguments, **options)


class Losing(DaskEngine):
    """Loses workers in one of its waits, a moment after it has begun."""

    def __init__(self, client: Client, wait: int, delay: float, lose: Callable[[], None]) -> None:
        super().__init__(client, timeout=HUNG)
        self.left, self.loss = wait, threading.Timer(delay, lose)

    def _wait(self, futures: Any, label: str, parts: Any, sizes: Any) -> None:
        if self.left == 0:
            stages[label or str(futures[0].key).split("-", 1)[1].rsplit("-", 2)[0]] += 1
            self.loss.start()
        self.left -= 1
        super()._wait(futures, label, parts, sizes)


@cache
def cluster() -> tuple[LocalCluster, Client]:
    """Return a cluster that all trials share: each must leave it as good as it was."""
    # A cluster of this kind closes workers that are gone for 15 seconds, also if a later trial has
    # just killed them again.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    if "forkserver" in multiprocessing.get_all_start_methods():  # workers start at once
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
        get_mp_context().set_forkserver_preload(["distributed", "mercer.engines.dask_engine"])
    found = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    return found, Client(found, set_as_default=False)


def close() -> None:
    """Close the cluster, if there is one."""
    if cluster.cache_info().currsize:
        for one in reversed(cluster()):
            one.close()


@cache
def expected(kind: str, form: str, folder: Path) -> tuple[list[Any], int]:
    """Return the answers of a fit on threads, and how often it waits."""
    engine = Counting(2)
    return answers(kind, form, folder, engine), engine.waits


@contextmanager
def of_workers(number: int) -> Iterator[tuple[LocalCluster, Client, list[int]]]:
    """Yield the cluster with so many workers, all of which answer, and their processes."""
    local, client = cluster()
    local.scale(number)
    pids = pids_of(client, number)
    if len(pids) != number:
        raise AssertionError("the workers did not come back")
    yield local, client, pids


def pids_of(client: Client, number: int, gone: Iterable[int] = ()) -> list[int]:
    """Return the processes of so many workers, all of which answer; wait a minute for new ones."""
    end, pids = time.monotonic() + 60, []
    while time.monotonic() < end:
        answers = client.run(os.getpid, on_error="return").values()
        pids = [pid for pid in answers if isinstance(pid, int) and pid not in gone]
        if len(pids) == number:
            break
        time.sleep(0.1)
    return pids


def lost(loss: str, rng: Rng, folder: Path) -> bool:
    """Lose all workers in a fit; return whether its answers have the bits of one on threads."""
    kind, form = str(rng.choice([*KINDS])), str(rng.choice(FORMS))
    right, waits = expected(kind, form, folder)
    number = 1 if loss == "only worker killed" else 2
    with of_workers(number) as (local, client, pids):

        def kill() -> None:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

        def scale() -> None:
            local.scale(0)
            time.sleep(rng.uniform(0.5, 10.0))
            local.scale(2)

        back: list[float] = []

        def lose() -> None:
            (scale if loss == "scaled to nothing and back" else kill)()
            pids_of(client, number, gone=pids)
            back.append(time.monotonic())

        engine = Losing(client, int(rng.integers(waits)), float(rng.uniform(0, 0.1)), lose)
        try:
            found = answers(kind, form, folder, engine)
        except EngineError as error:
            raise AssertionError(f"{kind}, {form}: gave up: {error}") from error
        ended = time.monotonic()
        engine.loss.join()
    if ended - back[0] > HUNG:
        raise AssertionError(f"{kind}, {form}: {ended - back[0]:.0f} s after the workers were back")
    same = [np.array_equal(one, other) for one, other in zip(found, right, strict=True)]
    if not all(same):
        raise AssertionError(f"{kind}, {form}: other bits ({same})")
    return True

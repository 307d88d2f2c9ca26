"""Run tasks on a Dask cluster, even if workers are lost.

A shard is sent as a recipe, and the result of a task stays on a worker as a future. If that worker
is lost, Dask recomputes the result from the recipe: no state is pinned to a worker, and nothing is
scattered that could not be rebuilt. Every wait ends, with the result or with an error that says
what is missing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import dask
import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker, wait

from mercer.contracts import ShardProgress
from mercer.engines.dask_watch import CHECK, Watch
from mercer.engines.dask_welcome import welcome
from mercer.engines.threads import on_one_core
from mercer.engines.tree import tree_sum
from mercer.validation import EngineError, check_number

#: Seconds between checks for finished tasks.
LOOK = 0.5
#: Seconds to reach a scheduler.
CONNECT = 30.0
#: Values up to this size are sent in the task graph without a warning.
LARGE = "4GB"
#: The share of a worker's memory that tasks may fill.
FULL = 0.6
#: Bytes of a worker after loading the libraries that tasks need.
LOADED = 260e6
#: Sums have priority over new parts, so that few parts are in memory.
FIRST = 10


class DaskEngine:
    """Runs tasks on a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, cluster or str
        A client, a cluster, or the address of a scheduler ("tcp://host:8786").
    patience : float
        Seconds to wait for a worker if there is none.
    silence : float
        Seconds without a heartbeat after which a worker is restarted and its tasks are reassigned:
        a process may be frozen with its connections open. By default, Dask does so only after five
        minutes (``distributed.scheduler.worker-ttl``). A worker that may still be importing mercer
        has at least two minutes, because an import may hold up its heartbeats.
    timeout : float
        Raise an error if no task finishes for this many seconds.
    connect : float
        Seconds to reach the scheduler.
    """

    def __init__(
        self,
        client: Any,
        patience: float = 60.0,
        silence: float = 60.0,
        timeout: float = 3600.0,
        connect: float = CONNECT,
    ) -> None:
        self.patience = check_number(patience, "patience of DaskEngine", above=0.0)
        self.silence = check_number(silence, "silence of DaskEngine", above=0.0)
        self.timeout = check_number(timeout, "timeout of DaskEngine", above=0.0)
        self.progress: ShardProgress | None = None
        self.known: set[str] = set()  # addresses of workers that have imported mercer
        self._welcomed = -np.inf
        self._owned = not isinstance(client, Client)
        self.client = connected(client, connect) if self._owned else client

    def __repr__(self) -> str:
        return f"DaskEngine({self.client.scheduler.address!r})"

    @property
    def dashboard(self) -> str:
        """The address of the dashboard."""
        return str(self.client.dashboard_link)

    @property
    def width(self) -> int:
        """The number of tasks that run at a time: the threads of all current workers."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return max(1, sum(int(worker["nthreads"]) for worker in workers))

    @property
    def task_memory(self) -> int | None:
        """Bytes available to a task, up to 60 % of the worker's limit; None without a limit.

        At 70 % Dask spills results to disk, and at 80 % it pauses the worker.
        """
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        shares = [
            max(FULL * w["memory_limit"] - max(w["metrics"].get("memory", 0), LOADED), LOADED / 5)
            / w["nthreads"]
            for w in workers
            if w.get("memory_limit")
        ]
        return int(min(shares)) if shares else None

    def close(self) -> None:
        """Close the connection, if this engine opened it."""
        if self._owned:
            self.client.close(timeout=CONNECT)

    def place(self, items: Sequence[Any]) -> list[Future]:
        """Return futures of items: recipes by value, and partitions computed on the cluster."""
        self._welcome()
        return [
            self.client.compute(item.delayed) if hasattr(item, "delayed") else self.share(item)
            for item in items
        ]

    def share(self, value: Any) -> Future:
        """Return a future of a value, kept by the scheduler and copied between workers."""
        self._welcome()
        return self._submit(_same, value, label="share")

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Future]:
        """Run a task over items and leave each result on its worker."""
        self._welcome()
        return [self._submit(on_one_core, task, item, *common, label=_name(task)) for item in items]

    def map(
        self,
        task: Callable[..., Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
        light: bool = False,
    ) -> list[Any]:
        """Run a task over items; return the results, in the order of the items.

        Light tasks on the same worker are batched, because sending a task takes milliseconds.
        """
        if not light or len(items) <= self.width:
            return self._gathered(self.hold(task, items, *common), label)
        groups = self._neighbors(items)
        together = [[items[at] for at in group] for group in groups]
        found = [None] * len(items)
        parts = self._gathered(self.hold(_each, together, task, *common), label)
        for group, results in zip(groups, parts, strict=True):
            for at, result in zip(group, results, strict=True):
                found[at] = result
        return found

    def _gathered(self, futures: list[Future], label: str) -> list[Any]:
        try:
            self._wait(futures, label)
            return [self._taken(future, label) for future in futures]
        finally:
            self._cancel(futures)

    def _neighbors(self, items: Sequence[Future]) -> list[list[int]]:
        """Return the indices of the items that each worker holds."""
        where: dict[str, list[int]] = {}
        held = self.client.who_has(list(items))
        for at, item in enumerate(items):
            workers = sorted(held.get(item.key) or ("",))
            where.setdefault(workers[0], []).append(at)
        return list(where.values())

    def reduce(
        self,
        task: Callable[..., Any],
        add: Callable[[Any, Any], Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
    ) -> Any:
        """Run a task over items and add the results on the workers, as a tree of fixed shape."""
        self._welcome()
        parts: list[Future] = []

        def submitted() -> Iterator[Future]:
            for item in items:
                parts.append(self._submit(on_one_core, task, item, *common, label=_name(task)))
                yield parts[-1]

        def added(left: Future, right: Future) -> Future:
            return self._submit(on_one_core, add, left, right, label="add", priority=FIRST)

        # Each sum is submitted right after its parts, so that it runs before further parts.
        root = tree_sum(submitted(), added)
        try:
            # Only the root is kept to the end: parts are released as they are added.
            self._wait([root], label, parts)
            return self._taken(root, label)
        finally:
            self._cancel([root])

    def _welcome(self) -> None:
        """Check the versions of workers that are new, every few seconds."""
        if time.monotonic() - self._welcomed > CHECK:
            welcome(self.client, self.known, self.patience)
            self._welcomed = time.monotonic()

    def _submit(
        self, function: Callable[..., Any], *arguments: Any, label: str, priority: int = 0
    ) -> Future:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
            return self.client.submit(
                function,
                *arguments,
                key=f"mercer-{label}-{uuid.uuid4().hex}",
                pure=False,
                priority=priority,
            )

    def _wait(self, futures: list[Future], label: str, parts: list[Future] | None = None) -> None:
        """Wait until all are finished; raise the first error that the cluster cannot recover from.

        Progress is reported on ``parts``; the list is emptied as they finish.
        """
        parts = list(futures) if parts is None else parts
        pending, total, reported = set(futures), len(parts), -1
        watch = Watch(self)
        while pending:
            with self.client.as_current(), suppress(TimeoutError, CancelledError):
                wait(pending, timeout=LOOK, return_when="FIRST_COMPLETED")
            for future in pending:
                self._check(future, label)
            pending = {future for future in pending if future.status != "finished"}
            parts[:] = [future for future in parts if future.status == "pending"]
            done = total - len(parts)
            if done != reported and self.progress is not None and label:
                self.progress(label, done, total)
            watch.look(done != reported)
            reported = done

    def _taken(self, future: Future, label: str) -> Any:
        """Fetch a result; it is recomputed if its worker has just been lost."""
        watch = Watch(self)
        while True:
            try:
                return future.result(timeout=CHECK)
            except TimeoutError:
                watch.look(False)
            except (CancelledError, KilledWorker):
                self._check(future, label)
                raise

    def _check(self, future: Future, label: str) -> None:
        """Raise the exception of a task; raise EngineError if the cluster failed."""
        if future.status == "finished" or future.status == "pending":
            return
        if future.status == "error":
            error = future.exception(timeout=CONNECT)
            if isinstance(error, KilledWorker):
                raise EngineError(
                    f"the cluster gave up on a task of '{label}': every worker that ran it was "
                    f"lost ({error}). Workers may be short of memory: use more shards, fewer "
                    f"functions, or workers with a higher memory limit"
                ) from error
            raise error
        raise EngineError(
            f"tasks of '{label}' were {future.status}: the connection to the scheduler was lost, "
            f"or its state. Restart the cluster, and fit with the same checkpoint= to resume"
        )

    def _cancel(self, futures: list[Future]) -> None:
        left = [future for future in futures if future.status == "pending"]
        if left and self.client.status == "running":
            self.client.cancel(left, force=True)


def connected(address: Any, seconds: float) -> Client:
    """Return a client of a scheduler; raise EngineError if it cannot be reached."""
    try:
        return Client(address, timeout=seconds, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise EngineError(
            f"could not connect to a Dask scheduler at {address!r} within {seconds:g} s: check the "
            f"address, and that 'dask scheduler' is running"
        ) from error


def _same(value: Any) -> Any:
    return value


def _each(items: list[Any], task: Callable[..., Any], *common: Any) -> list[Any]:
    return [task(item, *common) for item in items]


def _name(task: Callable[..., Any]) -> str:
    return str(getattr(task, "__name__", "task")).strip("_")

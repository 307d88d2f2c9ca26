"""Run tasks on a Dask cluster, even if workers are lost.

A shard is sent as a recipe, and the result of a task stays on a worker as a future. If that worker
is lost, Dask recomputes the result from the recipe: no state is pinned to a worker, and nothing is
scattered that could not be rebuilt. Every wait ends, with the result or with an error that says
what is missing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import wait as wait_for
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import dask
import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker, wait

from mercer.contracts import ShardProgress, T
from mercer.engines.bundles import (
    Bundled,
    Group,
    bundle_size,
    grouped,
    listed,
    results_of,
    sum_of,
    workers_of,
)
from mercer.engines.dask_cluster import (
    CHECK,
    PREFIX,
    Watch,
    check_client,
    connected,
    started,
    welcome,
    within,
)
from mercer.engines.in_process import on_one_core, task_name
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
#: What a request for results ends with if they are lost on their way.
LOST = (CancelledError, KilledWorker, OSError)
#: The priority of sums.
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
        client: object,
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
        self.client = client if isinstance(client, Client) else connected(client, connect)
        check_client(self.client)

    def __repr__(self) -> str:
        return f"DaskEngine({self.client.scheduler.address!r})"

    @property
    def dashboard(self) -> str:
        """The address of the dashboard."""
        return str(self.client.dashboard_link)

    @property
    def width(self) -> int:
        """The number of tasks that run at a time: the threads of all current workers."""
        return max(1, sum(self._threads().values()))

    def _workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of every worker, by its address."""
        check_client(self.client)
        found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return found

    def _threads(self) -> dict[str, int]:
        """Return the threads of every worker, by its address."""
        return {address: int(worker["nthreads"]) for address, worker in self._workers().items()}

    @property
    def task_memory(self) -> int | None:
        """Bytes available to a task, up to 60 % of the worker's limit; None without a limit.

        At 70 % Dask spills results to disk, and at 80 % it pauses the worker.
        """
        shares = [
            max(FULL * w["memory_limit"] - max(w["metrics"].get("memory", 0), LOADED), LOADED / 5)
            / w["nthreads"]
            for w in self._workers().values()
            if w.get("memory_limit")
        ]
        return int(min(shares)) if shares else None

    def close(self) -> None:
        """Close the connection, if this engine opened it."""
        if self._owned:
            self.client.close(timeout=CONNECT)

    def place(self, items: Sequence[Any]) -> list[Bundled]:
        """Return items on the cluster: recipes by value, and partitions that are computed there."""
        self._welcome()
        if items and hasattr(items[0], "delayed"):
            computed = self.client.compute([item.delayed for item in items])
            bundles = self._submit(listed, [computed], "place")
            return [Bundled(bundle, 0, 1, "") for bundle in bundles]
        threads = self._threads()
        size = bundle_size(len(items), max(1, sum(threads.values())))
        starts = range(0, len(items), size)
        placed: list[Bundled] = []
        for start, worker in zip(starts, workers_of(len(starts), threads), strict=True):
            some = list(items[start : start + size])
            # In one message each: they may hold many rows.
            (bundle,) = self._submit(_same, [[some]], "place", where=[worker])
            placed += [Bundled(bundle, place, size, worker) for place in range(len(some))]
        return placed

    def share(self, value: object) -> Future:
        """Return a future of a value, kept by the scheduler and copied between workers."""
        self._welcome()
        (found,) = self._submit(_same, [[value]], "share")
        return found

    def hold(
        self, task: Callable[..., Any], items: Sequence[Any], *common: object
    ) -> list[Bundled]:
        """Run a task over items and leave each result on its worker."""
        groups, size = grouped(items)
        bundles = self._over(results_of, items, groups, task, common, _name(task))
        return [
            Bundled(bundle, place, size, getattr(items[at], "worker", ""))
            for bundle, group in zip(bundles, groups, strict=True)
            for place, at in enumerate(group)
        ]

    def map(
        self,
        task: Callable[..., T],
        items: Sequence[object],
        *common: object,
        label: str = "",
        light: bool = False,
    ) -> list[T]:
        """Run a task over items; return the results, in the order of the items.

        Light tasks on the same worker are sent together.
        """
        groups, _ = grouped(items)
        if light and len(groups) > 1:
            groups = self._neighbors(items, groups)
        futures = self._over(results_of, items, groups, task, common, _name(task))
        found: list[Any] = [None] * len(items)
        try:
            self._wait(futures, label, futures[:], [len(group) for group in groups])
            parts = self._taken(futures, label)
        finally:
            self._cancel(futures)
        for group, results in zip(groups, parts, strict=True):
            for at, result in zip(group, results, strict=True):
                found[at] = result
        return found

    def _neighbors(self, items: Sequence[Any], groups: list[list[int]]) -> list[list[int]]:
        """Join the groups that are on the same worker; those not yet computed stay apart."""
        firsts = [items[group[0]] for group in groups]
        keys = [first.bundle.key if isinstance(first, Bundled) else "" for first in firsts]
        held = self.client.who_has([first.bundle for first in firsts if isinstance(first, Bundled)])
        where: dict[str, list[int]] = {}
        for number, (group, key) in enumerate(zip(groups, keys, strict=True)):
            worker = min(held.get(key) or (f"nowhere {number}",))
            where.setdefault(worker, []).extend(group)
        return list(where.values())

    def reduce(
        self,
        task: Callable[..., T],
        add: Callable[[T, T], T],
        items: Sequence[object],
        *common: object,
        label: str = "",
    ) -> T:
        """Run a task over items and add the results on the workers, as a tree of fixed shape."""
        groups, _ = grouped(items)
        parts = self._over(sum_of, items, groups, task, (add, *common), _name(task))
        sums = list(parts)
        while len(sums) > 1:  # neighbors, then neighboring sums, as in tree_sum
            pairs = [[add] * (len(sums) // 2), sums[0:-1:2], sums[1::2]]
            left = sums[len(sums) // 2 * 2 :]
            # Sums have priority over new parts, so that few parts are in memory.
            sums = self._submit(on_one_core, pairs, "add", priority=FIRST) + left
        try:
            # Only the root is kept to the end: parts are released as they are added.
            self._wait(sums, label, parts, [len(group) for group in groups])
            total: T = self._taken(sums, label)[0]
            return total
        finally:
            self._cancel(sums)

    def _welcome(self) -> None:
        """Check the client, and every few seconds the versions of workers that are new."""
        check_client(self.client)
        if time.monotonic() - self._welcomed > CHECK:
            welcome(self.client, self.known, self.patience)
            self._welcomed = time.monotonic()

    def _over(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        groups: list[list[int]],
        task: Callable[..., Any],
        common: tuple[Any, ...],
        label: str,
    ) -> list[Future]:
        """Submit a task over items, a group at a time."""
        self._welcome()
        work = [Group.of([items[at] for at in group]) for group in groups]
        same = [[value] * len(work) for value in (task, *common)]
        columns = [[function] * len(work), [g.bundles for g in work], [g.places for g in work]]
        return self._submit(on_one_core, [*columns, *same], label, [g.worker for g in work])

    def _submit(
        self,
        function: Callable[..., Any],
        columns: list[Any],
        label: str,
        where: Sequence[str] = (),
        priority: int = 0,
    ) -> list[Future]:
        """Submit tasks in one message; ``columns`` has one sequence per argument.

        ``where`` has the worker that each task prefers; others may take it.
        """
        name = f"{PREFIX}{label}-{uuid.uuid4().hex}"
        keys = [f"{name}-{number}" for number in range(len(columns[0]))]
        wishes: AbstractContextManager[object] = nullcontext()
        if where and all(where):
            preferred = {key: [worker] for key, worker in zip(keys, where, strict=True)}
            wishes = dask.annotate(workers=preferred.get, allow_other_workers=True)
        with wishes, dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
            found: list[Future] = self.client.map(
                function, *columns, key=keys, pure=False, priority=priority
            )
        return found

    def _wait(
        self, futures: list[Future], label: str, parts: list[Future], sizes: list[int]
    ) -> None:
        """Wait until all are finished; raise the first error that the cluster cannot recover from.

        Progress is reported on ``parts``, of ``sizes`` items each; the list is emptied as they
        finish.
        """
        left = {part.key: size for part, size in zip(parts, sizes, strict=True)}
        total, pending, reported = sum(sizes), futures, -1
        watch = Watch(self)
        while pending:
            within(self.client, LOOK, _all_done(self.client, pending))
            for future in pending:
                self._check(future, label)
            pending = [future for future in pending if future.status != "finished"]
            parts[:] = [future for future in parts if future.status in ("pending", "lost")]
            done = total - sum(left[part.key] for part in parts)
            if done != reported and self.progress is not None and label:
                self.progress(label, done, total)
            watch.look(done != reported)
            reported = done

    def _taken(self, futures: list[Future], label: str) -> list[Any]:
        """Fetch results; they are recomputed if their worker has just been lost.

        A request is never cancelled, however long it takes: Dask joins later ones to it, which
        would all be cancelled with it.
        """
        watch, request = Watch(self), None
        while True:
            request = request or started(self.client, self.client._gather(futures))
            wait_for([request], timeout=CHECK)
            if request.done():
                # Not by `except`: an alarm of the user may raise an OSError, TimeoutError, here.
                if not (request.cancelled() or isinstance(request.exception(), LOST)):
                    found: list[Any] = request.result()
                    return found
                request = None
                time.sleep(LOOK)
            for future in futures:
                self._check(future, label)
            watch.look(False)

    def _check(self, future: Future, label: str) -> None:
        """Raise the exception of a task; raise EngineError if the cluster failed."""
        if future.status in ("finished", "pending", "lost"):  # what a worker lost is made again
            return
        label = label or str(future.key).removeprefix(PREFIX).rsplit("-", 2)[0]
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
        left = [future for future in futures if future.status in ("pending", "lost", "error")]
        if left and self.client.status == "running":
            self.client.cancel(left, force=True)


async def _all_done(client: Client, pending: list[Future]) -> None:
    """Wait until all futures are done: one after the other, so that few tasks wait on the loop."""
    with client.as_current(), suppress(CancelledError):
        for future in pending:
            await wait([future])


def _same(value: T) -> T:
    return value


def _name(task: Callable[..., Any]) -> str:
    # Dask learns how long tasks take from the words before the first that has other characters.
    return task_name(task).strip("_").replace("_", "-")

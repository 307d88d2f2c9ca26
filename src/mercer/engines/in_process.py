"""Run tasks in this process: in the calling thread, on threads, or on what ``engine=`` names.

Threads are the default of a fit over shards. All engines add as a tree whose shape depends only on
the number of parts: neighbors, then neighboring sums,
``((0 + 1) + (2 + 3)) + 4``. Rounding is then the same wherever the parts were computed and in
whatever order they arrive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

from mercer.contracts import Engine, ShardProgress, T
from mercer.engines.local import available_cores, blas_threads, one_core
from mercer.validation import check_count


def tree_sum(parts: Iterable[T], add: Callable[[T, T], T]) -> T:
    """Add parts as they arrive, in order; at most as many are held as the height of the tree.

    >>> tree_sum("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, T]] = []  # sums of neighbors, with the number of parts in each
    for part in parts:
        count = 1
        while held and held[-1][0] == count:
            part = add(held.pop()[1], part)
            count *= 2
        held.append((count, part))
    if not held:
        raise ValueError("a sum needs at least one part")
    total = held.pop()[1]
    while held:
        total = add(held.pop()[1], total)
    return total


def task_name(task: Callable[..., object]) -> str:
    """Return the name of a task in files and reports."""
    return str(getattr(task, "__name__", "task"))


class InPlaceEngine:
    """Runs tasks one after another in the calling thread; each may use all cores.

    Examples
    --------
    >>> InPlaceEngine().map(pow, [1, 2, 3], 2)
    [1, 4, 9]
    """

    progress: ShardProgress | None = None

    @property
    def width(self) -> int:
        """The number of tasks that run at a time."""
        return 1

    def place(self, items: Sequence[object]) -> list[Any]:
        """Return the items: tasks run in this process."""
        return list(items)

    def share(self, value: object) -> Any:
        """Return the value: memory is shared."""
        return value

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: object) -> list[Any]:
        """Run a task over items; the results stay in this process."""
        return self.map(task, items, *common)

    def map(
        self,
        task: Callable[..., T],
        items: Sequence[object],
        *common: object,
        label: str = "",
        light: bool = False,
    ) -> list[T]:
        """Run a task over items; return the results, in the order of the items."""
        return list(self._results(task, items, common, label))

    def reduce(
        self,
        task: Callable[..., T],
        add: Callable[[T, T], T],
        items: Sequence[object],
        *common: object,
        label: str = "",
    ) -> T:
        """Run a task over items and add the results as they come, as a tree of fixed shape."""
        return tree_sum(self._results(task, items, common, label), add)

    def _results(
        self, task: Callable[..., T], items: Sequence[Any], common: tuple[Any, ...], label: str
    ) -> Iterator[T]:
        """Yield results in order."""
        for done, item in enumerate(items, start=1):
            yield task(item, *common)
            self._report(label, done, len(items))

    def _report(self, label: str, done: int, total: int) -> None:
        """Report how many items are done."""
        if self.progress is not None and label:
            self.progress(label, done, total)


class ThreadEngine(InPlaceEngine):
    """Runs tasks on threads of this process, each on one core.

    Parameters
    ----------
    workers : int or None
        Number of threads; None means one per core.

    Examples
    --------
    >>> engine = ThreadEngine(workers=2)
    >>> engine.map(pow, [1, 2, 3], 2)
    [1, 4, 9]
    >>> engine.reduce(pow, lambda left, right: left + right, [1, 2, 3], 2)
    14
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None:
            check_count(workers, "workers of ThreadEngine")
        self.workers = workers

    def __repr__(self) -> str:
        return f"ThreadEngine(workers={self.workers})"

    @property
    def width(self) -> int:
        """The number of tasks that run at a time."""
        return self.workers or available_cores()

    def _results(
        self,
        task: Callable[..., T],
        items: Sequence[object],
        common: tuple[object, ...],
        label: str,
    ) -> Iterator[T]:
        """Yield results in order; only a few are computed ahead, to limit memory."""
        workers = max(1, min(self.width, len(items)))
        waiting: deque[Future[T]] = deque()
        with (
            blas_threads(1),  # one core each, and bit-identical to a cluster worker
            ThreadPoolExecutor(workers, thread_name_prefix="mercer-shard") as pool,
        ):
            try:
                for done, item in enumerate(items):
                    waiting.append(pool.submit(on_one_core, task, item, *common))
                    if len(waiting) > workers:
                        yield waiting.popleft().result()
                        self._report(label, done - workers + 1, len(items))
                while waiting:
                    yield waiting.popleft().result()
                    self._report(label, len(items) - len(waiting), len(items))
            finally:
                for future in waiting:
                    future.cancel()


def on_one_core(task: Callable[..., T], *arguments: object) -> T:
    """Run a task on one core, because other tasks use the other cores."""
    with one_core():
        return task(*arguments)


def as_engine(engine: object) -> Engine:
    """Return an engine: threads for None, Dask for a client, a cluster or an address.

    >>> as_engine(None)
    ThreadEngine(workers=None)
    """
    if engine is None:
        return ThreadEngine()
    if hasattr(engine, "reduce") and hasattr(engine, "place"):
        return cast(Engine, engine)
    if isinstance(engine, str) and "://" not in engine:
        raise ValueError(
            f"engine must be None, a dask.distributed Client or the address of a scheduler such "
            f"as 'tcp://10.0.0.1:8786', got {engine!r}"
        )
    if not isinstance(engine, str) and not hasattr(engine, "scheduler_info"):
        raise TypeError(
            f"engine must be None, a dask.distributed Client, a cluster or the address of a "
            f"scheduler, got {type(engine).__name__}"
        )
    try:
        from mercer.engines.dask_engine import DaskEngine
    except ImportError as error:
        raise ImportError(
            f"a cluster requires Dask, which is not installed: try pip install 'mercer[dask]' "
            f"({error})"
        ) from error
    return DaskEngine(engine)

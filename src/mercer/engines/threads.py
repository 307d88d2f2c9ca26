"""Run tasks on threads of this process, which is the default, or on what ``engine=`` names."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

from mercer.contracts import Engine, T
from mercer.engines.in_place import InPlaceEngine
from mercer.engines.local import available_cores, blas_threads, one_core
from mercer.validation import check_count


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


def as_engine(engine: Any) -> Engine:
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

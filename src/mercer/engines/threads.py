"""Run tasks on threads of this process: the default engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

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
        task: Callable[..., Any],
        items: Sequence[Any],
        common: tuple[Any, ...],
        label: str,
    ) -> Iterator[Any]:
        """Yield results in order; only a few are computed ahead, to limit memory."""
        workers = max(1, min(self.width, len(items)))
        waiting: deque[Future[Any]] = deque()
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


def on_one_core(task: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task on one core, because other tasks use the other cores."""
    with one_core():
        return task(*arguments)

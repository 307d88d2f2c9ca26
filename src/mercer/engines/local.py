"""Run a stream of tasks on a few threads of this process, each with its own accumulator.

Block i always goes to lane ``i % lanes``, and lanes are merged in order, so the result of a sum
depends only on the number of lanes, never on which thread was faster.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from typing import Generic, TypeVar

import joblib
import scipy.linalg  # noqa: F401  (loads the BLAS that _controller must find)
from threadpoolctl import ThreadpoolController

#: From this order on, matrices are reduced and decomposed on all cores.
THREADED = 2500


class _Here(threading.local):
    one_core = False


_here = _Here()

Item = TypeVar("Item")
Accumulator = TypeVar("Accumulator")
Result = TypeVar("Result")


def available_cores() -> int:
    """Return the number of cores this thread may use: 1 inside a task of an engine, else all.

    "All" respects CPU affinity, cgroups and ``LOKY_MAX_CPU_COUNT``.
    """
    return 1 if _here.one_core else max(1, int(joblib.cpu_count()))


@contextmanager
def one_core() -> Iterator[None]:
    """Limit this thread to one core inside the context."""
    before = _here.one_core
    _here.one_core = True
    try:
        yield
    finally:
        _here.one_core = before


@contextmanager
def blas_threads(number: int) -> Iterator[None]:
    """Limit BLAS to ``number`` threads per call inside the context."""
    with _controller().limit(limits=max(1, number), user_api="blas"):
        yield


def threads_for(order: int) -> AbstractContextManager[None]:
    """Let BLAS use all cores for matrices of this order, or one core if they are small.

    For those more threads save half a second, and on a busy machine they wait for each other:
    beside 20 other processes, eigenvectors of order 2000 took 17 s on two cores and 4 s on one.
    """
    return blas_threads(available_cores() if order >= THREADED else 1)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, so do it once, after SciPy's BLAS is loaded.
    return ThreadpoolController()


class Lanes(Generic[Accumulator]):
    """A few threads, each with one accumulator that its tasks fill one after another.

    Parameters
    ----------
    make : callable
        Builds the accumulator of a lane.
    count : int or None
        Number of lanes; None means one per core.

    Examples
    --------
    >>> lanes = Lanes(list, count=2)
    >>> lanes.run(range(5), lambda items, i: items.append(i * i))
    [[0, 4, 16], [1, 9]]
    """

    def __init__(self, make: Callable[[], Accumulator], count: int | None = None) -> None:
        self.count = count or available_cores()
        self.make = make

    def run(
        self,
        items: Iterable[Item],
        task: Callable[[Accumulator, Item], object],
        done: Callable[[Item], object] | None = None,
    ) -> list[Accumulator]:
        """Call ``task(accumulator, item)`` for every item; return the accumulators in lane order.

        At most two items per lane are waiting, so a stream that is read faster than it is processed
        does not pile up. The first error stops everything and is raised here. ``done(item)`` is
        called in this thread, in order.
        """
        accumulators = [self.make() for _ in range(self.count)]
        if self.count == 1:
            for item in items:
                task(accumulators[0], item)
                if done is not None:
                    done(item)
            return accumulators
        waiting: deque[tuple[Item, Future[object]]] = deque()

        def finish() -> None:
            item, future = waiting.popleft()
            future.result()
            if done is not None:
                done(item)

        with ExitStack() as stack:
            stack.enter_context(blas_threads(available_cores() // self.count))
            workers = [
                stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix=f"mercer-lane-{lane}"))
                for lane in range(self.count)
            ]
            try:
                for index, item in enumerate(items):
                    lane = index % self.count
                    waiting.append((item, workers[lane].submit(task, accumulators[lane], item)))
                    if len(waiting) >= 2 * self.count:
                        finish()
                while waiting:
                    finish()
            finally:
                for _, future in waiting:
                    future.cancel()
        return accumulators


def in_order(
    make: Callable[[], Accumulator],
    items: Iterable[Item],
    task: Callable[[Accumulator, Item], Result],
    count: int | None = None,
    done: Callable[[Item], object] | None = None,
) -> list[Result]:
    """Return ``task(workspace, item)`` for every item, in their order; each lane has a workspace.

    >>> in_order(list, range(5), lambda workspace, i: i * i, 2)
    [0, 1, 4, 9, 16]
    """

    def step(lane: tuple[Accumulator, dict[int, Result]], numbered: tuple[int, Item]) -> None:
        number, item = numbered
        lane[1][number] = task(lane[0], item)

    def finished(numbered: tuple[int, Item]) -> None:
        if done is not None:
            done(numbered[1])

    lanes: Lanes[tuple[Accumulator, dict[int, Result]]] = Lanes(lambda: (make(), {}), count)
    found: dict[int, Result] = {}
    for _, results in lanes.run(enumerate(items), step, finished):
        found |= results
    return [found[number] for number in range(len(found))]

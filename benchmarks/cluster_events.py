"""A discrete-event simulation of tasks on workers with links: a few events, one heap.

A task starts when all its inputs have arrived and its worker is free. An input that another worker
holds is sent: a message takes both ends ``message + bytes / bandwidth`` seconds, one message at a
time in each direction of a link, and arrives ``latency`` seconds later.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Link:
    """What a message takes: seconds of its own, bytes per second, and seconds on the way."""

    message: float
    bandwidth: float
    latency: float

    def seconds(self, size: float) -> float:
        """Return how long a message of so many bytes keeps both ends busy."""
        return self.message + size / self.bandwidth


@dataclass
class Task:
    """Seconds on a worker, and the tasks that wait for its result, with the bytes they need."""

    worker: int
    seconds: float
    missing: int
    readers: list[tuple[int, float]] = field(default_factory=list)


class Simulation:
    """Tasks on workers, in the order in which they were added where several are ready.

    Parameters
    ----------
    link : Link
        What a message between two workers takes.

    Examples
    --------
    >>> cluster = Simulation(Link(message=0.0, bandwidth=10.0, latency=1.0))
    >>> parts = [cluster.add(worker, seconds=2.0) for worker in (1, 2)]
    >>> total = cluster.add(1, 0.5, [(part, 20.0) for part in parts])
    >>> cluster.run()[total]
    5.5
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self.tasks: list[Task] = []

    def add(self, worker: int, seconds: float, inputs: Sequence[tuple[int, float]] = ()) -> int:
        """Add a task; ``inputs`` are earlier tasks with the bytes of their results."""
        number = len(self.tasks)
        self.tasks.append(Task(worker, seconds, len(inputs)))
        for source, size in inputs:
            self.tasks[source].readers.append((number, size))
        return number

    def run(self) -> list[float]:
        """Return when each task ends."""
        ends = [0.0] * len(self.tasks)
        waiting: dict[int, list[int]] = {task.worker: [] for task in self.tasks}
        busy = dict.fromkeys(waiting, False)
        sends, receives = dict.fromkeys(waiting, 0.0), dict.fromkeys(waiting, 0.0)
        missing = [task.missing for task in self.tasks]
        # (time, number, whether it has ended): a task may start, or it has ended.
        events = [(0.0, number, False) for number, left in enumerate(missing) if not left]
        heapq.heapify(events)
        while events:
            now, number, ended = heapq.heappop(events)
            worker = self.tasks[number].worker
            if ended:
                busy[worker] = False
                ends[number] = now
                for reader, size in self.tasks[number].readers:
                    arrival = self._arrival(now, worker, reader, size, sends, receives)
                    heapq.heappush(events, (arrival, reader, False))
            else:
                missing[number] -= 1
                if missing[number] <= 0:
                    heapq.heappush(waiting[worker], number)
            if waiting[worker] and not busy[worker]:
                first = heapq.heappop(waiting[worker])
                busy[worker] = True
                heapq.heappush(events, (now + self.tasks[first].seconds, first, True))
        return ends

    def _arrival(
        self,
        now: float,
        worker: int,
        reader: int,
        size: float,
        sends: dict[int, float],
        receives: dict[int, float],
    ) -> float:
        """Return when a result arrives at the worker of a task that needs it."""
        goal = self.tasks[reader].worker
        if goal == worker:
            return now
        start = max(now, sends[worker], receives[goal])
        sends[worker] = receives[goal] = start + self.link.seconds(size)
        return sends[worker] + self.link.latency

"""Rows in shards, and things that go wrong with them, for tests of fits over shards.

Workers are processes of their own, which import this module: everything a task needs is in here.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mercer
from mercer.moments import add_folds
from mercer.rows import ArraySource

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (600, 3))
Y = (
    np.c_[np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], X[:, 0] ** 2]
    + 0.05 * RNG.standard_normal((600, 2))
    + [5.0, -300.0]
)
WEIGHT = RNG.integers(1, 4, 600).astype(float)
CLASSES = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
NEW = RNG.uniform(-2, 2, (50, 3))
POINTS = X[::15]  # 40 landmarks


def labels(shards: int) -> np.ndarray:
    """Shards of unequal size; the first has a single row, and the last lacks the class "a"."""
    found = np.random.default_rng(1).integers(0, shards, len(X))
    if shards > 2:
        found[found == 0] = 1
        found[0] = 0
        found[(found == shards - 1) & (CLASSES == "a")] = 1
    return found


@dataclass
class Slow(ArraySource):
    """Rows that take their time, and say in a folder which process reads them."""

    def __init__(self, X, y, folder, seconds: float) -> None:
        super().__init__(X, y)
        self.folder, self.seconds = folder, seconds

    def blocks(self, rows):
        Path(self.folder, f"{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(self.seconds)
        yield from super().blocks(rows)


def environment() -> dict[str, str]:
    """The environment for a process of its own that imports the same mercer, and this module."""
    path = (str(Path(__file__).parent), str(Path(mercer.__file__).parents[1]))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def readers(folder) -> list[int]:
    """Processes that have begun to read, the latest first."""
    found = sorted(Path(folder).iterdir(), key=lambda path: path.name.split("-")[1], reverse=True)
    return [int(path.name.split("-")[0]) for path in found]


def when_read(folder, count: int = 1, seconds: float = 60.0) -> int:
    """Wait until so many reads have begun; return the process of the latest."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if len(readers(folder)) >= count:
            return readers(folder)[0]
        time.sleep(0.05)
    raise TimeoutError("nothing was read")


#: Where ``slow_add`` says which process adds; set in the environment of the workers.
ADDING = "MERCER_TEST_ADDING"


def slow_add(left, right):
    """Add moments, slowly."""
    Path(os.environ[ADDING], f"{os.getpid()}-{time.time_ns()}").touch()
    time.sleep(0.5)
    return add_folds(left, right)


def kill(pid: int) -> None:
    """End a process at once: by SIGKILL, or by TerminateProcess, which SIGTERM is on Windows."""
    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def deadly(item):
    """End the process that runs it, always."""
    kill(os.getpid())

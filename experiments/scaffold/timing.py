"""Seconds and bytes: interleaved repeats, one thread, fresh processes and their peaks."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[2]
#: How many cores the library may use, as joblib reads it.
CORES = "LOKY_MAX_CPU_COUNT"
#: How many threads a BLAS may use, as the usual ones read it when they are loaded.
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class Timed:
    """Seconds of every repeat, and what the last one returned."""

    seconds: list[float] = field(default_factory=list)
    value: Any = None

    @property
    def median(self) -> float:
        """The median of the repeats."""
        return statistics.median(self.seconds)

    def add(self, run: Callable[[], Any]) -> None:
        """Run once more."""
        self.value = None
        gc.collect()
        start = time.perf_counter()
        self.value = run()
        self.seconds.append(time.perf_counter() - start)


def interleaved(contenders: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Timed]:
    """Run each contender once a round: a noisy machine is fair to all."""
    results = {name: Timed() for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            results[name].add(run)
            print(f"  {name}: {results[name].seconds[-1]:.2f} s", flush=True)
    return results


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the library and BLAS use one thread.

    So the seconds of methods can be compared, and bits do not depend on the number of cores.
    """
    before = os.environ.get(CORES)
    os.environ[CORES] = "1"
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        if before is None:
            del os.environ[CORES]
        else:
            os.environ[CORES] = before


def peak_bytes() -> int:
    """Return the largest resident size of this process so far; 0 where nobody tells."""
    status = Path("/proc/self/status")
    if status.is_file():
        # getrusage would report the larger of this process and the one that started it
        lines = status.read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # macOS, in bytes


def environment(src: Path | None = None, alone: bool = False) -> dict[str, str]:
    """Return the environment of a child: ``mercer`` from another folder, one thread if alone."""
    changes = {}
    if src is not None:
        changes["PYTHONPATH"] = os.pathsep.join([str(src), str(ROOT)])
    if alone:
        changes |= dict.fromkeys((CORES, *BLAS_THREADS), "1")
    return os.environ | changes


def fresh(
    module: str,
    task: str,
    settings: Mapping[str, Any],
    src: Path | None = None,
    alone: bool = False,
) -> Any:
    """Run a task of a module in a process of its own; return what it answers.

    The module calls :func:`answer` when it is run. The peak of such a process is that of the task.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module, task, json.dumps(settings)],
        cwd=ROOT,
        env=environment(src, alone),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ChildError(f"{task} in a process of its own failed: {last}")
    return json.loads(done.stdout.splitlines()[-1])


class ChildError(RuntimeError):
    """A process that was started for a measurement has failed."""


def answer(tasks: Mapping[str, Callable[..., Any]]) -> None:
    """Do the task that :func:`fresh` asks for, and print its result as the last line."""
    print(json.dumps(tasks[sys.argv[1]](**json.loads(sys.argv[2]))))

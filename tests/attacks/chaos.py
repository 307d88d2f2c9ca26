"""``python -m tests.attacks.chaos --trials 50``: faults at random moments of fits over shards.

Workers are killed or frozen, clients are closed, schedulers are lost, disks are full, and drivers
are lost and resumed from their checkpoint, over estimators and combinations. The result must be
that of a fit without the fault, to the bit, or an error that says what is missing. Besides, all
workers are lost at once, in default fits (:mod:`tests.attacks.losses`).
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from tests.attacks import losses
from tests.attacks.harness import Counts, table

from mercer import EngineError, Gaussian, KernelClassifier, KernelRanker, KernelRegressor, Landmarks
from mercer.engines.dask_engine import DaskEngine
from mercer.opening import opened_rows as sharding
from mercer.rows import ArraySource
from mercer.rows.shards import Shard

Rng = np.random.Generator
KINDS = {"regressor": KernelRegressor, "classifier": KernelClassifier, "ranker": KernelRanker}
COMBINATIONS: dict[str, dict[str, Any]] = {
    "sum": {"combine": "sum"},
    "average": {"combine": "average"},
    "conjugate": {"combine": "conjugate", "rounds": 6},
    "newton": {"combine": "newton", "rounds": 4},
    "products": {"combine": "sum", "solver": "pcg"},
}
#: How another process runs this module.
ITSELF = [sys.executable, "-m", "tests.attacks.chaos"]
#: Rows and shards of a fit.
ROWS, SHARDS = 4_000, 8


class SlowRows(ArraySource):
    """Rows that take their time in every pass, so that faults find a fit at work."""

    def blocks(self, rows: int) -> Iterator[Any]:
        """Wait, then yield the rows."""
        time.sleep(0.2)
        yield from super().blocks(rows)


def slow_cut(source: Any, shards: int, rng: Any = None) -> list[Shard]:
    """Cut rows into shards that take their time, of one row in ``shards`` each."""
    (block,) = source.blocks(source.n_rows)
    parts = [np.arange(first, source.n_rows, shards) for first in range(shards)]
    return [
        Shard(number, f"shard {number}", SlowRows(block.X[part], block.y[part]), origin=part)
        for number, part in enumerate(parts)
    ]


def problem(kind: str) -> tuple[Any, Any]:
    """Return rows and targets, the same in every process."""
    rng = np.random.default_rng(7)
    X = rng.random((ROWS, 4))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, (y > 0.7).astype(int) if kind == "classifier" else y


def model_of(kind: str, combination: str, **more: Any) -> Any:
    """Return an estimator whose fit takes a while."""
    common = {"random_state": 0, "alpha": 1e-5, "shards": SHARDS, **more}
    settings = {**COMBINATIONS[combination], **common}
    return KINDS[kind](Gaussian(0.5), Landmarks(150), metric=None, scale=None, **settings)


def undisturbed(kind: str, combination: str, known: dict[tuple[str, str], Any]) -> Any:
    """Return the coefficients of a fit on threads, which have the same bits."""
    if (kind, combination) not in known:
        known[kind, combination] = model_of(kind, combination).fit(*problem(kind)).dual_coef_
    return known[kind, combination]


def after(seconds: float, act: Callable[[], None]) -> threading.Timer:
    """Start a timer."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


def with_fault(kind: str, combination: str, rng: Rng, number: int) -> Any:
    """Fit on a cluster of its own, while workers are hit by a signal."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(__import__, "mercer")
        return hit_in_a_fit(client, kind, combination, rng, number)


def hit_in_a_fit(client: Client, kind: str, combination: str, rng: Rng, number: int) -> Any:
    """Fit, and send a signal to one or two of three workers meanwhile."""
    pids = [pid for pid in client.run(os.getpid).values() if isinstance(pid, int)]
    chosen = rng.permutation(pids)[: 1 + int(rng.random() < 0.3)]

    def hit(with_signal: int) -> None:
        for pid in chosen:
            try:
                os.kill(int(pid), with_signal)
            except ProcessLookupError:  # its nanny was faster
                continue

    timer = after(float(rng.uniform(0.05, 1.5)), lambda: hit(number))
    try:
        engine = DaskEngine(client, silence=5.0)
        return model_of(kind, combination, engine=engine).fit(*problem(kind)).dual_coef_
    finally:
        timer.cancel()
        hit(signal.SIGCONT)  # a frozen worker that is left cannot be closed


def closed_client(kind: str, combination: str, rng: Rng) -> Any:
    """Close the client of a fit at a random moment: an error, in time."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(__import__, "mercer")
        timer = after(float(rng.uniform(0.05, 1.5)), client.close)
        try:
            return model_of(kind, combination, engine=client).fit(*problem(kind)).dual_coef_
        finally:
            timer.cancel()
            timer.join()


def lost_scheduler(kind: str, combination: str, rng: Rng) -> Any:
    """Kill the process of a scheduler at a random moment: an error, in time."""
    process = subprocess.Popen([*ITSELF, "--cluster"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        timer = after(float(rng.uniform(0.2, 2.0)), process.kill)
        try:
            return model_of(kind, combination, engine=address).fit(*problem(kind)).dual_coef_
        finally:
            timer.cancel()
            timer.join()
    finally:
        process.kill()
        process.wait(30)


def full_disk(kind: str, combination: str, rng: Rng) -> Any:
    """Let no file of a checkpoint grow beyond a size, then go on where there is room."""
    with tempfile.TemporaryDirectory() as folder:
        size = int(rng.choice([0, 2_000, 50_000, 400_000]))
        limited = [*ITSELF, "--limit", str(size), "--fit", kind, combination, folder]
        ended = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=120)
        if ended.returncode and "OSError" not in ended.stderr:
            raise AssertionError(f"not an OSError: {ended.stderr[-300:]}")
        found = model_of(kind, combination, checkpoint=Path(folder) / "kept").fit(*problem(kind))
        check_left(folder)
        return found.dual_coef_


def check_left(folder: str) -> None:
    """Raise AssertionError if files that were being written are left behind."""
    left = [path for path in Path(folder).rglob("*") if path.suffix in (".tmp", ".partial")]
    assert not left, f"left behind: {left}"


def lost_driver(kind: str, combination: str, rng: Rng) -> Any:
    """Kill a driver at a random moment, and go on from its checkpoint in this process."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([*ITSELF, "--fit", kind, combination, folder])
        time.sleep(float(rng.uniform(1.5, 4.5)))
        process.kill()
        process.wait(30)
        found = model_of(kind, combination, checkpoint=Path(folder) / "kept").fit(*problem(kind))
        check_left(folder)
        return found.dual_coef_


def trial(
    rng: Rng, counts: dict[str, Counts], known: dict[Any, Any], folder: Path, only: list[str]
) -> None:
    """Run one trial, and count."""
    kind, combination = str(rng.choice([*KINDS])), str(rng.choice([*COMBINATIONS]))
    faults: dict[str, Callable[[], Any]] = {
        "killed worker": lambda: with_fault(kind, combination, rng, signal.SIGKILL),
        "frozen worker": lambda: with_fault(kind, combination, rng, signal.SIGSTOP),
        "closed client": lambda: closed_client(kind, combination, rng),
        "lost scheduler": lambda: lost_scheduler(kind, combination, rng),
        "lost driver": lambda: lost_driver(kind, combination, rng),
        "full disk": lambda: full_disk(kind, combination, rng),
    }
    name = str(rng.choice(only or [*faults, *losses.LOSSES]))
    count = counts.setdefault(name, Counts())
    if name in losses.LOSSES:
        expected, faults[name] = True, lambda: losses.lost(name, rng, folder)
    else:
        expected = undisturbed(kind, combination, known)
    count.tried += 1
    began = time.monotonic()
    try:
        found = faults[name]()
    except EngineError:
        count.refused += 1
        found = expected
        count.right -= 1
    except Exception as error:  # noqa: BLE001  a fault may raise anything: that is what is counted
        count.wrong += 1
        count.found.append(f"{kind} {combination}: {type(error).__name__}: {error}"[:600])
        return
    same = np.array_equal(found, expected)
    count.right += same
    count.wrong += not same
    if not same:
        count.found.append(f"{kind} {combination}: other bits")
    if time.monotonic() - began > 120:
        count.hung += 1
        count.found.append(f"{kind} {combination}: {time.monotonic() - began:.0f} s")


def main() -> int:
    """Run trials, or one fit for a driver that will be lost."""
    parser = ArgumentParser(prog="python -m tests.attacks.chaos")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no trial after")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", metavar="FAULT", help="the faults to try")
    parser.add_argument("--cluster", action="store_true", help="serve a cluster until killed")
    parser.add_argument("--limit", type=int, help="bytes that a file may have")
    parser.add_argument("--fit", nargs=3, metavar=("KIND", "COMBINATION", "FOLDER"))
    asked = parser.parse_args()
    sharding.cut = slow_cut
    if asked.cluster:
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            print(cluster.scheduler_address, flush=True)
            time.sleep(600)
        return 0
    if asked.limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked.limit, asked.limit))
    if asked.fit:
        kind, combination, folder = asked.fit
        model_of(kind, combination, checkpoint=Path(folder) / "kept").fit(*problem(kind))
        return 0
    counts: dict[str, Counts] = {}
    known: dict[Any, Any] = {}
    end = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.trials):
            if time.monotonic() < end:
                rng, began = np.random.default_rng([asked.seed, number]), time.monotonic()
                trial(rng, counts, known, Path(folder), asked.only)
                wrong = sum(one.wrong + one.hung for one in counts.values())
                took = f"{time.monotonic() - began:.0f} s, {wrong} wrong"
                print(f"{number + 1} of {asked.trials}, {took}", file=sys.stderr, flush=True)
        losses.close()
    print(table(counts))
    print("all workers were lost in", dict(losses.stages))
    return int(any(one.wrong or one.hung for one in counts.values()))


if __name__ == "__main__":
    sys.exit(main())

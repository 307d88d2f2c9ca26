"""``python -m tests.attacks.chaos --trials 50``: faults at random moments of fits over shards.

Workers are killed or frozen, clients are closed, and drivers are lost and resumed from their
checkpoint, over estimators and combinations. The result must be that of a fit without the fault, to
the bit, or an error that says what is missing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from tests.attacks.harness import Counts, table

from mercer import EngineError, Gaussian, KernelClassifier, KernelRanker, KernelRegressor, Landmarks
from mercer.engines.dask_engine import DaskEngine

Rng = np.random.Generator
KINDS = {"regressor": KernelRegressor, "classifier": KernelClassifier, "ranker": KernelRanker}
COMBINATIONS: dict[str, dict[str, Any]] = {
    "sum": {"combine": "sum"},
    "average": {"combine": "average"},
    "conjugate": {"combine": "conjugate", "rounds": 6},
    "newton": {"combine": "newton", "rounds": 4},
    "products": {"combine": "sum", "solver": "pcg"},
}
#: Rows of a fit: enough for a second or two.
ROWS, SHARDS = 12_000, 8


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
        known[kind, combination] = model_of(kind, combination).fit(*problem(kind)).coef_
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
        return model_of(kind, combination, engine=engine).fit(*problem(kind)).coef_
    finally:
        timer.cancel()
        hit(signal.SIGCONT)  # a frozen worker that is left cannot be closed


def lost_driver(kind: str, combination: str, rng: Rng) -> Any:
    """Kill a driver at a random moment, and go on from its checkpoint in this process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.attacks.chaos", "--fit", kind, combination, folder]
        process = subprocess.Popen(command)
        time.sleep(float(rng.uniform(1.0, 5.0)))
        process.kill()
        process.wait(30)
        found = model_of(kind, combination, checkpoint=Path(folder) / "kept").fit(*problem(kind))
        left = [path for path in Path(folder).rglob("*") if path.suffix in (".tmp", ".partial")]
        assert not left, f"left behind: {left}"
        return found.coef_


def trial(rng: Rng, counts: dict[str, Counts], known: dict[Any, Any]) -> None:
    """Run one trial, and count."""
    kind, combination = str(rng.choice([*KINDS])), str(rng.choice([*COMBINATIONS]))
    faults: dict[str, Callable[[], Any]] = {
        "killed worker": lambda: with_fault(kind, combination, rng, signal.SIGKILL),
        "frozen worker": lambda: with_fault(kind, combination, rng, signal.SIGSTOP),
        "lost driver": lambda: lost_driver(kind, combination, rng),
    }
    name = str(rng.choice([*faults]))
    count = counts.setdefault(name, Counts())
    expected = undisturbed(kind, combination, known)
    count.tried += 1
    began = time.monotonic()
    try:
        found = faults[name]()
    except EngineError:
        count.refused += 1
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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fit", nargs=3, metavar=("KIND", "COMBINATION", "FOLDER"))
    asked = parser.parse_args()
    if asked.fit:
        kind, combination, folder = asked.fit
        model_of(kind, combination, checkpoint=Path(folder) / "kept").fit(*problem(kind))
        return 0
    counts: dict[str, Counts] = {}
    known: dict[Any, Any] = {}
    for number in range(asked.trials):
        trial(np.random.default_rng([asked.seed, number]), counts, known)
        print(f"{number + 1} of {asked.trials}", file=sys.stderr, flush=True)
    print(table(counts))
    return int(any(one.wrong or one.hung for one in counts.values()))


if __name__ == "__main__":
    sys.exit(main())

"""One fit of one method to one split, in a process of its own, and the records of such fits."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from experiments.scaffold.json_lines import read_lines
from experiments.scaffold.timing import ROOT, answer, fresh

from benchmarks.peers import METHODS, SIZES
from benchmarks.table_sets import CLASSIFICATION, RANKING, SETS, SMALL, Rows, made_up
from mercer.metrics import ndcg

#: Methods and sets by their names, those of the picture and of the miniature among them.
ALL_METHODS, ALL_SETS = METHODS | SIZES, SETS | SMALL


@dataclass(frozen=True)
class Record:
    """What was measured: RMSE, share of wrong classes or 1 - NDCG@10, and seconds.

    ``processor`` counts the seconds of all threads during the fit, which other work on the
    machine disturbs least.
    """

    name: str
    split: int
    method: str
    error: float
    fit: float
    processor: float
    predict: float
    version: str
    commit: str = ""
    seconds: float | None = None  # that a search was given
    threads: int = 0
    load: float = 0.0  # processes that wanted to run just before, this one among them
    when: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """What is measured once."""
        return self.name, self.split, self.method


def error_of(kind: str, rows: Rows, found: Any) -> float:
    """Return RMSE, the share of wrong classes, or 1 - NDCG@10."""
    found = np.asarray(found)
    if kind == CLASSIFICATION:
        return float(np.mean(found.reshape(-1) != rows.y_test))
    if kind == RANKING:
        return 1 - ndcg(rows.y_test, found, rows.qid_test, k=10)
    return math.sqrt(float(np.mean((found.reshape(-1) - rows.y_test) ** 2)))


def fit(name: str, split: int, method: str, seconds: float | None = None) -> dict[str, Any]:
    """Fit few rows so that all is imported and warm, then those of the split; return a record."""
    table, does = ALL_SETS[name], ALL_METHODS[method]
    given = {"seconds": seconds} if does.timed else {}
    few = made_up(table.kind, 0)
    warm = {"seconds": 0.1} if does.timed else {}
    does.fit(does.make(table.kind, split, **warm), few).predict(few.X_test)
    rows = table.rows(split)
    model = does.make(table.kind, split, **given)
    gc.collect()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    start, used = time.perf_counter(), time.process_time()
    does.fit(model, rows)
    fitted, processor = time.perf_counter() - start, time.process_time() - used
    start = time.perf_counter()
    predictions = model.predict(rows.X_test)
    predicted = time.perf_counter() - start
    return asdict(
        Record(
            name,
            split,
            method,
            error_of(table.kind, rows, predictions),
            fitted,
            processor,
            predicted,
            does.version,
            commit() if does.package == "mercer" else "",
            threads=joblib.cpu_count(),
            load=load,
            when=time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
            **given,
        )
    )


def measure(name: str, split: int, method: str, seconds: float | None = None) -> Record:
    """Fit in a fresh process: no method finds the memory and the threads of another.

    Threads that have nothing to do sleep: on a busy machine OpenMP's spinning made fits of boosted
    trees up to forty times longer. Set ``OMP_WAIT_POLICY`` to have it otherwise.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    settings = {"name": name, "split": split, "method": method, "seconds": seconds}
    return Record(**fresh("benchmarks.table_fit", "fit", settings))


def commit() -> str:
    """Return the commit of this checkout, with a + if files of the library have changed since."""
    ask = ["git", "-C", str(ROOT)]
    try:
        found = subprocess.run(
            [*ask, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        )
        changed = subprocess.run(
            [*ask, "status", "--porcelain", "--", "src"], capture_output=True, text=True
        )
    except FileNotFoundError:  # no git
        return ""
    return found.stdout.strip() + ("+" if changed.stdout.strip() else "")


def read(path: Path) -> dict[tuple[str, int, str], Record]:
    """Read a record a line; the last one of a key counts."""
    return {record.key: record for record in read_lines(path, Record)}


if __name__ == "__main__":
    answer({"fit": fit})

"""mercer beside kernel methods that are built on PyTorch, with XGBoost for scale.

``python -m benchmarks neighbors`` measures what has no record yet and writes the tables; it needs
``pip install xgboost-cpu xrfm gpytorch``, and says what of it is missing.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from experiments.scaffold.json_lines import append_line
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import answer, fresh

from benchmarks import neighbor_models, peers
from benchmarks.peers import TABLES, Method
from benchmarks.table_fit import Record, commit, error_of, read
from benchmarks.table_sets import CLASSIFICATION, REGRESSION, SETS, Rows, made_up
from benchmarks.tables import told

RECORDS = Path(__file__).with_name("neighbors.jsonl")
NAMES = ("california_housing", "kin40k", "elevators", "eeg_eye_state")
SPLITS = 2
#: Rows of a split that are used: an exact Gaussian process takes minutes for these.
TRAIN, TEST = 4000, 4000


def xrfm(kind: str, seed: int) -> neighbor_models.XRFM:
    return neighbor_models.XRFM(kind == CLASSIFICATION, seed)


def gaussian_process(kind: str, seed: int) -> neighbor_models.GaussianProcess:
    return neighbor_models.GaussianProcess(seed)


METHODS = {
    "mercer": Method("mercer", TABLES, partial(peers.mercer, {})),
    "XGBoost": Method("xgboost", TABLES, partial(peers.xgboost, peers.SUFFIX)),
    "xRFM": Method("xrfm", TABLES, xrfm),
    "GPyTorch": Method("gpytorch", (REGRESSION,), gaussian_process),
}


def some(name: str, split: int) -> Rows:
    """Return some rows of a split."""
    rows = SETS[name].rows(split)
    return Rows(rows.X[:TRAIN], rows.y[:TRAIN], rows.X_test[:TEST], rows.y_test[:TEST])


def fit(name: str, split: int, method: str) -> dict[str, Any]:
    """Fit few rows so that all is imported and warm, then those of the split; return a record."""
    kind, does = SETS[name].kind, METHODS[method]
    few = made_up(kind, 0)
    does.make(kind, split).fit(few.X, few.y).predict(few.X_test)
    rows, model = some(name, split), does.make(kind, split)
    gc.collect()
    start, used = time.perf_counter(), time.process_time()
    model.fit(rows.X, rows.y)
    fitted, processor = time.perf_counter() - start, time.process_time() - used
    start = time.perf_counter()
    predictions = model.predict(rows.X_test)
    predicted = time.perf_counter() - start
    error = error_of(kind, rows, predictions)
    version = does.version + (f" ({commit()})" if method == "mercer" else "")
    record = Record(name, split, method, error, fitted, processor, predicted, version)
    return asdict(record) | {"threads": joblib.cpu_count(), "commit": ""}


def measure_missing(path: Path) -> list[Record]:
    """Measure what has no record, split by split and method by method; return all records."""
    known = read(path)
    for split in range(SPLITS):
        for name in NAMES:
            for method, does in METHODS.items():
                if SETS[name].kind not in does.kinds or (name, split, method) in known:
                    continue
                if not does.installed:
                    print(f"  {method} is not installed: {name} is not measured", flush=True)
                    continue
                settings = {"name": name, "split": split, "method": method}
                record = Record(**fresh("benchmarks.neighbors", "fit", settings))
                append_line(path, record)
                print(f"  {told(record)}", flush=True)
    return list(read(path).values())


def table(records: Sequence[Record], field: str, digits: str) -> Table:
    """Return a row a set and a column a method, with the means over the splits."""
    made = Table(["", *METHODS])
    for name in NAMES:
        cells = []
        for method in METHODS:
            values = [getattr(r, field) for r in records if (r.name, r.method) == (name, method)]
            cells.append(format(np.mean(values), digits) if values else "-")
        made.add([name, *cells])
    return made


def run() -> list[object]:
    records = measure_missing(RECORDS)
    versions = sorted({record.version for record in records})
    return [
        f"The first {TRAIN:,} training and {TEST:,} test rows of {SPLITS} splits of tables above; "
        "each fit in a process of its own, method after method. mercer and XGBoost at their "
        "defaults, on raw columns. xRFM at its defaults, on standardized columns and with a fifth "
        "of the rows to validate on, as its first example has it. GPyTorch is the exact Gaussian "
        "process of its first regression example (constant mean, RBF kernel with one length scale, "
        f"{neighbor_models.STEPS} steps of Adam), on standardized columns: whoever knows Gaussian "
        "processes will write a better one. No GPU. Falkon is not measured: it has to be compiled.",
        "Root mean squared errors, for eeg_eye_state the share of wrong classes:",
        table(records, "error", ".4f"),
        "Seconds to fit:",
        table(records, "fit", ".1f"),
        f"Measured with {', '.join(versions)}.",
    ]


if __name__ == "__main__":
    answer({"fit": fit})

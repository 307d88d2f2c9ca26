"""How many functions: a model that grows against fixed numbers of landmarks, on real tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.data import PLAIN
from benchmarks.table_sets import CLASSIFICATION, SETS, Rows
from mercer import KernelClassifier, KernelRegressor, Landmarks
from mercer.kernels import Kernel

#: The most training rows of each table.
NAMES = {
    "california_housing": 60_000,
    "elevators": 60_000,
    "kin40k": 60_000,
    "bike": 60_000,
    "keggundirected": 60_000,
    "us_flights_2001": 50_000,
    "letter": 60_000,
    "pendigits": 60_000,
    "usps": 60_000,
    "eeg_eye_state": 60_000,
    "higgs_subset": 60_000,
    "covtype": 60_000,
}
AUTO, ALWAYS, MOST = "auto", 2000, 4000
FIXED = (500, 1000, ALWAYS, MOST)


def first(found: Rows, rows: int) -> Rows:
    """Return a split with at most so many rows to train on."""
    return Rows(found.X[:rows], found.y[:rows], found.X_test, found.y_test)


def estimator(kind: str, **settings: Any) -> Any:
    """Return a model without intervals or calibration: what is compared is the fit itself."""
    if kind == CLASSIFICATION:
        return KernelClassifier(calibration=None, random_state=0, **settings)
    return KernelRegressor(intervals=None, random_state=0, **settings)


def kernel_of(kind: str, rows: Rows) -> Kernel:
    """Return the kernel, in its metric, that a search with few functions finds."""
    found = estimator(kind, basis=Landmarks(FIXED[0])).fit(rows.X, rows.y).kernel_
    assert isinstance(found, Kernel)
    return found


def error(kind: str, model: Any, rows: Rows) -> float:
    """Return the error rate, or the root mean squared error relative to the spread of y."""
    found = model.predict(rows.X_test)
    if kind == CLASSIFICATION:
        return float(np.mean(found != rows.y_test))
    return float(np.sqrt(np.mean((found - rows.y_test) ** 2)) / rows.y_test.std())


def contenders(kind: str, rows: Rows, kernel: Kernel) -> Mapping[str, Callable[[], Any]]:
    """Return fits of one kernel with a number of functions that grows, and with fixed ones."""
    bases = {AUTO: Landmarks(AUTO)}
    bases |= {f"{size}": Landmarks(size) for size in FIXED if size <= len(rows.X)}
    return {
        name: lambda basis=basis: estimator(kind, kernel=kernel, basis=basis, **PLAIN).fit(
            rows.X, rows.y
        )
        for name, basis in bases.items()
    }


def line(name: str, kind: str, rows: Rows, repeats: int) -> tuple[list[str], float, float]:
    """Return a row of the table, the ratio of errors to the most, and of seconds to always."""
    timed = interleaved(contenders(kind, rows, kernel_of(kind, rows)), repeats)
    errors = {key: error(kind, found.value, rows) for key, found in timed.items()}
    most = f"{MOST}" if f"{MOST}" in timed else list(timed)[-1]
    worse = errors[AUTO] / errors[most]
    faster = timed[f"{ALWAYS}"].median / timed[AUTO].median
    path = timed[AUTO].value.size_path_
    cells = [name, f"{len(rows.X):,}", f"{path.sizes[-1]:,}"]
    for key in timed:
        cells.append(f"{errors[key]:.4f} ({timed[key].median:.1f} s)")
    cells += ["-"] * (1 + len(FIXED) - len(timed))
    return [*cells, f"{worse:.3f}", f"{faster:.2f}"], worse, faster


def run(repeats: int, names: Mapping[str, int] = NAMES) -> list[object]:
    """Compare them on real tables."""
    head = [f"M = {size:,}" for size in FIXED]
    table = Table(
        ["", "rows", "M of auto", AUTO, *head, f"error / M = {MOST:,}", f"M = {ALWAYS:,} / time"]
    )
    ratios = []
    for name, most in names.items():
        kind = SETS[name].kind
        print(name, flush=True)
        cells, *ratio = line(name, kind, first(SETS[name].rows(0), most), repeats)
        table.add(cells)
        ratios.append(ratio)
    worse, faster = np.exp(np.log(ratios).mean(axis=0))
    return [
        "The kernel and metric of a search, with a number of landmarks that grows and with fixed "
        "ones: error (root mean squared error by the spread of y, or error rate) and seconds of a "
        f"fit that chooses alpha, without intervals. Medians of {repeats} interleaved repeats. "
        f"Geometric means of the last two columns: {worse:.3f} and {faster:.2f}.",
        table,
    ]

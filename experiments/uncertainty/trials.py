"""Fit a method to every split that has no record yet, and keep a record a line."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.table_fit import commit
from benchmarks.table_sets import CLASSIFICATION, REGRESSION, Rows, made_up

from experiments.scaffold.data import AbsentError
from experiments.scaffold.json_lines import append_line, read_lines, rewrite_lines
from experiments.scaffold.runner import Job
from experiments.scaffold.timing import one_thread
from experiments.uncertainty import interval_methods, probability_methods
from experiments.uncertainty.problems import Size, class_rows, regression_rows, shifted_rows
from experiments.uncertainty.scores import (
    LEVELS,
    brier,
    calibration_error,
    coverage,
    error,
    interval_score,
    log_loss,
    width,
)

#: Where tested rows are: drawn like those trained on, or near and far after far ones were left out.
DRAWN, INSIDE, OUTSIDE = "drawn", "inside", "outside"
#: The commit of the library that a run has loaded, whatever is checked out while it goes on.
code = cache(commit)


@dataclass(frozen=True)
class Cost:
    """Seconds of the clock and of the processor, and what was run when."""

    fit: float
    processor: float
    predict: float
    load: float  # processes that wanted to run just before, this one among them
    version: str
    when: str
    commit: str = ""


@dataclass(frozen=True)
class Intervals:
    """What intervals are worth, level by level, in standard deviations of y trained on."""

    name: str
    split: int
    method: str
    where: str
    rows: int
    tested: int
    coverage: tuple[float, ...]
    width: tuple[float, ...]
    score: tuple[float, ...]
    fit: float
    processor: float
    predict: float
    load: float
    version: str
    when: str
    commit: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """What is measured once."""
        return self.name, self.split, self.method


@dataclass(frozen=True)
class Probabilities:
    """What probabilities are worth."""

    name: str
    split: int
    method: str
    rows: int
    tested: int
    log_loss: float
    brier: float
    calibration_error: float
    error: float
    fit: float
    processor: float
    predict: float
    load: float
    version: str
    when: str
    commit: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """What is measured once."""
        return self.name, self.split, self.method


@dataclass(frozen=True)
class Part:
    """A method on the splits of a table: how rows are found, and what records they give."""

    table: str
    method: str
    kind: type
    missing: str
    sets: Callable[[Size], tuple[str, ...]]
    splits: Callable[[Size], int]
    measure: Callable[[str, int, Size], list[Any]]
    warm: Callable[[], object]

    def keys(self, size: Size) -> Iterator[tuple[str, int, str]]:
        """Yield what is measured, split by split."""
        for split in range(self.splits(size)):
            for name in self.sets(size):
                yield name, split, self.method

    def __call__(self, job: Job) -> dict[str, str]:
        """Measure what has no record, or everything anew unless a run is resumed."""
        path: Path = job.folder / f"{self.table}.jsonl"
        if self.missing:
            job.progress(f"{job.part}: skipped: {self.missing}")
            return {}
        wanted = list(self.keys(job.size))
        if not job.resume and path.is_file():
            kept = read_lines(path, self.kind)
            rewrite_lines(path, (one for one in kept if one.key not in wanted))
        absent: set[str] = set()
        code()
        with one_thread():
            self.warm()
            for name, split, method in wanted:
                done = {one.key for one in read_lines(path, self.kind)}
                if (name, split, method) in done or name in absent:
                    continue
                try:
                    found = self.measure(name, split, job.size)
                except AbsentError as why:
                    job.progress(f"{name}: skipped, as it is not at hand: {why}")
                    absent.add(name)
                    continue
                for one in found:
                    append_line(path, one)
                job.progress(f"{self.table}, {method}, {name}, split {split}: {found[0].fit:.1f} s")
        return {}


def timed(
    fit: Callable[[], Any], predict: Callable[[Any], Any], version: str
) -> tuple[Any, Any, Cost]:
    """Fit and predict once each; return the model, what it predicts, and the seconds of both."""
    gc.collect()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    start, used = time.perf_counter(), time.process_time()
    model = fit()
    fitted, processor = time.perf_counter() - start, time.process_time() - used
    start = time.perf_counter()
    found = predict(model)
    predicted = time.perf_counter() - start
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    made = code() if version.startswith("mercer") else ""
    return model, found, Cost(fitted, processor, predicted, load, version, when, made)


def interval_record(
    name: str, split: int, method: str, where: str, rows: Rows, intervals: Any, cost: Cost
) -> Intervals:
    """Return the record of some intervals of test rows."""
    unit = float(np.std(rows.y))
    values = {
        "coverage": coverage(rows.y_test, intervals),
        "width": width(intervals) / unit,
        "score": interval_score(rows.y_test, intervals) / unit,
    }
    each: dict[str, Any] = {what: tuple(map(float, value)) for what, value in values.items()}
    each |= vars(cost)
    return Intervals(name, split, method, where, len(rows.X), len(rows.X_test), **each)


def measure_intervals(method: str, name: str, split: int, size: Size) -> list[Intervals]:
    """Fit a split, and return the record of its test rows."""
    does = interval_methods.methods(size.gp_rows)[method]
    rows = regression_rows(name, split, size)
    _, found, cost = timed(
        lambda: does.fit(rows.X, rows.y, LEVELS, split),
        lambda f: f(rows.X_test),
        does.needs.version,
    )
    return [interval_record(name, split, method, DRAWN, rows, found, cost)]


def measure_shifted(method: str, name: str, split: int, size: Size) -> list[Intervals]:
    """Fit the near rows of a split, and return the records of near rows and of far ones."""
    does = interval_methods.methods(size.gp_rows)[method]
    inside, outside = shifted_rows(name, split, size)
    model, found, cost = timed(
        lambda: does.fit(inside.X, inside.y, LEVELS, split),
        lambda f: f(inside.X_test),
        does.needs.version,
    )
    return [
        interval_record(name, split, method, INSIDE, inside, found, cost),
        interval_record(name, split, method, OUTSIDE, outside, model(outside.X_test), cost),
    ]


def measure_probabilities(method: str, name: str, split: int, size: Size) -> list[Probabilities]:
    """Fit a split, and return the record of its test rows."""
    does = probability_methods.METHODS[method]
    rows = class_rows(name, split, size)
    _, p, cost = timed(
        lambda: does.make(split).fit(rows.X, rows.y),
        lambda model: np.asarray(model.predict_proba(rows.X_test)),
        does.needs.version,
    )
    measures = (log_loss, brier, calibration_error, error)
    each: dict[str, Any] = {measure.__name__: measure(rows.y_test, p) for measure in measures}
    each |= vars(cost)
    return [Probabilities(name, split, method, len(rows.X), len(rows.X_test), **each)]


def warm_intervals(method: str) -> None:
    """Fit few rows, so that all is imported before anything is timed."""
    few = made_up(REGRESSION, 0)
    interval_methods.methods(50)[method].fit(few.X, few.y, LEVELS[:1], 0)(few.X_test)


def warm_probabilities(method: str) -> None:
    """Fit few rows, so that all is imported before anything is timed."""
    few = made_up(CLASSIFICATION, 0)
    probability_methods.METHODS[method].make(0).fit(few.X, few.y).predict_proba(few.X_test)

"""Search, fit and measure, fold by fold."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.learning_to_rank import kernel, trees
from experiments.learning_to_rank.data import PARTS, Fold, fold, load, shortened
from experiments.learning_to_rank.measures import Measures, measure
from experiments.learning_to_rank.methods import Method, Settings
from experiments.scaffold import Array
from experiments.scaffold.records import as_json
from experiments.scaffold.runner import Job, Kept
from experiments.scaffold.timing import one_thread
from mercer.metrics import ndcg

METHODS: dict[str, Method] = {
    "kernel": kernel.GAUSSIAN,
    "linear": kernel.LINEAR,
    "xgboost pairwise": trees.PAIRWISE,
    "xgboost ndcg": trees.NDCG,
    "lightgbm": trees.LAMBDARANK,
}


@dataclass(frozen=True)
class Size:
    """How much is run."""

    repeats: int = 3  # of the last fit, which is timed
    queries: int | None = None  # of each part; None for all
    methods: Mapping[str, Method] = field(default_factory=lambda: METHODS)


FULL = Size()
SMALL = Size(1, 30, {name: method.shortened() for name, method in METHODS.items()})
#: The names of folds, by their numbers.
FOLDS = {f"fold{number}": number for number in range(1, PARTS + 1)}


@dataclass(frozen=True)
class Search:
    """What a search on the validation part chose."""

    settings: Settings
    ndcg: float
    configurations: int
    seconds: float


@dataclass(frozen=True)
class Found:
    """One method on one fold."""

    fold: int
    search: Search
    fit_seconds: float  # median of the repeats
    test: Measures


@dataclass
class Results:
    """Everything that was measured: the folds of every method."""

    methods: Mapping[str, Method]
    found: dict[str, list[Found]]

    def by_query(self, name: str) -> Array:
        """NDCG@10 of the queries of all test parts."""
        return np.concatenate([one.test.by_query for one in self.found[name]])


def read(folder: Path, size: Size) -> Results | None:
    """Return the folds that were kept, if any was."""
    paths = [folder / f"{name}.json" for name in FOLDS]
    folds = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
    found = {name: [found_of(kept[name]) for kept in folds] for name in size.methods}
    return Results(size.methods, found) if folds else None


def found_of(kept: dict[str, Any]) -> Found:
    """Return what was kept of one method on one fold."""
    test = kept["test"]
    measures = Measures(
        tuple(test["ndcg"]),
        test["pairwise_error"],
        tuple(test["letor"]),
        np.array(test["by_query"]),
    )
    return Found(kept["fold"], Search(**kept["search"]), kept["fit_seconds"], measures)


def run(job: Job) -> Kept:
    """Run all methods on an official fold, one thread each."""
    number, methods = FOLDS[job.part], job.size.methods
    for method in methods.values():
        method.check()
    rows = fold([shortened(part, job.size.queries) for part in load()], number)
    with one_thread():
        found = run_fold(rows, methods, job.size.repeats)
    for name, one in found.items():
        job.progress(
            f"fold {number}, {methods[name].label}: NDCG@10 "
            f"{one.search.ndcg:.4f} on validation, {one.test.ndcg[-1]:.4f} on test"
        )
    return {f"{job.part}.json": as_json(found)}


def run_fold(rows: Fold, methods: Mapping[str, Method], repeats: int) -> dict[str, Found]:
    """Search with every method, then fit them in turn, so that all see the same machine."""
    searches = {name: search(method, rows) for name, method in methods.items()}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    tests: dict[str, Measures] = {}
    for _ in range(repeats):
        for name, method in methods.items():
            start = time.process_time()
            model = method.fit(searches[name].settings, rows.train)
            seconds[name].append(time.process_time() - start)
            tests[name] = measure(rows.test, np.asarray(model(rows.test.X), dtype=float))
    return {
        name: Found(rows.number, searches[name], float(np.median(seconds[name])), tests[name])
        for name in methods
    }


def search(method: Method, rows: Fold) -> Search:
    """Return the settings with the highest NDCG@10 on the validation part; the first of equals."""
    start = time.process_time()
    best: tuple[float, Settings, Settings] | None = None

    def attempt(settings: Settings) -> None:
        nonlocal best
        tuned, scores = method.tune(settings, rows)
        reached = ndcg(rows.valid.y, scores, rows.valid.qid)
        if best is None or reached > best[0]:
            best = reached, tuned, settings

    for settings in method.grid:
        attempt(settings)
    assert best is not None
    leader = best[2]
    for change in method.changes:
        attempt(leader | change)
    reached, tuned, _ = best
    return Search(tuned, reached, method.configurations, time.process_time() - start)

"""Search, fit and measure, fold by fold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.learning_to_rank import kernel, trees
from experiments.learning_to_rank.data import PARTS, Fold, Judged, fold
from experiments.learning_to_rank.measures import Measures, measure
from experiments.learning_to_rank.methods import Method, Settings
from mercer.contracts import Array
from mercer.engines.local import one_core
from mercer.metrics import ndcg

METHODS: dict[str, Method] = {
    "kernel": kernel.GAUSSIAN,
    "linear": kernel.LINEAR,
    "xgboost pairwise": trees.PAIRWISE,
    "xgboost ndcg": trees.NDCG,
    "lightgbm": trees.LAMBDARANK,
}
#: How often the last fit is made and timed.
REPEATS = 3
#: Called with a line to show.
Progress = Callable[[str], None]


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

    methods: dict[str, Method]
    found: dict[str, list[Found]] = field(default_factory=dict)

    def by_query(self, name: str) -> Array:
        """NDCG@10 of the queries of all test parts."""
        return np.concatenate([one.test.by_query for one in self.found[name]])


def run(
    parts: list[Judged],
    methods: dict[str, Method] | None = None,
    folds: Iterable[int] = range(1, PARTS + 1),
    repeats: int = REPEATS,
    progress: Progress = print,
) -> Results:
    """Run all methods on the official folds, one thread each."""
    results = Results(METHODS if methods is None else methods)
    for name, method in results.methods.items():
        method.check()
        results.found[name] = []
    with one_thread():
        for number in folds:
            for name, one in run_fold(fold(parts, number), results.methods, repeats).items():
                results.found[name].append(one)
                progress(
                    f"fold {number}, {results.methods[name].label}: NDCG@10 "
                    f"{one.search.ndcg:.4f} on validation, {one.test.ndcg[-1]:.4f} on test"
                )
    return results


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which the library and BLAS use one thread.

    So the seconds of methods can be compared, and bits do not depend on the number of cores.
    """
    stack = ExitStack()
    stack.enter_context(threadpool_limits(limits=1))
    stack.enter_context(one_core())
    return stack


def run_fold(rows: Fold, methods: dict[str, Method], repeats: int) -> dict[str, Found]:
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

"""Ranking: seconds against the number of rows, beside regression on the same rows."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import Timed

from benchmarks.data import PLAIN
from mercer import Gaussian, KernelRanker, KernelRegressor, RandomFeatures

ROWS = (125_000, 250_000, 500_000, 1_000_000)
FEATURES, PER_QUERY = 300, 20


def rows(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with 20 columns, relevance with a level for every query, and queries."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((number, 20))
    qid = np.arange(number) // PER_QUERY
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 3 * rng.standard_normal(number // PER_QUERY)[qid]
    return X, y, qid


def run(repeats: int) -> list[object]:
    """Time fits with alpha given, one after the other, and again."""
    settings = {
        "kernel": Gaussian(6.0),
        "basis": RandomFeatures(FEATURES, random_state=0),
        "alpha": 1e-4,
        "dtype": "float64",
        "random_state": 0,
        **PLAIN,
    }
    seconds: dict[tuple[str, int], Timed] = defaultdict(Timed)
    for _ in range(repeats):
        for number in ROWS:
            X, y, qid = rows(number)
            for name, model, arguments in (
                ("regression", KernelRegressor(**settings), (X, y)),
                ("one ranking", KernelRanker(**settings), (X, y)),
                ("queries", KernelRanker(**settings), (X, y, qid)),
            ):
                seconds[name, number].add(partial(model.fit, *arguments))
    median = {key: timed.median for key, timed in seconds.items()}
    table = Table(
        ["rows", "regression", "one ranking of all", "within queries", "queries / regression"]
    )
    for number in ROWS:
        cells = [f"{number:,}"]
        for name in ("regression", "one ranking", "queries"):
            grown = median.get((name, number // 2))
            times = "" if grown is None else f" ({median[name, number] / grown:.2f}x)"
            cells.append(f"{median[name, number]:.2f} s{times}")
        table.add([*cells, f"{median['queries', number] / median['regression', number]:.2f}"])
    return [
        f"Random features, M = {FEATURES}, 20 columns, float64, alpha given; queries of "
        f"{PER_QUERY} rows. In brackets, how the time grows where rows double. Medians of "
        f"{repeats} runs, one after the other.",
        table,
    ]

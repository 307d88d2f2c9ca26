"""Ranking: seconds against the number of rows, beside regression on the same rows."""

from __future__ import annotations

import statistics
import time

import numpy as np

from mercer import Gaussian, KernelRanker, KernelRegressor, RandomFeatures

ROWS = (125_000, 250_000, 500_000, 1_000_000)
FEATURES, PER_QUERY, REPEATS = 300, 20, 3


def rows(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with 20 columns, relevance with a level for every query, and queries."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((number, 20))
    qid = np.arange(number) // PER_QUERY
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 3 * rng.standard_normal(number // PER_QUERY)[qid]
    return X, y, qid


def run() -> list[str]:
    """Time fits with alpha given, one after the other, and again."""
    settings = {
        "kernel": Gaussian(6.0),
        "basis": RandomFeatures(FEATURES, random_state=0),
        "alpha": 1e-4,
        "dtype": "float64",
        "random_state": 0,
    }
    table = []
    seconds: dict[tuple[str, int], list[float]] = {}
    for _ in range(REPEATS):
        for number in ROWS:
            X, y, qid = rows(number)
            for name, model, arguments in (
                ("regression", KernelRegressor(**settings), (X, y)),
                ("one ranking", KernelRanker(**settings), (X, y)),
                ("queries", KernelRanker(**settings), (X, y, qid)),
            ):
                began = time.perf_counter()
                model.fit(*arguments)
                seconds.setdefault((name, number), []).append(time.perf_counter() - began)
    median = {key: statistics.median(values) for key, values in seconds.items()}
    for number in ROWS:
        cells = [f"{number:,}"]
        for name in ("regression", "one ranking", "queries"):
            grown = median.get((name, number // 2))
            times = "" if grown is None else f" ({median[name, number] / grown:.2f}x)"
            cells.append(f"{median[name, number]:.2f} s{times}")
        cells.append(f"{median['queries', number] / median['regression', number]:.2f}")
        table.append("| " + " | ".join(cells) + " |")
    return [
        f"Random features, M = {FEATURES}, 20 columns, float64, alpha given; queries of "
        f"{PER_QUERY} rows. In brackets, how the time grows where rows double. Medians of "
        f"{REPEATS} runs, one after the other.",
        "",
        "| rows | regression | one ranking of all | within queries | queries / regression |",
        "|---|---|---|---|---|",
        *table,
        "",
    ]

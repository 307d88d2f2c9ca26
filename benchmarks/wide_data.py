"""Rows of 10,000 columns, dense and sparse, against scikit-learn's Nystroem + Ridge."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.scaffold.tables import Table, bytes_text

from benchmarks.child import run_child

ROWS, COLUMNS, LANDMARKS, ALPHA = 20_000, 10_000, 1000, 1e-4
#: Share of the values of sparse rows that are not 0.
FILLED = 0.01
KINDS, METHODS = ("dense", "sparse"), ("mercer", "scikit-learn")


def wide_rows(kind: str, rows: int, columns: int) -> tuple[Any, np.ndarray, float]:
    """Return float32 rows, a target, and the usual distance of two rows.

    >>> X, y, distance = wide_rows("sparse", 20, 100)
    >>> X.shape, X.nnz, X.dtype, y.shape
    ((20, 100), 20, dtype('float32'), (20,))
    """
    from scipy import sparse

    rng = np.random.default_rng(0)
    if kind == "dense":
        X = rng.standard_normal((rows, columns), dtype=np.float32)
        return X, X[:, :5].sum(axis=1), float(np.sqrt(2 * columns))
    filled = max(1, round(FILLED * columns))
    indices = np.sort(rng.integers(columns, size=(rows, filled)), axis=1).ravel()
    data = rng.standard_normal(rows * filled, dtype=np.float32)
    at = np.arange(0, rows * filled + 1, filled)
    X = sparse.csr_array((data, indices, at), shape=(rows, columns))
    X.sum_duplicates()
    return X, np.asarray(X[:, : columns // 20].sum(axis=1)).ravel(), float(np.sqrt(2 * filled))


def run(repeats: int, rows: int = ROWS, landmarks: int = LANDMARKS) -> list[object]:
    table = Table(["rows", "", "fit", "ratio", "predict", "ratio", "data", "peak above data"])
    for kind in KINDS:
        found: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
        for _ in range(repeats):
            for method in METHODS:
                settings = {"kind": kind, "rows": rows, "columns": COLUMNS}
                found[method].append(
                    run_child("wide_fit", method=method, landmarks=landmarks, **settings)
                )
        middle = {
            method: {key: float(np.median([one[key] for one in all_of])) for key in all_of[0]}
            for method, all_of in found.items()
        }
        peer = middle["scikit-learn"]
        for method, one in middle.items():
            cells = []
            for stage in ("seconds", "predict"):
                cells += [f"{one[stage]:.2f} s", f"{peer[stage] / one[stage]:.1f}x"]
            extra = bytes_text(one["peak"] - one["before"])
            table.add([kind, method, *cells, bytes_text(one["data"]), extra])
    return [
        f"{rows:,} float32 rows of {COLUMNS:,} columns, dense or with {FILLED:.0%} of the values, "
        f"{landmarks:,} landmarks, Gaussian kernel, one alpha, all rows predicted; medians of "
        f"{repeats} fresh processes each, in turns. scikit-learn is `Nystroem` + `Ridge`.",
        table,
    ]

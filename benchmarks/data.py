"""Rows that several tables use, in memory and in files, and peers with their settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TRAIN, TEST = 100_000, 50_000
BANDWIDTH = 2.0
LANDMARKS = 2000
ALPHA = 1e-6
#: Nothing is searched or scaled: the kernel, on the columns as they are.
PLAIN: dict[str, Any] = {"metric": None, "scale": None}
#: A regression and nothing after it, as its peers have it.
FIT_ONLY: dict[str, Any] = {**PLAIN, "intervals": None}


@dataclass(frozen=True)
class Covtype:
    """Standardized columns; Y holds +1 and -1, a column a class."""

    X: np.ndarray
    y: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    classes: np.ndarray

    def error(self, scores: np.ndarray) -> float:
        """Share of test rows whose largest score is not their class."""
        return float(np.mean(self.classes[scores.argmax(axis=1)] != self.y_test))


def covtype(rows: int = TRAIN) -> Covtype:
    """Load, shuffle (the stored rows are shuffled; a downloaded copy is not), split and scale."""
    from sklearn.preprocessing import StandardScaler

    from mercer.datasets import load_real

    data = load_real("covtype")
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y).astype(int)
    order = np.random.default_rng(0).permutation(len(X))[: rows + TEST]
    X, y = X[order], y[order]
    X = StandardScaler().fit(X[:rows]).transform(X)
    classes = np.unique(y)
    Y = np.where(y[:rows, None] == classes, 1.0, -1.0)
    return Covtype(X[:rows], y[:rows], Y, X[rows:], y[rows:], classes)


def kin40k() -> tuple[np.ndarray, np.ndarray]:
    """Return kin40k, standardized."""
    from mercer.datasets import load_real

    data = load_real("kin40k")
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    return (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()


def levels(rows: int, new: int = 5000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with 7 columns on {1..100}, y = floor(||x|| / 7) and noise, and new rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 101, (rows, 7)).astype(float)
    y = np.floor(np.linalg.norm(X, axis=1) / 7) + 0.1 * rng.standard_normal(rows)
    return X, y, rng.integers(1, 101, (new, 7)).astype(float)


def blocks(
    rows: int, columns: int, size: int = 50_000, seed: int = 0
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield noise in blocks, with their places."""
    rng = np.random.default_rng(seed)
    for start in range(0, rows, size):
        place = slice(start, min(start + size, rows))
        yield place, rng.standard_normal((place.stop - start, columns))


def signal(X: np.ndarray) -> np.ndarray:
    """Return what there is to learn in noise."""
    return np.asarray(np.sin(X[:, 0]) + X[:, 1] * X[:, 2])


def twenty_columns(rows: int, new: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return noise in 20 columns, what there is to learn in it and a little noise, and new rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows + new, 20))
    return X[:rows], signal(X[:rows]) + 0.1 * rng.standard_normal(rows), X[rows:]


def lettered(y: np.ndarray, classes: int = 26) -> np.ndarray:
    """Return classes of equal size, in the order of a target."""
    return np.asarray(classes * np.argsort(np.argsort(y)) // len(y))


def write_npy(folder: Path, rows: int, columns: int) -> Path:
    """Write ``X.npy`` and ``y.npy`` block by block; return the path of the first."""
    path = folder / "X.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float64, (rows, columns))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.float64, (rows,))
    for place, block in blocks(rows, columns):
        X[place], y[place] = block, signal(block)
    X.flush()
    y.flush()
    return path


def write_parquet(path: Path, rows: int, columns: int, group: int = 50_000, seed: int = 0) -> Path:
    """Write the same rows as Parquet, with columns x0, x1, ... and y; return the path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for _, block in blocks(rows, columns, group, seed):
        named = {f"x{j}": block[:, j] for j in range(columns)} | {"y": signal(block)}
        table = pa.table(named)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def nystroem_ridge(landmarks: int, alpha: float, rows: int) -> Any:
    """Return scikit-learn's peer of landmarks and moments."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    return make_pipeline(
        Nystroem(gamma=0.5 / BANDWIDTH**2, n_components=landmarks, random_state=0),
        Ridge(alpha=alpha * rows),
    )


def kernel_ridge(bandwidth: float, alpha: float, rows: int) -> Any:
    """Return scikit-learn's peer of the full kernel."""
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=0.5 / bandwidth**2, alpha=alpha * rows)

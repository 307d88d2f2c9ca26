"""The covtype problem that most tables use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from mercer.datasets import load_real

TRAIN, TEST = 100_000, 50_000
BANDWIDTH = 2.0
LANDMARKS = 2000
ALPHA = 1e-6


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
    data = load_real("covtype")
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y).astype(int)
    order = np.random.default_rng(0).permutation(len(X))[: rows + TEST]
    X, y = X[order], y[order]
    X = StandardScaler().fit(X[:rows]).transform(X)
    classes = np.unique(y)
    Y = np.where(y[:rows, None] == classes, 1.0, -1.0)
    return Covtype(X[:rows], y[:rows], Y, X[rows:], y[rows:], classes)

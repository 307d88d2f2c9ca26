"""Scores of predictions on rows that the model has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from mercer.contracts import RowSource
from mercer.estimators import KernelClassifier


def scores_on(model: Any, source: RowSource, label: str) -> list[tuple[str, str]]:
    """Return scores as rows of a table: accuracy, or R^2 and the root mean squared error."""
    y = np.concatenate(list(source.targets(100_000)))
    predicted = model.predict(source)
    where = f"on {source.n_rows:,} rows of {label}"
    if isinstance(model, KernelClassifier):
        if not np.isin(y, model.classes_).any():
            raise ValueError(
                f"the labels of {label} must be the model's classes, {list(model.classes_[:5])} "
                f"and so on, got {list(y[:5])}"
            )
        return [("test accuracy", f"{np.mean(predicted == y):.4f} ({where})")]
    error = np.sqrt(np.mean((predicted - y.reshape(predicted.shape)) ** 2))
    return [
        ("test R\N{SUPERSCRIPT TWO}", f"{r2_score(y, predicted):.4f} ({where})"),
        ("test RMSE", f"{error:.6g}"),
    ]

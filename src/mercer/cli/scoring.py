"""Scores of predictions on rows that the model has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from mercer.contracts import RowSource
from mercer.estimators import KernelClassifier
from mercer.estimators.targets import ROWS, as_numbers, known_labels
from mercer.rows.labels import missing

#: What scores are called in tables.
TITLES = {"accuracy": "test accuracy", "r2": "test R\N{SUPERSCRIPT TWO}", "rmse": "test RMSE"}


@dataclass(frozen=True)
class Scores:
    """Scores by name, of a number of rows with a target."""

    values: dict[str, float]
    rows: int
    label: str
    without: int = 0  # rows without a target

    def table(self) -> list[tuple[str, str]]:
        """Return rows of a table."""
        where = f"on {self.rows:,} rows of {self.label}"
        if self.without:
            where += f"; {self.without:,} without a target left out"
        found = []
        for name, value in self.values.items():
            text = f"{value:.6g}" if name == "rmse" else f"{value:.4f} ({where})"
            found.append((TITLES[name], text))
        return found

    def record(self) -> dict[str, Any]:
        """Return the scores for JSON."""
        return {**self.values, "rows": self.rows, "of": self.label}


def scores_on(model: Any, source: RowSource, label: str) -> Scores:
    """Return accuracy, or R^2 and the root mean squared error, of the rows with a target."""
    y = np.concatenate(list(source.targets(ROWS)))
    known = ~missing(y)
    if not known.any():
        raise ValueError(f"no row of {label} has a target to score the model on")
    predicted, without = model.predict(source)[known], int((~known).sum())
    if isinstance(model, KernelClassifier):
        y = known_labels(y, ~known)
        if not np.isin(y, model.classes_).any():
            raise ValueError(
                f"the labels of {label} must be the model's classes, {list(model.classes_[:5])} "
                f"and so on, got {list(y[:5])}"
            )
        return Scores({"accuracy": float(np.mean(predicted == y))}, len(y), label, without)
    y = as_numbers(y[known], 0, style=model._targets.style).reshape(predicted.shape)
    error = float(np.sqrt(np.mean((predicted - y) ** 2)))
    return Scores({"r2": float(r2_score(y, predicted)), "rmse": error}, len(y), label, without)

"""From scores of rows that a model has not seen to its map of probabilities."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.estimators.inputs import Given, read_rows
from mercer.estimators.predicting import values_of
from mercer.estimators.target_kinds import Classes
from mercer.inference.calibration import chosen_map, classes_of
from mercer.inference.left_out_rows import LeftOutRows
from mercer.inference.probability_map import NAMES, ProbabilityMap
from mercer.inference.reliability import Reliability, reliability_of
from mercer.result import Fit
from mercer.rows.labels import missing
from mercer.validation import check_choice

#: Rows of y read at a time.
ROWS = 65_536


@dataclass(frozen=True)
class Calibration:
    """A map from scores to probabilities, and how good these are on rows that nothing has seen.

    Attributes
    ----------
    map : ProbabilityMap
        Fitted to all of the rows.
    reliability : Reliability
        Log loss, Brier score and observed frequencies, by maps that were fitted to other folds.
    rows : str
        Which rows these are: "left out" of the fit, or "held out" and given to ``calibrate``.
    """

    map: ProbabilityMap
    reliability: Reliability
    rows: str

    def check_state(self, classes: int) -> None:
        """Raise ValueError if what was read from a file is inconsistent."""
        if not isinstance(self.map, ProbabilityMap):
            raise ValueError(f"the map must be of probabilities, got {type(self.map).__name__}")
        if not isinstance(self.reliability, Reliability):
            raise ValueError(f"reliability must be one, got {type(self.reliability).__name__}")
        self.map.check_state(classes)
        self.reliability.check_state(classes)
        check_choice(self.rows, "rows", ["left out", "held out"])

    def describe(self) -> str:
        """Return the map and its scores as one line of a summary."""
        found = self.reliability
        return (
            f"{self.map.describe()} ({found.n_rows:,} rows {self.rows}: log loss "
            f"{found.log_loss:.4g}, Brier score {found.brier:.4g})"
        )


def check_calibration(calibration: Any) -> None:
    """Raise an error unless calibration is None or the name of a map."""
    if calibration is not None:
        check_choice(calibration, "calibration", list(NAMES))


def calibrated(
    name: str, values: Array, codes: Array, weight: Array, fold: Array, rows: str
) -> Calibration:
    """Return the map of least log loss, and how good it is on folds that it has not seen."""
    found, logs = chosen_map(NAMES[name], values, codes, weight, fold)
    return Calibration(found, reliability_of(logs, codes, weight), rows)


def calibration_of(found: Fit, name: str | None) -> Calibration | None:
    """Return the map of a fit by its own left-out rows, which have then served their purpose.

    None if it is not asked for, or if the fit has no such rows.
    """
    record: LeftOutRows | None = found.left_out
    found.left_out = None
    if name is None or record is None:
        return None
    begun = time.perf_counter()
    counts = record.weight > 0
    if not counts.any():
        return None
    result = calibrated(
        name,
        record.values[counts],
        classes_of(record.targets[counts]),
        record.weight[counts],
        record.fold[counts],
        "left out",
    )
    found.seconds["calibration"] = time.perf_counter() - begun
    return result


@dataclass(frozen=True)
class Seen:
    """Rows with a label and a positive weight: their scores, classes and weights."""

    values: Array
    codes: Array
    weight: Array


def seen_rows(model: Any, given: Given) -> Seen:
    """Return what a model says of rows, and their classes."""
    source = read_rows(model, Classes(model._targets), given, reset=False).source
    y = np.concatenate(list(source.targets(ROWS)))
    parts = [
        np.ones(block.n_rows) if block.weight is None else block.weight
        for block in source.blocks(ROWS)
    ]
    weight = np.concatenate(parts)
    counts = ~missing(y) & (weight > 0)
    if not counts.any():
        raise ValueError("rows with a label and a positive weight are needed, got none")
    codes = classes_of(model._targets.encode(y, 0)[counts])
    return Seen(values_of(model, source)[counts], codes, weight[counts])


def calibration_by(model: Any, given: Given) -> Calibration:
    """Return the map of a model by rows that it has not seen."""
    seen = seen_rows(model, given)
    name = "auto" if model.calibration is None else model.calibration
    fold = np.arange(len(seen.codes))  # every fifth row: neighbors may be of one kind
    return calibrated(name, seen.values, seen.codes, seen.weight, fold, "held out")


def reliability_by(model: Any, given: Given) -> Reliability:
    """Return how good the probabilities of a model are on rows that it has not seen."""
    seen = seen_rows(model, given)
    return reliability_of(model._log_probabilities(seen.values), seen.codes, seen.weight)

"""From scores of rows that a model has not seen to its map of probabilities, or of preferences."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.contracts import Array
from mercer.estimators.predicting import values_of
from mercer.inference.calibration import chosen_map, classes_of
from mercer.inference.left_out_pass import LeftOutRows
from mercer.inference.preferences import PreferenceMap, fit_preferences, pairs_within
from mercer.inference.probability_map import NAMES, ProbabilityMap
from mercer.inference.reliability import Reliability, reliability_of
from mercer.opening.fit_input import FitInput
from mercer.opening.rows_to_predict import rows_with_targets
from mercer.result import Fit
from mercer.rows.labels import missing
from mercer.storage.state import OneOf, Part, State
from mercer.targets.class_targets import Classes, ClassTargets
from mercer.targets.rank_targets import RankTargets

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator

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

    state = State(
        map=Part(ProbabilityMap, "classes", must="the map must be of probabilities, got {kind}"),
        reliability=Part(Reliability, "classes", must="reliability must be one, got {kind}"),
        rows=OneOf(["left out", "held out"]),
    )
    map: ProbabilityMap
    reliability: Reliability
    rows: str

    def describe(self) -> str:
        """Return the map and its scores as one line of a summary."""
        found = self.reliability
        return (
            f"{self.map.describe()} ({found.n_rows:,} rows {self.rows}: log loss "
            f"{found.log_loss:.4g}, Brier score {found.brier:.4g})"
        )


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


def seen_rows(model: KernelEstimator, given: FitInput) -> tuple[Array, Array, Array]:
    """Return the scores, classes and weights of rows with a label and a positive weight."""
    targets = model._targets
    assert isinstance(targets, ClassTargets)
    source = rows_with_targets(model, given, Classes(targets))
    y = np.concatenate(list(source.targets(ROWS)))
    parts = [
        np.ones(block.n_rows) if block.weight is None else block.weight
        for block in source.blocks(ROWS)
    ]
    weight = np.concatenate(parts)
    counts = ~missing(y) & (weight > 0)
    if not counts.any():
        raise ValueError("rows with a label and a positive weight are needed, got none")
    codes = classes_of(targets.encode(y, 0)[counts])
    return values_of(model, source)[counts], codes, weight[counts]


def calibration_by(model: KernelEstimator, given: FitInput) -> Calibration:
    """Return the map of a model by rows that it has not seen."""
    values, codes, weight = seen_rows(model, given)
    name = "auto" if model.calibration is None else model.calibration
    fold = np.arange(len(codes))  # every fifth row: neighbors may be of one kind
    return calibrated(name, values, codes, weight, fold, "held out")


def reliability_by(model: KernelEstimator, given: FitInput) -> Reliability:
    """Return how good the probabilities of a model are on rows that it has not seen."""
    values, codes, weight = seen_rows(model, given)
    return reliability_of(model._log_probabilities(values), codes, weight)


def preferences_of(
    found: Fit, targets: RankTargets, calibration: str | None
) -> PreferenceMap | None:
    """Return the map of a fit by its own left-out rows; None without pairs, or if it is off.

    They have then served their purpose, and are dropped.
    Rows are compared within queries, and only if one model has seen neither of them.
    """
    record: LeftOutRows | None = found.left_out
    found.left_out = None
    if calibration is None or record is None:
        return None
    query = np.zeros(len(record.fold), dtype=int) if record.query is None else record.query
    _, groups = np.unique(np.stack([query, record.fold]), axis=1, return_inverse=True)
    pairs = pairs_within(
        groups.ravel(),
        record.values[:, 0] * targets.scale[0],  # in the units of predictions
        record.targets[:, 0],
        record.weight,
        by_group=targets.by_query and targets.weighting == "query",
        seed=targets.seed,
    )
    return fit_preferences(pairs)

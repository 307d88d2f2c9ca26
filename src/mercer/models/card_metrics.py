"""How good a model is, with intervals, from rows that its fit left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.estimators import KernelClassifier, KernelRegressor
from mercer.inference.reliability import Reliability
from mercer.models.card_intervals import (
    Metric,
    Z,
    normal_metric,
    regression_metrics,
    rows_that_count,
    share_metric,
)
from mercer.selection import as_criterion

#: Coverages of the intervals that are measured.
COVERAGES = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Evaluation:
    """Metrics of some rows, by output if there are several."""

    rows: str  # which rows, in words
    metrics: list[tuple[str, Metric]]  # the output, or nothing, and the metric
    notes: list[str] = field(default_factory=list)
    reliability: Reliability | None = None


def of_fit(model: Any) -> Evaluation | None:
    """Return metrics of the rows that a fit left out; None if the model keeps nothing of them."""
    if isinstance(model, KernelRegressor):
        return _regression_of_fit(model)
    known = model.calibration_
    if known is None:
        return _by_criterion(model, [])
    if isinstance(model, KernelClassifier):
        found: Reliability = known.reliability
        rows = f"{found.n_rows:,} rows that were {known.rows}"
        return Evaluation(rows, _probability_metrics(found), reliability=found)
    parts = [
        normal_metric("pairs in the wrong order", known.error, known.error_deviation),
        normal_metric("log loss of pairs", known.log_loss, known.loss_deviation),
    ]
    words = f"{known.n_pairs:,} pairs of rows of one query that were left out"
    return Evaluation(words, [("", metric) for metric in parts])


def _probability_metrics(found: Reliability) -> list[tuple[str, Metric]]:
    errors = found.standard_errors
    loss, brier, hit = (None, None, 0.0) if errors is None else errors.tolist()
    p = found.accuracy
    rows = p * (1 - p) / hit**2 if hit else float(found.n_rows)  # that count, if weights differ
    parts = [
        share_metric("accuracy", p, rows),
        normal_metric("log loss", found.log_loss, loss),
        normal_metric("Brier score", found.brier, brier),
        Metric("calibration error", found.calibration_error),
    ]
    return [("", metric) for metric in parts]


def _regression_of_fit(model: KernelRegressor) -> Evaluation | None:
    intervals, targets = model.fit_.intervals, model._targets
    if intervals is None:
        return _by_criterion(model, [])
    rows, outputs = intervals.rows, targets.outputs
    pairs = product(COVERAGES, range(outputs))
    shares = [_left_out_share(intervals, level, output) for level, output in pairs]
    coverage = [share for share in shares if share is not None]
    if rows.count is not None:  # shards sent counts of errors, in units of their local scale
        return _by_criterion(model, coverage)
    counts = rows.weight > 0
    found = []
    for output in range(outputs):
        truth, values = (
            part[counts, output] * targets.scale[output] + targets.origin[output]
            for part in (rows.targets, rows.values)
        )
        metrics = regression_metrics(truth, values, rows.weight[counts])
        found += [(output_name(output, outputs), metric) for metric in metrics]
    words = f"{int(counts.sum()):,} rows that were left out"
    return Evaluation(f"{words} ({intervals.label})", [*found, *coverage])


def _left_out_share(intervals: Any, level: float, output: int) -> tuple[str, Metric] | None:
    """Return the share of left-out rows in their intervals; None if rows are too few."""
    rows = intervals.rows
    if (len(rows.weight) // 2 + 1) * (1 - level) / 2 < 1:
        return None
    low, high = intervals.left_out_ends(level, output)
    y, weight = rows.targets[:, output], rows.weight
    share = float(weight @ ((low <= y) & (y <= high)) / weight.sum())
    counted = rows_that_count(weight) if rows.count is None else float(rows.count)
    name = coverage_name(level)
    return output_name(output, intervals.intercept.shape[1]), share_metric(name, share, counted)


def _by_criterion(model: Any, others: list[tuple[str, Metric]]) -> Evaluation | None:
    """Return the error by which alpha or the steps were chosen, for want of left-out rows."""
    found = _chosen_by(model)
    if found is None:
        return Evaluation("rows that were left out", others) if others else None
    mean, by_fold, label = found
    half = float("nan")
    if by_fold is not None and len(by_fold) > 1:
        half = float(Z * by_fold.std(ddof=1) / np.sqrt(len(by_fold)))
    metric = Metric("RMSE", float(np.sqrt(mean)))
    if half == half:
        low, high = np.sqrt(max(0.0, mean - half)), np.sqrt(mean + half)
        metric = Metric("RMSE", metric.value, float(low), float(high))
    several = ", added over outputs" if model._targets.outputs > 1 else ""
    rows = f"rows that were left out to choose alpha or steps ({label}{several})"
    return Evaluation(rows, [("", metric), *others])


def _chosen_by(model: Any) -> tuple[float, Array | None, str] | None:
    """Return a mean squared error, also by fold, and what it is; None if it is of another fit."""
    fit = model.fit_
    exact = not fit.combination or fit.combination.startswith("exact")
    # Alpha of other combinations, and of products, was chosen by a smaller fit.
    if not isinstance(model, KernelRegressor) or not exact or fit.plan.sample:
        return None
    path, steps = fit.path, fit.solution.steps
    if path is not None and path.validation_error is not None and steps:
        at = min(steps, len(path.validation_error)) - 1
        return float(path.validation_error[at]), path.by_fold[:, at], fit.solution.reason
    if fit.scores is None:
        return None
    at = int(np.argmin(np.abs(fit.alphas - fit.alpha)))
    by_fold = None if fit.scores.by_fold is None else fit.scores.by_fold[:, at]
    label = fit.scores.label or as_criterion(model.selection).label
    return float(fit.scores.mean[at]), by_fold, label


def output_name(output: int, outputs: int) -> str:
    """Return the name of an output; none if there is only one."""
    return "" if outputs == 1 else f"output {output}"


def coverage_name(level: float) -> str:
    """Return the name of the share of rows in their intervals."""
    return f"in the {100 * level:.0f} % interval"

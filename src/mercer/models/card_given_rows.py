"""How good a model is on rows that it has not seen, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.contracts import Array, RowSource
from mercer.estimators import KernelClassifier, KernelRegressor
from mercer.estimators.inputs import Given, read_rows
from mercer.estimators.predicting import values_of
from mercer.estimators.target_kinds import Classes
from mercer.inference.calibration import classes_of
from mercer.inference.reliability import Reliability, reliability_of
from mercer.metrics import ndcg_by_query, pairwise_error
from mercer.models.card_intervals import (
    Metric,
    mean_metrics,
    regression_metrics,
    resampled,
    rows_that_count,
    share_metric,
)
from mercer.models.card_metrics import COVERAGES, Evaluation, coverage_name, output_name
from mercer.rows.labels import missing

#: Rows of y read at a time.
ROWS = 65_536


@dataclass(frozen=True)
class GivenRows:
    """Rows with a known target: their source, and which of its rows these are."""

    source: RowSource
    known: Array  # (n,) of all rows
    y: Array
    weight: Array
    query: Array | None


def given_rows(model: Any, given: Given) -> GivenRows:
    """Return rows to test a model on; those without a target or a weight are left out."""
    if isinstance(given.X, RowSource) and given.y is None:
        source: RowSource = given.X
        if not source.has_target:
            raise ValueError("metrics need targets, and these rows have none: give y")
    else:
        kind = Classes(model._targets) if isinstance(model, KernelClassifier) else model._kind()
        source = read_rows(model, kind, given, reset=False).source
    y = np.concatenate(list(source.targets(ROWS)))
    weights, queries = [], []
    for block in source.blocks(ROWS):
        weights.append(np.ones(block.n_rows) if block.weight is None else block.weight)
        if block.query is not None:
            queries.append(block.query)
    weight = np.concatenate(weights)
    known = ~missing(y) & (weight > 0)
    if not known.any():
        raise ValueError("rows with a target and a positive weight are needed, got none")
    query = np.concatenate(queries)[known] if queries else None
    return GivenRows(source, known, y, weight[known], query)


def of_rows(model: Any, given: Given) -> Evaluation:
    """Return metrics of rows that the model has not seen."""
    rows = given_rows(model, given)
    words = f"{int(rows.known.sum()):,} rows that were given"
    left = int((~rows.known).sum())
    notes = [f"{left:,} rows without a target or a weight were left out."] if left else []
    values = values_of(model, rows.source)[rows.known]
    if isinstance(model, KernelClassifier):
        codes = classes_of(model._targets.encode(rows.y, 0)[rows.known])
        logs = model._log_probabilities(values)
        found = reliability_of(logs, codes, rows.weight)
        return Evaluation(words, _class_metrics(logs, codes, rows.weight, found), notes, found)
    targets = model._targets
    truth = targets.encode(rows.y, 0)[rows.known] * targets.scale + targets.origin
    if not isinstance(model, KernelRegressor):
        metrics, more = _ranking_metrics(truth[:, 0], values[:, 0], rows)
        return Evaluation(words, [("", metric) for metric in metrics], notes + more)
    outputs, parts = targets.outputs, []
    for output in range(outputs):
        errors = regression_metrics(truth[:, output], values[:, output], rows.weight)
        parts += [(output_name(output, outputs), metric) for metric in errors]
    return Evaluation(words, parts + _coverage(model, rows, truth), notes)


def _class_metrics(
    logs: Array, codes: Array, weight: Array, found: Reliability
) -> list[tuple[str, Metric]]:
    P, at = np.exp(logs), np.arange(len(codes))
    hit = np.zeros_like(P)
    hit[at, codes] = 1.0
    squares = ((P - hit) ** 2).sum(axis=1) / (2 if P.shape[1] == 2 else 1)
    means = mean_metrics({"log loss": -logs[at, codes], "Brier score": squares}, weight)
    parts = [
        share_metric("accuracy", found.accuracy, rows_that_count(weight)),
        *means,
        Metric("calibration error", found.calibration_error),
    ]
    return [("", metric) for metric in parts]


def _coverage(model: KernelRegressor, rows: GivenRows, truth: Array) -> list[tuple[str, Metric]]:
    """Return the share of given rows in their intervals, as far as there are such."""
    intervals = model.fit_.intervals
    if intervals is None:
        return []
    mixture, outputs = intervals.mixture(0), truth.shape[1]
    levels = [c for c in COVERAGES if mixture.has((1 - c) / 2) and mixture.has((1 + c) / 2)]
    if not levels:
        return []
    ends = model.predict_interval(rows.source, levels)[rows.known]
    ends = ends.reshape(len(truth), 2, len(levels), outputs)
    counted, found = rows_that_count(rows.weight), []
    for place, level in enumerate(levels):
        low, high = ends[:, 0, place], ends[:, 1, place]
        inside = rows.weight @ ((low <= truth) & (truth <= high)) / rows.weight.sum()
        for output in range(outputs):
            metric = share_metric(coverage_name(level), float(inside[output]), counted)
            found.append((output_name(output, outputs), metric))
    return found


def _ranking_metrics(
    truth: Array, scores: Array, rows: GivenRows
) -> tuple[list[Metric], list[str]]:
    """Return NDCG@10 and the share of pairs in the wrong order, by resampling queries."""
    query, weight = rows.query, rows.weight
    error = pairwise_error(truth, scores, query, weight)
    if query is None:
        note = "The rows are one query, and an interval needs several: give qid."
        return [Metric("pairs in the wrong order", error)], [note]
    _, codes = np.unique(query, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    shares = np.array([pairwise_error(truth[g], scores[g], None, weight[g]) for g in groups])
    pairs = np.array([_pairs(truth[g], weight[g]) for g in groups])
    sums = np.column_stack([np.where(pairs > 0, np.nan_to_num(shares) * pairs, 0.0), pairs])
    found = resampled(
        sums, np.ones(len(sums)), {"pairs in the wrong order": lambda s: s[:, 1] / s[:, 2]}
    )
    notes = [f"{len(groups):,} queries, which are resampled as a whole."]
    if np.any(truth < 0):
        return found, [*notes, "NDCG is not defined for negative relevance."]
    by_query = ndcg_by_query(truth, scores, query, gain="auto")
    by_query = by_query[~np.isnan(by_query)]
    if len(by_query):
        found += mean_metrics({"NDCG@10": by_query}, np.ones(len(by_query)))
    return found, notes


def _pairs(relevance: Array, weight: Array) -> float:
    """Return the weight of the pairs of rows of different relevance.

    >>> _pairs(np.array([1.0, 2.0, 2.0]), np.ones(3))
    2.0
    """
    _, codes = np.unique(relevance, return_inverse=True)
    same = np.bincount(codes, weight)
    return float(weight.sum() ** 2 - same @ same) / 2

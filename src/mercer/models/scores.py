"""How good a model is: scores of rows that its fit left out, or that it has not seen.

Scores of a card have intervals of 95 percent. One that is a function of sums over rows is resampled
(Efron 1979, *Bootstrap methods: another look at the jackknife*),

.. math:: g\\Big(\\sum_i N_i w_i z_i\\Big), \\qquad N \\sim \\text{Multinomial}(n, 1/n)

with a fixed seed, and its interval has 2.5 percent of the resampled values on either side. Many
rows are first added in random groups, whose sums vary as much. A share has the interval of Wilson
(1927, *Probable inference, the law of succession, and statistical inference*), which is right near
0 and 1 as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from sklearn.metrics import r2_score

from mercer.contracts import Array, RowSource
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRanker, KernelRegressor
from mercer.estimators.predicting import values_of
from mercer.inference.calibration import classes_of
from mercer.inference.intervals import Intervals
from mercer.inference.reliability import Reliability, reliability_of
from mercer.metrics import ndcg_by_query, pairwise_error
from mercer.opening.fit_input import FitInput
from mercer.opening.rows_to_predict import rows_with_targets
from mercer.rows.labels import missing, with_number_labels
from mercer.selection import as_criterion
from mercer.targets.class_targets import Classes, ClassTargets, known_labels
from mercer.targets.number_targets import RegressionTargets, as_numbers

#: Resampled sets of rows, and the most groups that rows are added in.
RESAMPLES, GROUPS = 1000, 2000
#: The normal quantile of an interval of 95 percent.
Z = 1.959964
#: The least number of rows, or of groups, that an interval is computed from.
FEWEST = 10

Statistic = Callable[[Array], Array]


@dataclass(frozen=True)
class Metric:
    """A metric with its interval; the ends are NaN if they are not known."""

    name: str
    value: float
    low: float = float("nan")
    high: float = float("nan")
    output: str = ""  # the name of the output, if there are several


def resampled(
    columns: Array, weight: Array, statistics: Mapping[str, Statistic], seed: int = 0
) -> list[Metric]:
    """Return functions of weighted sums over rows, with intervals by resampling the rows.

    Parameters
    ----------
    columns : array of shape (n, c)
        What is summed; a first column with the weight itself is added.
    weight : array of shape (n,)
        Weights of the rows.
    statistics : mapping of names to functions
        Functions of sums of shape (b, 1 + c), which return b values.
    seed : int
        The seed of the resampling.

    Examples
    --------
    >>> errors = np.random.default_rng(0).normal(size=400)
    >>> mean = {"mean square": lambda sums: sums[:, 1] / sums[:, 0]}
    >>> (found,) = resampled(errors[:, None] ** 2, np.ones(400), mean)
    >>> found.low < found.value < found.high and found.high - found.low < 0.4
    True
    """
    rng = np.random.default_rng(seed)
    sums = weight[:, None] * np.column_stack([np.ones(len(columns)), columns])
    total = sums.sum(axis=0, keepdims=True)
    if len(sums) > GROUPS:
        group = rng.permutation(len(sums)) % GROUPS
        sums = np.column_stack([np.bincount(group, part, GROUPS) for part in sums.T])
    metrics, draws = [], None
    if len(sums) >= FEWEST and np.isfinite(total).all():
        counts = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLES)
        draws = counts @ sums
    for name, statistic in statistics.items():
        with np.errstate(all="ignore"):  # a sample may have no spread
            value = float(statistic(total)[0])
            values = np.full(1, np.nan) if draws is None else statistic(draws)
        known = np.isfinite(value) and np.isfinite(values).all()
        low, high = np.quantile(values, [0.025, 0.975]) if known else (np.nan, np.nan)
        metrics.append(Metric(name, value, float(low), float(high)))
    return metrics


def share_metric(name: str, share: float, rows: float) -> Metric:
    """Return a share of so many rows that count, with Wilson's interval.

    >>> found = share_metric("accuracy", 1.0, 100)
    >>> round(found.low, 3), found.high
    (0.963, 1.0)
    """
    if not rows >= FEWEST or np.isnan(share):
        return Metric(name, share)
    middle = (share + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
    half = Z * np.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2)) / (1 + Z**2 / rows)
    return Metric(name, share, max(0.0, float(middle - half)), min(1.0, float(middle + half)))


def effective_rows(weight: Array) -> float:
    """Return ``(sum w)^2 / sum w^2``: the rows of equal weight that are worth as much.

    >>> effective_rows(np.array([2.0, 2.0, 2.0])), effective_rows(np.array([1.0, 0.0]))
    (3.0, 1.0)
    """
    square = float(weight @ weight)
    return float(weight.sum()) ** 2 / square if square > 0 else 0.0


def normal_metric(name: str, value: float, deviation: float | None) -> Metric:
    """Return a mean with the interval of its standard error; none if that is not known."""
    if deviation is None or not np.isfinite(value):
        return Metric(name, value)
    return Metric(name, value, value - Z * deviation, value + Z * deviation)


def regression_metrics(truth: Array, predicted: Array, weight: Array) -> list[Metric]:
    """Return RMSE, mean absolute error and R^2 of rows of one output, each of shape (n,)."""
    error, away = truth - predicted, truth - np.average(truth, weights=weight)

    def r2(sums: Array) -> Array:
        return np.asarray(1 - sums[:, 1] / (sums[:, 4] - sums[:, 3] ** 2 / sums[:, 0]))

    return resampled(
        np.column_stack([error**2, np.abs(error), away, away**2]),
        weight,
        {
            "RMSE": lambda sums: np.sqrt(sums[:, 1] / sums[:, 0]),
            "mean absolute error": lambda sums: sums[:, 2] / sums[:, 0],
            "R\N{SUPERSCRIPT TWO}": r2,
        },
    )


def mean_metrics(columns: Mapping[str, Array], weight: Array) -> list[Metric]:
    """Return weighted means of columns by name, with intervals by resampling the rows."""

    def mean(place: int) -> Statistic:
        return lambda sums: np.asarray(sums[:, 1 + place] / sums[:, 0])

    statistics = {name: mean(place) for place, name in enumerate(columns)}
    return resampled(np.column_stack(list(columns.values())), weight, statistics)


#: Coverages of the intervals that are measured.
COVERAGES = (0.5, 0.8, 0.9, 0.95)
#: Rows of y read at a time.
ROWS = 65_536
#: What a score of left-out or given pairs of rows is called.
WRONG_PAIRS = "pairs in the wrong order"


@dataclass(frozen=True)
class Evaluation:
    """Metrics of some rows, by output if there are several."""

    rows: str  # which rows, in words
    metrics: list[Metric]
    notes: list[str] = field(default_factory=list)
    reliability: Reliability | None = None


def left_out_scores(model: KernelEstimator) -> Evaluation | None:
    """Return metrics of the rows that a fit left out; None if the model keeps nothing of them."""
    if isinstance(model, KernelRegressor):
        return _regression_of_fit(model)
    if isinstance(model, KernelClassifier) and model.calibration_ is not None:
        reliability = model.calibration_.reliability
        rows = f"{reliability.n_rows:,} rows that were {model.calibration_.rows}"
        return Evaluation(rows, _probability_metrics(reliability), reliability=reliability)
    if isinstance(model, KernelRanker) and model.calibration_ is not None:
        known = model.calibration_
        parts = [
            normal_metric(WRONG_PAIRS, known.error, known.error_deviation),
            normal_metric("log loss of pairs", known.log_loss, known.loss_deviation),
        ]
        words = f"{known.n_pairs:,} pairs of rows of one query that were left out"
        return Evaluation(words, parts)
    return None


def _probability_metrics(reliability: Reliability) -> list[Metric]:
    errors = reliability.standard_errors
    loss, brier, hit = (None, None, 0.0) if errors is None else errors.tolist()
    p = reliability.accuracy
    # Rows that count, if weights differ.
    rows = p * (1 - p) / hit**2 if hit else float(reliability.n_rows)
    return [
        share_metric("accuracy", p, rows),
        normal_metric("log loss", reliability.log_loss, loss),
        normal_metric("Brier score", reliability.brier, brier),
        Metric("calibration error", reliability.calibration_error),
    ]


def _of_output(metrics: list[Metric], output: int, outputs: int) -> list[Metric]:
    """Return metrics of one of several outputs, with its name."""
    return [replace(m, output=f"output {output}") for m in metrics] if outputs > 1 else metrics


def _regression_of_fit(model: KernelRegressor) -> Evaluation | None:
    intervals, targets = model.fit_.intervals, model._targets
    if intervals is None:
        return _by_criterion(model, [])
    rows, outputs = intervals.rows, targets.outputs
    coverage = [
        share
        for level, output in product(COVERAGES, range(outputs))
        for share in _of_output(_left_out_share(intervals, level, output), output, outputs)
    ]
    if rows.count is not None:  # shards sent counts of errors, in units of their local scale
        return _by_criterion(model, coverage)
    counts = rows.weight > 0
    truth, values = (
        part[counts] * targets.scale + targets.origin for part in (rows.targets, rows.values)
    )
    errors = _regression(truth, values, rows.weight[counts])
    words = f"{int(counts.sum()):,} rows that were left out"
    return Evaluation(f"{words} ({intervals.label})", [*errors, *coverage])


def _regression(truth: Array, values: Array, weight: Array) -> list[Metric]:
    found: list[Metric] = []
    for at in range(truth.shape[1]):
        metrics = regression_metrics(truth[:, at], values[:, at], weight)
        found += _of_output(metrics, at, truth.shape[1])
    return found


def _left_out_share(intervals: Intervals, level: float, output: int) -> list[Metric]:
    """Return the share of left-out rows in their intervals; nothing if rows are too few."""
    rows = intervals.rows
    if (len(rows.weight) // 2 + 1) * (1 - level) / 2 < 1:
        return []
    low, high = intervals.left_out_ends(level, output)
    y, weight = rows.targets[:, output], rows.weight
    share = float(weight @ ((low <= y) & (y <= high)) / weight.sum())
    counted = effective_rows(weight) if rows.count is None else float(rows.count)
    return [share_metric(coverage_name(level), share, counted)]


def _by_criterion(model: KernelRegressor, others: list[Metric]) -> Evaluation | None:
    """Return the error by which alpha or the steps were chosen, for want of left-out rows."""
    chosen = _chosen_by(model)
    if chosen is None:
        return Evaluation("rows that were left out", others) if others else None
    mean, by_fold, label = chosen
    metric = Metric("RMSE", float(np.sqrt(mean)))
    if by_fold is not None and len(by_fold) > 1 and not np.isnan(by_fold).any():
        half = float(Z * by_fold.std(ddof=1) / np.sqrt(len(by_fold)))
        low, high = np.sqrt(max(0.0, mean - half)), np.sqrt(mean + half)
        metric = Metric("RMSE", metric.value, float(low), float(high))
    several = ", added over outputs" if model._targets.outputs > 1 else ""
    rows = f"rows that were left out to choose alpha or steps ({label}{several})"
    return Evaluation(rows, [metric, *others])


def _chosen_by(model: KernelRegressor) -> tuple[float, Array | None, str] | None:
    """Return a mean squared error, also by fold, and what it is; None if it is of another fit."""
    fit = model.fit_
    exact = not fit.combination or fit.combination.startswith("exact")
    # Alpha of other combinations, and of products, was chosen by a smaller fit.
    if not exact or fit.plan.sample:
        return None
    path, steps = fit.path, fit.solution.steps
    if path is not None and path.validation_error is not None and steps:
        at = min(steps, len(path.validation_error)) - 1
        split = None if path.by_fold is None else path.by_fold[:, at]
        return float(path.validation_error[at]), split, fit.solution.reason
    if fit.scores is None or fit.alphas is None:
        return None
    at = int(np.argmin(np.abs(fit.alphas - fit.alpha)))
    by_fold = None if fit.scores.by_fold is None else fit.scores.by_fold[:, at]
    label = fit.scores.label or as_criterion(model.selection).label
    return float(fit.scores.mean[at]), by_fold, label


def coverage_name(level: float) -> str:
    """Return the name of the share of rows in their intervals."""
    return f"in the {100 * level:.0f} % interval"


@dataclass(frozen=True)
class GivenRows:
    """Rows with a known target: their source, and which of its rows these are."""

    source: RowSource
    known: Array  # (n,) of all rows
    y: Array
    weight: Array
    query: Array | None


def given_rows(model: KernelEstimator, given: FitInput) -> GivenRows:
    """Return rows to test a model on; those without a target or a weight are left out."""
    classes = isinstance(model, KernelClassifier)
    if isinstance(given.X, RowSource) and given.y is None:
        source: RowSource = given.X if classes else with_number_labels(given.X)
        if not source.has_target:
            raise ValueError("metrics need targets, and these rows have none: give y")
    else:
        kind = model._kind()
        if isinstance(model._targets, ClassTargets):
            kind = Classes(model._targets)
        source = rows_with_targets(model, given, kind)
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


def new_row_scores(model: KernelEstimator, given: FitInput) -> Evaluation:
    """Return metrics of rows that the model has not seen."""
    rows = given_rows(model, given)
    words = f"{int(rows.known.sum()):,} rows that were given"
    left = int((~rows.known).sum())
    notes = [f"{left:,} rows without a target or a weight were left out."] if left else []
    values = values_of(model, rows.source)[rows.known]
    if isinstance(model, KernelClassifier):
        codes = classes_of(model._targets.encode(rows.y, 0)[rows.known])
        logs = model._log_probabilities(values)
        reliability = reliability_of(logs, codes, rows.weight)
        metrics = _class_metrics(logs, codes, rows.weight, reliability)
        return Evaluation(words, metrics, notes, reliability)
    targets = model._targets
    assert isinstance(targets, RegressionTargets)
    truth = targets.encode(rows.y, 0)[rows.known] * targets.scale + targets.origin
    if not isinstance(model, KernelRegressor):
        ranked, more = _ranking_metrics(truth[:, 0], values[:, 0], rows)
        return Evaluation(words, ranked, notes + more)
    errors = _regression(truth, values, rows.weight)
    return Evaluation(words, errors + _coverage(model, rows, truth), notes)


def _class_metrics(
    logs: Array, codes: Array, weight: Array, reliability: Reliability
) -> list[Metric]:
    P, at = np.exp(logs), np.arange(len(codes))
    hit = np.zeros_like(P)
    hit[at, codes] = 1.0
    squares = ((P - hit) ** 2).sum(axis=1) / (2 if P.shape[1] == 2 else 1)
    means = mean_metrics({"log loss": -logs[at, codes], "Brier score": squares}, weight)
    return [
        share_metric("accuracy", reliability.accuracy, effective_rows(weight)),
        *means,
        Metric("calibration error", reliability.calibration_error),
    ]


def _coverage(model: KernelRegressor, rows: GivenRows, truth: Array) -> list[Metric]:
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
    counted, metrics = effective_rows(rows.weight), list[Metric]()
    for place, level in enumerate(levels):
        low, high = ends[:, 0, place], ends[:, 1, place]
        inside = rows.weight @ ((low <= truth) & (truth <= high)) / rows.weight.sum()
        for output in range(outputs):
            metric = share_metric(coverage_name(level), float(inside[output]), counted)
            metrics += _of_output([metric], output, outputs)
    return metrics


def _ranking_metrics(
    truth: Array, scores: Array, rows: GivenRows
) -> tuple[list[Metric], list[str]]:
    """Return NDCG@10 and the share of pairs in the wrong order, by resampling queries."""
    query, weight = rows.query, rows.weight
    error = pairwise_error(truth, scores, query, weight)
    if query is None:
        note = "The rows are one query, and an interval needs several: give qid."
        return [Metric(WRONG_PAIRS, error)], [note]
    _, codes = np.unique(query, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    shares = np.array([pairwise_error(truth[g], scores[g], None, weight[g]) for g in groups])
    pairs = np.array([_pairs(truth[g], weight[g]) for g in groups])
    sums = np.column_stack([np.where(pairs > 0, np.nan_to_num(shares) * pairs, 0.0), pairs])
    metrics = resampled(sums, np.ones(len(sums)), {WRONG_PAIRS: lambda s: s[:, 1] / s[:, 2]})
    notes = [f"{len(groups):,} queries, which are resampled as a whole."]
    if np.any(truth < 0):
        return metrics, [*notes, "NDCG is not defined for negative relevance."]
    by_query = ndcg_by_query(truth, scores, query, gain="auto")
    by_query = by_query[~np.isnan(by_query)]
    if len(by_query):
        metrics += mean_metrics({"NDCG@10": by_query}, np.ones(len(by_query)))
    return metrics, notes


def _pairs(relevance: Array, weight: Array) -> float:
    """Return the weight of the pairs of rows of different relevance.

    >>> _pairs(np.array([1.0, 2.0, 2.0]), np.ones(3))
    2.0
    """
    _, codes = np.unique(relevance, return_inverse=True)
    same = np.bincount(codes, weight)
    return float(weight.sum() ** 2 - same @ same) / 2


#: What scores are called in tables.
TITLES = {"accuracy": "test accuracy", "r2": "test R\N{SUPERSCRIPT TWO}", "rmse": "test RMSE"}


@dataclass(frozen=True)
class PlainScores:
    """Scores without intervals by name, of a number of rows with a target."""

    values: dict[str, float]
    rows: int
    label: str
    without: int = 0  # rows without a target

    def table(self) -> list[tuple[str, str]]:
        """Return rows of a table."""
        where = f"on {self.rows:,} rows of {self.label}"
        if self.without:
            where += f"; {self.without:,} without a target left out"
        rows = []
        for name, value in self.values.items():
            text = f"{value:.6g}" if name == "rmse" else f"{value:.4f} ({where})"
            rows.append((TITLES[name], text))
        return rows

    def record(self) -> dict[str, object]:
        """Return the scores for JSON."""
        return {**self.values, "rows": self.rows, "of": self.label}


def plain_scores(model: KernelEstimator, source: RowSource, label: str) -> PlainScores:
    """Return accuracy, or R^2 and the root mean squared error, of the rows with a target."""
    source = source if model._kind().classes else with_number_labels(source)
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
        return PlainScores({"accuracy": float(np.mean(predicted == y))}, len(y), label, without)
    assert isinstance(model._targets, RegressionTargets)
    y = as_numbers(y[known], 0, style=model._targets.style).reshape(predicted.shape)
    error = float(np.sqrt(np.mean((predicted - y) ** 2)))
    return PlainScores({"r2": float(r2_score(y, predicted)), "rmse": error}, len(y), label, without)

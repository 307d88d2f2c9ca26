"""What a model has learned from the labels so far: its error, and how sure it is of each row.

Errors are those of rows that were left out of the fit, with their importance weights, so that they
are estimates for the whole pool. The error of labels drawn uniformly is measured, too, without
asking for any: a draw with probability q_j that is kept with probability proportional to
``1 / (N q_j)`` is a uniform draw from the pool. Half of q is uniform, so at least half of the draws
are kept, and a model that is fitted to them alone has the error of as many uniform labels.

The error against the number of labels, ``e(n) = C n^-beta`` (:class:`mercer.theory.PowerLaw`), says
how many labels a target error needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from mercer.contracts import Array, Rows
from mercer.estimators import KernelClassifier, KernelRegressor
from mercer.labelling.label_values import CLASSIFICATION
from mercer.labelling.row_labels import rows_of
from mercer.theory.learning_surface import FEWEST as FEWEST_POINTS
from mercer.theory.learning_surface import PowerLaw

#: A curve is continued only if its labels span this factor, and its exponent is at least SLOWEST.
SPAN, SLOWEST = 2.0, 0.05
#: Nothing is said of more labels than this many times those that there are.
FURTHEST = 50.0


@dataclass(frozen=True)
class CurvePoint:
    """Errors of one refit.

    Attributes
    ----------
    labels : int
        The number of labels.
    error : float
        The error that the pool is expected to have: of rows that were left out of the fit, by their
        weights. Root mean squared, or the share of wrong classes.
    deviation : float
        The standard error of ``error``.
    uniform_labels, uniform_error : float or None
        The same of labels drawn uniformly (:func:`mercer.labelling.label_learning.uniform_part`).
    """

    labels: int
    error: float
    deviation: float
    uniform_labels: float | None = None
    uniform_error: float | None = None


@dataclass(frozen=True)
class LabelsNeeded:
    """How many labels a target error takes, with a range; None where it cannot be known.

    ``reached`` is whether the error is below the target by one standard error or more, and ``near``
    whether it is about there.
    """

    target: float
    labels: int | None = None
    low: int | None = None
    high: int | None = None
    reached: bool = False
    near: bool = False

    def words(self) -> str:
        """Return the estimate as a sentence."""
        if self.reached:
            return f"The target of {self.target:g} is reached, as far as the labels show."
        if self.near:
            return f"The error is about the target of {self.target:g} now; more labels will tell."
        if self.labels is None:
            return f"Not enough labels yet to say how many an error of {self.target:g} takes."
        ends = f"{self.low:,} or more" if self.high is None else f"{self.low:,} to {self.high:,}"
        return f"An error of {self.target:g} takes about {self.labels:,} labels in all ({ends})."


def labels_needed(points: Sequence[CurvePoint], target: float) -> LabelsNeeded:
    """Return how many labels an error of ``target`` takes, if the curve goes on as it does.

    The range has the exponents of all halves of the curve, and one standard error of the last
    point. A noise that no label removes is not part of the law, so this is optimistic for targets
    near it.

    >>> points = [CurvePoint(n, n**-0.5, 0.01 * n**-0.5) for n in range(10, 70, 10)]
    >>> labels_needed(points, 0.1).words()
    'An error of 0.1 takes about 100 labels in all (98 to 102).'
    >>> labels_needed(points[:3], 0.1).words()
    'Not enough labels yet to say how many an error of 0.1 takes.'
    """
    unknown = LabelsNeeded(target)
    by_labels = {point.labels: point for point in points if point.error > 0}
    known = [by_labels[number] for number in sorted(by_labels)]
    if points and points[-1].error + points[-1].deviation <= target:
        return LabelsNeeded(target, reached=True)
    if len(known) < FEWEST_POINTS or known[-1].labels < SPAN * known[0].labels:
        return unknown
    labels = np.array([point.labels for point in known], dtype=float)
    law = PowerLaw.of(labels, np.array([point.error for point in known]))
    if not law.exponent <= -SLOWEST:
        return unknown
    last = known[-1]
    now = law.constant * last.labels**law.exponent
    if now <= target:
        return LabelsNeeded(target, near=True)
    noise = min(last.deviation / last.error, 0.5)

    def needed(error: float, exponent: float) -> float:
        ratio = np.log(max(error / target, 1.0)) / -exponent
        return float(last.labels * np.exp(min(ratio, np.log(1e9))))

    best = needed(now, law.exponent)
    if best > FURTHEST * last.labels:
        return unknown
    low = needed(now * (1 - noise), min(law.low, law.exponent))
    high = np.inf
    if law.high <= -SLOWEST:
        high = needed(now * (1 + noise), max(law.high, law.exponent))
    return LabelsNeeded(
        target,
        round(best),
        round(low),
        None if high > FURTHEST * last.labels else round(high),
    )


#: Fewest labels of a fit.
FEWEST = 6
#: Uniform draws whose errors are averaged.
REPEATS = 2
#: Coverages of intervals, of which the first that the rows suffice for is shown.
COVERAGES = (0.9, 0.8, 0.5)
Model: TypeAlias = KernelClassifier | KernelRegressor


@dataclass(frozen=True)
class LabelledRows:
    """Rows with labels: features, labels, weights, how often each was drawn, and q's bound.

    ``most`` is the largest weight that one draw from the pool can have, or None if the draws are no
    independent ones.
    """

    X: Rows
    y: Array
    weight: Array
    count: Array
    most: float | None

    @property
    def enough(self) -> bool:
        """Whether a model can be fitted: some labels, of which not all are equal."""
        return len(self.y) >= FEWEST and len(set(self.y.tolist())) > 1

    def part(self, at: Array, weight: Array) -> LabelledRows:
        """Return some rows, with other weights."""
        return LabelledRows(rows_of(self.X, at), self.y[at], weight, weight, None)


def uniform_part(rows: LabelledRows, rng: np.random.Generator) -> LabelledRows:
    """Return a uniform sample of the pool from rows drawn by importance, by rejection.

    >>> weight, count = np.array([4.0, 0.2]), np.array([2, 1])
    >>> rows = LabelledRows(np.zeros((2, 1)), np.zeros(2), weight, count, most=2.0)
    >>> uniform_part(rows, np.random.default_rng(0)).weight
    array([2])
    """
    assert rows.most is not None
    share = np.minimum(rows.weight / rows.count / rows.most, 1.0)
    kept = rng.binomial(rows.count, share)
    at = np.flatnonzero(kept)
    return rows.part(at, kept[at])


def default_model(task: str) -> Model:
    """Return the model of a task. Of weights only their ratios count, as rounds are unfinished."""
    made = KernelClassifier if task == CLASSIFICATION else KernelRegressor
    return made(weight_type="relative", random_state=0)


def learn(model: Model, rows: LabelledRows) -> tuple[Model, CurvePoint]:
    """Fit a clone of a model to labelled rows; return it with its point of the curve."""
    fitted, (error, deviation) = _left_out(model, rows)
    if rows.most is None:
        return fitted, CurvePoint(len(rows.y), error, deviation)
    rng = np.random.default_rng([0, len(rows.y)])
    parts = [uniform_part(rows, rng) for _ in range(REPEATS)]
    if not all(part.enough for part in parts):
        return fitted, CurvePoint(len(rows.y), error, deviation)
    squares = [_left_out(model, part)[1][0] ** 2 for part in parts]
    size = float(np.mean([len(part.y) for part in parts]))
    uniform = float(np.sqrt(np.mean(squares)))
    return fitted, CurvePoint(len(rows.y), error, deviation, size, uniform)


def _left_out(model: Model, rows: LabelledRows) -> tuple[Model, tuple[float, float]]:
    """Return a fitted model, and its error on left-out rows with the standard error of that."""
    fitted = clone(model).fit(rows.X, rows.y, sample_weight=rows.weight)
    size = float(rows.weight.sum() ** 2 / np.sum(rows.weight**2))
    if isinstance(fitted, KernelClassifier):
        return fitted, _wrong(fitted, size)
    left = fitted.fit_.intervals.rows
    squares, weight = left.errors[:, 0] ** 2, left.weight / left.weight.sum()
    mean = float(weight @ squares)
    spread = float(np.sqrt(weight**2 @ (squares - mean) ** 2))
    scale, root = float(fitted._targets.scale[0]), float(np.sqrt(mean))
    return fitted, (scale * root, scale * spread / (2 * root) if root > 0 else 0.0)


def _wrong(fitted: Any, size: float) -> tuple[float, float]:
    """Return the share of left-out rows whose most probable class is wrong, and its error.

    No row wrong is no proof that none will be: half a row is added to either side, as Jeffreys'
    prior does.
    """
    total, _, right = fitted.calibration_.reliability.confidence.sum(axis=0)
    share = float((size * (1 - right / total) + 0.5) / (size + 1))
    return share, float(np.sqrt(share * (1 - share) / size))


def guesses(model: Model, X: Rows) -> list[dict[str, Any]]:
    """Return what a model expects of rows, and how sure it is.

    For classes, that is the probability of each; for numbers, the prediction with an interval and
    its coverage, or without them as long as there are too few labels.
    """
    if isinstance(model, KernelClassifier):
        classes = [str(name) for name in model.classes_]
        return [
            {"classes": dict(zip(classes, row, strict=True)), "sure": max(row)}
            for row in model.predict_proba(X).round(4).tolist()
        ]
    values = np.asarray(model.predict(X), dtype=float).tolist()
    mixture = model.fit_.intervals.mixture(0)
    for coverage in COVERAGES:
        if mixture.has((1 - coverage) / 2) and mixture.has((1 + coverage) / 2):
            ends = model.predict_interval(X, coverage).tolist()
            return [
                {"value": value, "low": low, "high": high, "coverage": coverage}
                for value, (low, high) in zip(values, ends, strict=True)
            ]
    return [{"value": value} for value in values]

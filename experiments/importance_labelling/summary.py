"""Medians over repeats, and how many times better importance labeling is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.importance_labelling.measured import Budgeted, Descent, Estimate, Point, Trial
from experiments.scaffold import Array, records


@dataclass(frozen=True)
class Results:
    """Everything that was measured; parts that were not run are empty."""

    points: list[Point]
    estimates: list[Estimate]
    trials: dict[str, list[Trial]]  # by set
    descents: list[Descent]
    budgets: list[Budgeted] = field(default_factory=list)


@dataclass(frozen=True)
class Scatter:
    """How far coefficients are from the true ones, by quantiles.

    There is no variance to estimate: that of least squares is ``0.01 (X'X)^-1``, whose mean is
    infinite for three Gaussian rows of two columns, as (X'X)^-1 has a mean only from four rows on.
    """

    middle_half: float  # the interquartile range of beta
    mad: float  # the median absolute deviation of beta from its median
    typical: float  # median of |beta - 1|
    ninth: float  # of ten: the 90th percentile of |beta - 1|
    wrong: float  # the share that is off by more than the coefficient itself


def select(
    found: Sequence[Trial], task: str, labels: int, noise: float, method: str
) -> list[Trial]:
    """Return all repeats of a setting."""
    return records.select(found, task=task, labels=labels, noise=noise, method=method)


def median(
    found: Sequence[Trial], task: str, labels: int, noise: float, method: str, what: str = "rmse"
) -> float:
    """Return the median over repeats."""
    chosen = select(found, task, labels, noise, method)
    return float(np.median([getattr(one, what) for one in chosen]))


def gain(
    found: Sequence[Trial], task: str, labels: int, noise: float, method: str, what: str = "rmse"
) -> float:
    """Return how many times the error of CRED the median error of another method is."""
    key = (task, labels, noise)
    return median(found, *key, method, what) / median(found, *key, "CRED", what)


def reach(points: Sequence[Point], scheme: str) -> float:
    """Return the mean squared distance of labeled points from 0, in deviations of the pool.

    It is 2 for the pool. CRED draws half uniformly and half in proportion to the score, which is
    the squared distance itself at a small penalty, so 3 is expected of it: ``(2 + 8 / 2) / 2``.
    """
    chosen = [one for one in points if one.scheme == scheme]
    return float(np.mean([one.x1**2 + one.x2**2 / 0.01 for one in chosen]))


@dataclass(frozen=True)
class Shrinkage:
    """The interquartile range of a scheme over that of uniform labels, with a 95 % interval."""

    ratio: float
    low: float
    high: float


def middle_half(values: Array) -> Array:
    """Return the interquartile range along the last axis."""
    low, high = np.percentile(values, [25, 75], axis=-1)
    return np.asarray(high - low)


def shrinkage(
    estimates: Sequence[Estimate], scheme: str, which: str, draws: int = 2000
) -> Shrinkage:
    """Compare the spread of a scheme with that of uniform labels; the interval is a bootstrap's."""
    rng = np.random.default_rng(0)
    spreads, again = [], []
    for name in (scheme, "uniform"):
        values = np.array([getattr(one, which) for one in estimates if one.scheme == name])
        spreads.append(middle_half(values))
        again.append(middle_half(rng.choice(values, (draws, len(values)))))
    low, high = np.percentile(again[0] / again[1], [2.5, 97.5])
    return Shrinkage(float(spreads[0] / spreads[1]), float(low), float(high))


def single_gains(
    found: Sequence[Trial], task: str, labels: int, noise: float, method: str
) -> list[float]:
    """Return how many times the error of CRED that of another method is, in each repeat."""
    ours, theirs = (
        {one.repeat: one.rmse for one in select(found, task, labels, noise, name)}
        for name in ("CRED", method)
    )
    return [theirs[repeat] / ours[repeat] for repeat in sorted(ours)]


def scatter(estimates: Sequence[Estimate], scheme: str, which: str) -> Scatter:
    """Summarize one coefficient of one scheme; the true one is 1."""
    values = np.array([getattr(one, which) for one in estimates if one.scheme == scheme])
    off = np.abs(values - 1.0)
    return Scatter(
        float(middle_half(values)),
        float(np.median(np.abs(values - np.median(values)))),
        float(np.median(off)),
        float(np.percentile(off, 90)),
        float(np.mean(off > 1.0)),
    )


def settings(found: Sequence[Trial]) -> list[tuple[str, int]]:
    """Return each task and number of labels, in the order of runs."""
    return list(dict.fromkeys((one.task, one.labels) for one in found))

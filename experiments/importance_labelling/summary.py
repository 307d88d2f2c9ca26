"""Medians over repeats, and how many times better importance labeling is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.importance_labelling.measured import Descent, Estimate, Point, Split, Trial
from experiments.scaffold import records


@dataclass(frozen=True)
class Results:
    """Everything that was measured; parts that were not run are empty."""

    points: list[Point]
    estimates: list[Estimate]
    trials: dict[str, list[Trial]]  # by set
    splits: list[Split]
    descents: list[Descent]


@dataclass(frozen=True)
class Scatter:
    """How far coefficients are from the true ones."""

    deviation: float  # standard deviation
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


def scatter(estimates: Sequence[Estimate], scheme: str, which: str) -> Scatter:
    """Summarize one coefficient of one scheme; the true one is 1."""
    values = np.array([getattr(one, which) for one in estimates if one.scheme == scheme])
    off = np.abs(values - 1.0)
    return Scatter(
        float(values.std(ddof=1)),
        float(np.median(off)),
        float(np.percentile(off, 90)),
        float(np.mean(off > 1.0)),
    )


def settings(found: Sequence[Trial]) -> list[tuple[str, int]]:
    """Return each task and number of labels, in the order of runs."""
    return list(dict.fromkeys((one.task, one.labels) for one in found))

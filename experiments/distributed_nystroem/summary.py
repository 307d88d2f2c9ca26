"""Means over repeats, and where one curve passes below another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.distributed_nystroem.problems import Problem
from experiments.distributed_nystroem.trials import Point, Results, by_centers, by_partitions
from mercer.contracts import Array


@dataclass(frozen=True)
class Crossing:
    """Where DNystroem passes below other methods, and stays below.

    ``at`` is that of the mean curves: minus infinity if it is below everywhere, infinity if it is
    not below at the end. ``low`` and ``high`` are the first and last over single repeats.
    """

    at: float
    low: float
    high: float


def errors(results: Results, curve: Sequence[Point]) -> Array:
    """Return one row a repeat and one column a point, for the repeats that have all points."""
    seeds = sorted({seed for _, seed in results})
    whole = [seed for seed in seeds if all((at, seed) in results for at in curve)]
    return np.array([[results[at, seed] for at in curve] for seed in whole]).reshape(
        len(whole), len(curve)
    )


def mean_and_deviation(rows: Array) -> tuple[Array, Array]:
    """Return the mean over repeats and the standard deviation between them."""
    spread = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1:])
    return rows.mean(axis=0), spread


def passes(x: Sequence[int], ours: Array, theirs: Array) -> float:
    """Return from where ours is below theirs for good, on lines between the points.

    >>> passes((10, 20, 30), np.array([3.0, 2.0, 1.0]), np.array([2.0, 1.5, 1.5]))
    25.0
    """
    gap = np.round(np.asarray(ours) - np.asarray(theirs), 12)  # equal rates may differ in a bit
    if gap[-1] >= 0:
        return float("inf")
    above = np.flatnonzero(gap >= 0)
    if not len(above):
        return float("-inf")
    last = int(above[-1])
    share = gap[last] / (gap[last] - gap[last + 1])
    return float(x[last] + share * (x[last + 1] - x[last]))


def partitions_crossing(problem: Problem, results: Results, centers: int) -> Crossing:
    """Return m from which DNystroem is better than both DKRR and DC-NY (figure 5)."""
    curves = [
        errors(results, by_partitions(problem, method, centers))
        for method in ("DNystroem", "DKRR", "DC-NY")
    ]
    return _crossing(problem.partitions, curves[0], curves[1:])


def centers_crossing(problem: Problem, results: Results, method: str) -> Crossing:
    """Return M from which DNystroem is better than another method (figure 6)."""
    ours, theirs = (errors(results, by_centers(problem, name)) for name in ("DNystroem", method))
    return _crossing(problem.centers, ours, [theirs])


def _crossing(x: Sequence[int], ours: Array, others: Sequence[Array]) -> Crossing:
    repeats = min(len(ours), *(len(rows) for rows in others))
    if not repeats:
        return Crossing(*(3 * [float("nan")]))
    best_of_means = np.min([rows[:repeats].mean(axis=0) for rows in others], axis=0)
    best_of_each = np.min([rows[:repeats] for rows in others], axis=0)
    each = [passes(x, ours[i], best_of_each[i]) for i in range(repeats)]
    return Crossing(passes(x, ours[:repeats].mean(axis=0), best_of_means), min(each), max(each))

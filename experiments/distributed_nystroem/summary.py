"""Means over repeats, and where one curve passes below another, here and in what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.distributed_nystroem.problems import Problem
from experiments.distributed_nystroem.trials import Point, Results, by_centers, by_partitions
from experiments.scaffold import Array
from experiments.scaffold.stored import Curve, stored

#: Repeats from which intervals come from drawing them again, and how often that is done.
ENOUGH, AGAIN = 5, 2000


@dataclass(frozen=True)
class Study:
    """The sets that were run, their results, and the authors' own curves."""

    problems: dict[str, Problem]
    results: dict[str, Results]
    authors: list[Curve] = field(default_factory=list)


@dataclass(frozen=True)
class Crossing:
    """Where DNystroem passes below other methods, and stays below.

    ``at`` is that of the mean curves: minus infinity if it is below everywhere, infinity if it is
    not below at the end. ``low`` and ``high`` are the ends of a 95 % interval: of the mean curves
    of repeats that are drawn again with replacement, or, where repeats are too few for that, the
    first and last over single repeats.
    """

    at: float
    low: float
    high: float


def errors(results: Results, curve: Sequence[Point]) -> Array:
    """Return one row a repeat and one column a point: NaN for a trial that was not made."""
    seeds = sorted({seed for _, seed in results})
    rows = [[results.get((at, seed), np.nan) for at in curve] for seed in seeds]
    return np.array(rows).reshape(len(seeds), len(curve))


def mean_and_deviation(rows: Array) -> tuple[Array, Array]:
    """Return the mean over the repeats that were made, and the standard deviation between them.

    The mean is NaN without any repeat, the deviation with fewer than two.
    """
    made = [column[~np.isnan(column)] for column in rows.T]
    mean = [column.mean() if len(column) else np.nan for column in made]
    spread = [column.std(ddof=1) if len(column) > 1 else np.nan for column in made]
    return np.array(mean), np.array(spread)


def passes(x: Sequence[float], ours: Array, theirs: Array) -> float:
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


def partitions_crossing(problem: Problem, results: Results, method: str) -> Crossing:
    """Return m from which DNystroem is better than another method (figure 5)."""
    ours, theirs = (errors(results, by_partitions(problem, name)) for name in ("DNystroem", method))
    return _crossing(problem.partitions, ours, theirs)


def centers_crossing(problem: Problem, results: Results, method: str) -> Crossing:
    """Return M from which DNystroem is better than another method (figure 6)."""
    ours, theirs = (errors(results, by_centers(problem, name)) for name in ("DNystroem", method))
    return _crossing(problem.centers, ours, theirs)


def authors_crossing(authors: list[Curve], figure: str, name: str, method: str) -> float:
    """Return the same for the authors' stored means: NaN where they have none."""
    ours, theirs = (stored(authors, figure, name, one) for one in ("DNystroem", method))
    if ours is None or theirs is None:
        return np.nan
    return passes(ours.x, np.array(ours.error), np.array(theirs.error))


def _crossing(x: Sequence[int], ours: Array, theirs: Array) -> Crossing:
    """Compare what has been made of both: the same repeats at the same points."""
    missing = np.isnan(ours + theirs)
    shown = np.flatnonzero(~missing.all(axis=0))
    if len(shown) < 2:
        return Crossing(np.nan, np.nan, np.nan)
    at = [x[i] for i in shown]
    ours, theirs = (np.where(missing, np.nan, rows)[:, shown] for rows in (ours, theirs))
    whole = passes(at, mean_and_deviation(ours)[0], mean_and_deviation(theirs)[0])
    complete = ~np.isnan(ours).any(axis=1)
    ours, theirs = ours[complete], theirs[complete]
    if len(ours) < ENOUGH:
        each = [passes(at, a, b) for a, b in zip(ours, theirs, strict=True)]
        return Crossing(whole, min(each, default=whole), max(each, default=whole))
    drawn = np.random.default_rng(0).integers(len(ours), size=(AGAIN, len(ours)))
    each = [passes(at, ours[one].mean(axis=0), theirs[one].mean(axis=0)) for one in drawn]
    low, high = np.quantile(each, [0.025, 0.975], method="inverted_cdf")  # some may be infinite
    return Crossing(whole, float(low), float(high))


def crossing_text(crossing: Crossing) -> str:
    """Return where curves cross, with the interval in brackets.

    >>> crossing_text(Crossing(13.2, 10.0, np.inf))
    '13 (10 to never)'
    """
    if crossing.low == crossing.high or np.isnan(crossing.at):
        return number(crossing.at)
    return f"{number(crossing.at)} ({number(crossing.low)} to {number(crossing.high)})"


def number(value: float) -> str:
    """Return where curves cross."""
    if np.isnan(value):
        return "-"
    if np.isinf(value):
        return "never" if value > 0 else "always"
    return f"{value:.0f}"

"""Metrics with intervals of 95 percent: of means over rows, and of shares.

A metric that is a function of sums over rows is resampled (Efron 1979, *Bootstrap methods: another
look at the jackknife*),

.. math:: g\\Big(\\sum_i N_i w_i z_i\\Big), \\qquad N \\sim \\text{Multinomial}(n, 1/n)

with a fixed seed, and its interval has 2.5 percent of the resampled values on either side. Many
rows are first added in random groups, whose sums vary as much. A share has the interval of Wilson
(1927, *Probable inference, the law of succession, and statistical inference*), which is right near
0 and 1 as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array

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
    found, draws = [], None
    if len(sums) >= FEWEST and np.isfinite(total).all():
        counts = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLES)
        draws = counts @ sums
    for name, statistic in statistics.items():
        with np.errstate(all="ignore"):  # a sample may have no spread
            value = float(statistic(total)[0])
            values = np.full(1, np.nan) if draws is None else statistic(draws)
        known = np.isfinite(value) and np.isfinite(values).all()
        low, high = np.quantile(values, [0.025, 0.975]) if known else (np.nan, np.nan)
        found.append(Metric(name, value, float(low), float(high)))
    return found


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


def rows_that_count(weight: Array) -> float:
    """Return ``(sum w)^2 / sum w^2``: the rows of equal weight that are worth as much.

    >>> rows_that_count(np.array([2.0, 2.0, 2.0])), rows_that_count(np.array([1.0, 0.0]))
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

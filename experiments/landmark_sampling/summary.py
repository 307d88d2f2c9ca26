"""What a landmark that was chosen is worth: how many uniform ones do the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from experiments.landmark_sampling.problems import PROBLEMS
from experiments.landmark_sampling.trials import SAMPLINGS, Found, Results
from experiments.scaffold import Array

UNIFORM = "uniform"
#: All ways to choose but uniform.
CHOSEN = tuple(name for name in SAMPLINGS if name != UNIFORM)


@dataclass(frozen=True)
class Spread:
    """The median over splits, and the least and the largest."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Array) -> Spread:
        """Sum up one value a split."""
        return cls(float(np.median(values)), float(values.min()), float(values.max()))


def keys(results: Results) -> list[tuple[str, float]]:
    """Return the sets with their bandwidths, narrow to wide, in the order of the sets."""
    found = {(one.problem, one.factor) for one in results.found}
    order = list(PROBLEMS)
    return sorted(found, key=lambda key: (order.index(key[0]), key[1]))


def at_median(results: Results) -> list[str]:
    """Return the sets that were run with the median bandwidth."""
    return [problem for problem, factor in keys(results) if factor == 1.0]


def curve(
    results: Results, problem: str, factor: float, sampling: str, what: str
) -> tuple[Array, Array]:
    """Return numbers of landmarks, and what was measured: one row a split."""
    key = (problem, factor, sampling)
    found = [one for one in results.found if (one.problem, one.factor, one.sampling) == key]
    return table(found, what)


def table(found: Iterable[Found], what: str) -> tuple[Array, Array]:
    """Return the sizes of some fits, and a value for each split and size."""
    values = {(one.seed, one.size): float(getattr(one, what)) for one in found}
    seeds, sizes = sorted({seed for seed, _ in values}), sorted({size for _, size in values})
    return np.array(sizes), np.array([[values[seed, size] for size in sizes] for seed in seeds])


def equivalent(value: Array, sizes: Array, uniform: Array) -> Array:
    """Return with how many uniform landmarks the error is ``value``.

    Between the numbers that were run it is interpolated, in logarithms; beyond them it is the least
    or the largest of them. Where more landmarks have a larger error, the smaller one counts.

    >>> uniform = np.array([1.0, 0.5, 0.05])
    >>> equivalent(np.array([0.5, 0.1, 0.01]), np.array([10, 20, 40]), uniform).round(1)
    array([20. , 32.5, 40. ])
    """
    falling = np.minimum.accumulate(uniform)
    first = np.r_[True, np.diff(falling) < 0]
    at, errors = np.log(sizes[first]), np.log(falling[first])
    return np.asarray(np.exp(np.interp(-np.log(value), -errors, at)))


def worths(
    results: Results, problem: str, factor: float, sampling: str, what: str
) -> tuple[Array, Array]:
    """Return sizes, and the worth of a landmark: one row a split, compared on the same split.

    The least and the largest size are left out: there the uniform curve ends too early.
    """
    sizes, values = curve(results, problem, factor, sampling, what)
    uniform_sizes, uniform = curve(results, problem, factor, UNIFORM, what)
    pairs = zip(values, uniform, strict=True)
    found = np.array([equivalent(row, uniform_sizes, other) for row, other in pairs]) / sizes
    return sizes[1:-1], found[:, 1:-1]


def worth(results: Results, problem: str, factor: float, sampling: str, what: str) -> Spread:
    """Return the worth over all sizes: the geometric mean of each split."""
    _, found = worths(results, problem, factor, sampling, what)
    return Spread.of(np.exp(np.log(found).mean(axis=1)))


def ratio(results: Results, problem: str, factor: float, sampling: str, what: str) -> Spread:
    """Return the error in units of that of as many uniform landmarks, by split."""
    sizes, values = curve(results, problem, factor, sampling, what)
    uniform_sizes, uniform = curve(results, problem, factor, UNIFORM, what)
    same = uniform[:, np.isin(uniform_sizes, sizes)]
    inner = slice(1, -1)
    return Spread.of(np.exp(np.log(values[:, inner] / same[:, inner]).mean(axis=1)))


def loo_ratio(results: Results, problem: str, sampling: str, what: str) -> Spread:
    """Return the same for one number of landmarks, with alpha by leave-one-out."""
    own = [one for one in results.loo if one.problem == problem]
    mine, uniform = (
        table([one for one in own if one.sampling == way], what)[1] for way in (sampling, UNIFORM)
    )
    return Spread.of((mine / uniform)[:, 0])


def uneven_of(results: Results, problem: str, factor: float) -> float:
    """Return the spread of the scores of a set with a bandwidth."""
    return next(
        one.spread for one in results.uneven if (one.problem, one.factor) == (problem, factor)
    )


def correlation(results: Results, sampling: str, what: str) -> float:
    """Return the rank correlation of unevenness and worth over real sets and bandwidths."""
    real = [key for key in keys(results) if not PROBLEMS[key[0]].made_up]
    if len(real) < 3:
        return float("nan")
    uneven = [uneven_of(results, *key) for key in real]
    gains = [worth(results, *key, sampling, what).middle for key in real]
    return float(spearmanr(uneven, gains).statistic)


def least_seconds(results: Results, problem: str, sampling: str, what: str) -> tuple[Array, Array]:
    """Return sizes, and the least seconds of all splits: other work on a machine only adds."""
    sizes, seconds = curve(results, problem, 1.0, sampling, what)
    return sizes, seconds.min(axis=0)


def typical_seconds(results: Results, sampling: str, what: str, size: int) -> float:
    """Return the median over sets of the least seconds of all splits."""
    found = (least_seconds(results, name, sampling, what) for name in at_median(results))
    return float(np.median([seconds[sizes == size] for sizes, seconds in found]))


def affordable(results: Results, sampling: str, size: int) -> float:
    """Return how many uniform landmarks a fit has in the same seconds: median over sets."""
    found = []
    for problem in at_median(results):
        sizes, seconds = least_seconds(results, problem, UNIFORM, "fitting")
        mine, taken = least_seconds(results, problem, sampling, "fitting")
        rising = np.log(np.maximum.accumulate(seconds))
        found.append(np.exp(np.interp(np.log(taken[mine == size]), rising, np.log(sizes))))
    return float(np.median(found))

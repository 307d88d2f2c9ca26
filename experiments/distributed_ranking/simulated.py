"""The simulated data of the paper, and the least error that any score can have on them."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from scipy.special import ndtr

from experiments.distributed_ranking.rows import Split, split
from experiments.scaffold import Array
from mercer.metrics import pairwise_error

ROWS, COLUMNS = 20_000, 7
#: Columns of table 4.
FEW_COLUMNS = 3
#: The noise is N(0, 0.01), which is read as a mean and a variance.
DEVIATION = 0.1
#: What columns are divided by.
SCALES = {"raw": 1.0, "scaled": 100.0}
SEED = 6


@dataclass(frozen=True)
class Least:
    """What is known of the least error on some rows."""

    tied: float  # share of pairs on one level
    least: float  # expected error of the best score
    by_norm: float  # measured error of ||x||, which has the order of levels and few ties
    by_level: float  # measured error of the regression function, whose ties are all wrong


def draw(trial: int, scale: str = "raw", rows: int = ROWS, columns: int = COLUMNS) -> Split:
    """Draw rows with x uniform on {1, ..., 100} and y = [||x|| / 7] + noise."""
    rng = np.random.default_rng([SEED, columns, trial])
    X = rng.integers(1, 101, (rows, columns)).astype(np.float64)
    level = np.floor(np.linalg.norm(X, axis=1) / 7)
    y = level + DEVIATION * rng.standard_normal(rows)
    return split(X / SCALES[scale], y, rng, level)


def tied_share(level: Array) -> float:
    """Return the share of pairs of rows that are on one level.

    >>> tied_share(np.array([1, 1, 2, 3]))
    0.16666666666666666
    """
    counts = np.unique(level, return_counts=True)[1].astype(float)
    n = len(level)
    return float(np.sum(counts * (counts - 1)) / (n * (n - 1)))


def least_error(level: Array, deviation: float = DEVIATION) -> float:
    """Return the expected pairwise error of the best score, given the levels of test rows.

    The noise is independent of x. Of a pair on one level no score can tell the order, so it is
    wrong with probability 1/2; of two levels the higher one is the better guess, and is wrong where
    the noise turns the pair around.
    """
    values, counts = np.unique(level, return_counts=True)
    n = len(level)
    wrong = 0.5 * np.sum(counts * (counts - 1.0)) / 2
    if deviation > 0:
        gap = np.abs(values[:, None] - values[None, :])
        turned = ndtr(-gap / (deviation * np.sqrt(2.0)))
        np.fill_diagonal(turned, 0.0)
        wrong += counts @ turned @ counts / 2
    return float(wrong / (n * (n - 1) / 2))


def least_of(rows: Split) -> Least:
    """Return the least error on test rows, and errors of scores that know the truth."""
    assert rows.level is not None
    norm = np.linalg.norm(rows.X_test, axis=1)
    return Least(
        tied_share(rows.level),
        least_error(rows.level),
        pairwise_error(rows.y_test, norm),
        pairwise_error(rows.y_test, rows.level),
    )


def least_of_draws(trials: int, columns: int = COLUMNS, rows: int = ROWS) -> Least:
    """Return means over the draws of an experiment."""
    found = [astuple(least_of(draw(trial, rows=rows, columns=columns))) for trial in range(trials)]
    return Least(*(float(value) for value in np.mean(found, axis=0)))

"""Whether y changes with a column, in itself or in what the other columns leave of y.

Whole numbers that are all distinct may count something, or be an identifier: only y can tell.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import fdtrc, ndtr

from mercer.contracts import Array
from mercer.rows.table import Coded, Column, gaps_of

#: Columns are related if as much relation has this probability by chance.
BY_CHANCE = 0.001
#: The most groups of rows whose means are compared.
BINS = 16
#: The effects of other columns are those of at most this many columns for each row.
FEW_COLUMNS = 0.25


def related(values: Array, Y: Array) -> bool:
    """Return whether y changes with the values by more than chance.

    By an F test of the slope or of the means in bins, or by the differences of y between successive
    values, whose mean square is twice the variance if there is no relation (von Neumann, 1941).

    >>> rng, t = np.random.default_rng(0), np.arange(100.0)
    >>> related(t, t[:, None]), related(t, np.sin(t)[:, None])
    (True, True)
    >>> related(t, rng.permutation(t)[:, None])
    False
    """
    known = ~np.isnan(Y).any(axis=1) & ~np.isnan(values)
    values, Y = values[known], Y[known]
    n = len(values)
    bins = min(BINS, n // 5)
    if bins < 2:
        return True  # too few rows to tell
    order = np.argsort(values, kind="stable")
    at = np.empty(n, dtype=np.intp)
    at[order] = np.arange(n) * bins // n
    chance = BY_CHANCE / max(1, Y.shape[1])
    count = np.bincount(at, minlength=bins)
    for y in Y.T:
        between = float(np.sum(np.bincount(at, y - y.mean(), bins) ** 2 / count))
        within = float(np.sum((y - y.mean()) ** 2)) - between
        if between <= 0:
            continue
        ratio = (between / (bins - 1)) / max(within / (n - bins), 1e-300)
        slope = float(np.corrcoef(values, y)[0, 1]) ** 2
        trend = slope * (n - 2) / max(1 - slope, 1e-300)
        neighbors = float(np.sum(np.diff(y[order]) ** 2)) / (between + within)
        close = (1 - neighbors / 2) * np.sqrt(n)  # a standard normal deviate, by chance
        if min(fdtrc(1, n - 2, trend), fdtrc(bins - 1, n - bins, ratio), ndtr(-close)) < chance:
            return True
    return False


def without_effects(columns: Mapping[str, Column], Y: Array) -> Array:
    """Return the residuals of least squares on numbers and on indicators of levels.

    >>> x, level = np.arange(40.0) % 7, Coded.of(np.array(list("abaabbba") * 5))
    >>> y = (x + 5 * level.codes)[:, None]
    >>> bool(np.allclose(without_effects({"x": x, "level": level}, y), 0))
    True
    """
    known = ~np.isnan(Y).any(axis=1)
    design = np.ones((len(Y), 1))
    for column in columns.values():
        part = _linear(column)
        if design.shape[1] + part.shape[1] <= FEW_COLUMNS * known.sum():
            design = np.hstack([design, part])
    effects = np.linalg.lstsq(design[known], Y[known], rcond=None)[0]
    rest = Y - design @ effects
    left, whole = (np.abs(part[known]).max(axis=0, initial=0) for part in (rest, Y))
    return np.asarray(np.where(left < 1e-9 * whole, 0.0, rest))  # rounding is no relation


def _linear(column: Column) -> Array:
    """Return a column in standard deviations, gaps at their mean, or indicators of all levels."""
    if isinstance(column, Coded):
        return np.asarray(column.codes[:, None] == np.unique(column.codes)[1:], dtype=np.float64)
    gaps, values = gaps_of(column), column.astype(np.float64)
    known = values[~gaps]
    if not len(known) or known.min() == known.max():
        return np.zeros((len(values), 0))
    return np.asarray(np.where(gaps, 0.0, (values - known.mean()) / known.std())[:, None])

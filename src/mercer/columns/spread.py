"""How the columns are spread: their means and variances are sums over rows.

Sums of a block are about its own mean, and are added with a correction, so that a column far from 0
keeps its digits (Chan, Golub and LeVeque, 1983):

.. math:: \\sum_i w_i (x_i - \\bar x)^2 = Q_1 + Q_2 + \\frac{W_1 W_2}{W_1 + W_2} (m_1 - m_2)^2

Squares are in a unit of the column, a power of two near its largest value, so that they neither
overflow nor vanish whatever the scale of the column, and no digit changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mercer.columns.scaling import QuantileScaling, StandardScaling
from mercer.contracts import Array, Rows
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.validation import LARGEST_X, check_finite, check_magnitude

#: Rows that are read at a time.
ROWS = 8192
#: Knots of the map of a column to quantiles.
KNOTS = 256
#: Ranks closer to 0 or 1 than this are not told apart: a few rows say little about the tails.
TAIL = 1e-3
#: Relative spread of a column that is constant up to rounding.
CONSTANT = 1e-13


@dataclass(frozen=True)
class ColumnSums:
    """Weight, mean, and squares about the mean of every column; they add over rows.

    ``square`` is in units of ``unit**2``.

    >>> parts = [ColumnSums.of(np.array([[1.0], [2.0]])), ColumnSums.of(np.array([[6.0]]))]
    >>> total = parts[0] + parts[1]
    >>> total.mean, total.scale**2
    (array([3.]), array([4.66666667]))
    """

    weight: float
    mean: Array  # (d,)
    square: Array  # (d,)
    largest: Array  # (d,), the largest absolute value

    @classmethod
    def of(cls, X: Rows, weight: Array | None = None) -> ColumnSums:
        """Return the sums of a block of rows."""
        w = np.ones(X.shape[0]) if weight is None else weight
        total = float(w.sum())
        if hasattr(X, "tocsr"):
            largest = np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).ravel()
            X = X.multiply(1.0 / _unit(largest)).tocsr()
            X.sum_duplicates()
            mean = (X.T @ w) / max(total, 1e-300)
            # Squares of the values that are stored, and of the zeros that are not.
            stored = np.repeat(w, np.diff(X.indptr))
            squares = stored * (X.data - mean[X.indices]) ** 2
            square, weight = (
                np.bincount(X.indices, part, X.shape[1]) for part in (squares, stored)
            )
            square += np.maximum(total - weight, 0.0) * mean**2
        else:
            X = np.asarray(X, dtype=np.float64)
            largest = np.abs(X).max(axis=0, initial=0.0)
            X = X / _unit(largest)
            mean = (w @ X) / max(total, 1e-300)
            square = w @ (X - mean) ** 2
        return cls(total, mean * _unit(largest), square, largest)

    def __add__(self, other: ColumnSums) -> ColumnSums:
        """Return the sums of both sets of rows."""
        total = self.weight + other.weight
        if not total > 0:
            return self
        share = other.weight / total
        largest = np.maximum(self.largest, other.largest)
        unit = _unit(largest)
        gap = other.mean / unit - self.mean / unit
        squares = [part.square * (part.unit / unit) ** 2 for part in (self, other)]
        return ColumnSums(
            total,
            self.mean + share * (gap * unit),
            squares[0] + squares[1] + self.weight * share * gap**2,
            largest,
        )

    @property
    def unit(self) -> Array:
        """The power of two that ``square`` is in units of, squared."""
        return _unit(self.largest)

    @property
    def scale(self) -> Array:
        """The standard deviation of each column; 0 for a constant one."""
        spread = self.unit * np.sqrt(self.square / max(self.weight, 1e-300))
        return np.where(spread > CONSTANT * self.largest, spread, 0.0)

    def scaling(self) -> StandardScaling:
        """Return the map that centers and scales columns."""
        return StandardScaling(self.mean, self.scale)


def _unit(largest: Array) -> Array:
    """Return the power of two at or above each value; 1 for 0, and for values out of range."""
    usable = (largest >= 1 / LARGEST_X) & (largest <= LARGEST_X)
    return np.asarray(np.ldexp(1.0, np.frexp(np.where(usable, largest, 0.5))[1]))


def column_sums(rows: RowSet) -> ColumnSums:
    """Return the sums of all rows, from one pass."""
    found: ColumnSums = rows.sum(sums_of, _add, label="columns", record="columns")
    check_magnitude(found.largest, LARGEST_X, "X", rows.feature_names)
    return found


def _add(left: ColumnSums, right: ColumnSums) -> ColumnSums:
    with np.errstate(over="ignore", invalid="ignore"):  # of values that are refused
        return left + right


def sums_of(shard: Shard) -> ColumnSums:
    """Task: return the sums of a shard."""
    source = shard.source
    total: ColumnSums | None = None
    with shard.naming():
        for block in source.blocks(ROWS):
            check_finite(block.X, start=block.start, names=source.feature_names)
            with np.errstate(over="ignore", invalid="ignore"):  # of values that are refused
                part = ColumnSums.of(block.X, block.weight)
            total = part if total is None else total + part
            shard.report("columns", block.start + block.n_rows)
    assert total is not None
    return total


def quantile_scaling(sample: Array) -> QuantileScaling:
    """Return the map of columns to normal quantiles, from a sample of rows.

    Quantiles are not sums, so they come from a sample of rows, whatever their weights. Equal values
    share their middle rank, and the result has mean 0 and variance 1 over the sample.

    >>> scaling = quantile_scaling(np.array([[1.0], [2.0], [1000.0]]))
    >>> scaling(np.array([[1.0], [2.0], [1000.0], [1e9]])).round(3).ravel()
    array([-1.225,  0.   ,  1.225,  1.225])
    """
    columns = [_knots(column) for column in np.asarray(sample, dtype=np.float64).T]
    return QuantileScaling(
        np.array([knots for knots, _ in columns]), np.array([values for _, values in columns])
    )


def _knots(column: Array) -> tuple[Array, Array]:
    values, counts = np.unique(column, return_counts=True)
    # Values that differ by rounding are one: their ranks would turn rounding into a spread.
    apart = np.diff(values, prepend=-np.inf) > CONSTANT * np.abs(values)
    values, counts = values[apart], np.add.reduceat(counts, np.flatnonzero(apart))
    rank = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    quantile = ndtri(np.clip(rank, TAIL, 1.0 - TAIL))
    mean = counts @ quantile / counts.sum()
    spread = np.sqrt(counts @ (quantile - mean) ** 2 / counts.sum())
    quantile = (quantile - mean) / (spread if spread > 0 else 1.0)
    if len(values) > KNOTS:
        # Knots at equal steps of the quantile, with the outermost values among them.
        wanted = np.linspace(quantile[0], quantile[-1], KNOTS)
        at = np.unique(np.searchsorted(quantile, wanted).clip(0, len(values) - 1))
        values, quantile = values[at], quantile[at]
    missing = KNOTS - len(values)
    step = max(1.0, float(np.abs(values).max()))
    return (
        np.concatenate([values, values[-1] + step * np.arange(1, missing + 1)]),
        np.concatenate([quantile, np.full(missing, quantile[-1])]),
    )

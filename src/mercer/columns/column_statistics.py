"""What is learned of single columns, as sums over rows.

Numbers have a weight, a mean and a sum of squared deviations; dates a mean; a level of text has its
weight and the sums of y and of its square, by fold. All of them add:

.. math:: \\sum_{i \\in A \\cup B} f(x_i) = \\sum_{i \\in A} f(x_i) + \\sum_{i \\in B} f(x_i).

How numbers and dates are written is an intersection, which adds up in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.columns.row_folds import DEALS, FOLDS, level_hashes
from mercer.columns.text_dates import DateFormat, formats_of
from mercer.columns.text_numbers import NumberStyle, narrowed, styles_of
from mercer.contracts import Array
from mercer.rows.table import TIME, Coded

#: Levels that a column may have; beyond it they are hashed into fewer buckets.
MOST_LEVELS = 100_000
BUCKETS = 4096
#: The most numbers that the sums of a column take.
MOST_NUMBERS = 2 * 10**7


@dataclass(frozen=True)
class NumberSums:
    """``W, sum w x / W, sum w (x - mean)^2`` of the values that are there, and counts."""

    rows: int
    gaps: int
    weight: float
    mean: float
    square: float
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True

    @classmethod
    def of(cls, values: Array, weight: Array) -> NumberSums:
        """Return the sums of a block of finite values and gaps."""
        present = ~np.isnan(values)
        x, w = (values, weight) if present.all() else (values[present], weight[present])
        gaps = len(values) - len(x)
        if not len(x):
            return cls(len(values), gaps, 0.0, 0.0, 0.0)
        total = float(w.sum())
        with np.errstate(over="ignore"):
            mean = float((w / total) @ x) if total > 0 else float(x.mean())
            square = float(w @ (x - mean) ** 2)
        return cls(
            len(values),
            gaps,
            total,
            mean,
            square,
            float(x.min()),
            float(x.max()),
            bool((x == np.rint(x)).all()),
        )

    def __add__(self, other: NumberSums) -> NumberSums:
        total = self.weight + other.weight
        step = other.mean - self.mean
        share = other.weight / total if total > 0 else 0.5
        if not self.low <= self.high:
            share = 1.0
        if not other.low <= other.high:
            share = 0.0
        return NumberSums(
            self.rows + other.rows,
            self.gaps + other.gaps,
            total,
            self.mean + share * step,
            self.square + other.square + self.weight * share * step**2,
            min(self.low, other.low),
            max(self.high, other.high),
            self.whole and other.whole,
        )

    @property
    def constant(self) -> bool:
        """Whether no two values differ."""
        return not self.low < self.high

    @property
    def binary(self) -> bool:
        """Whether all values are 0 or 1."""
        return self.whole and self.low >= 0 and self.high <= 1


@dataclass(frozen=True)
class DateSums:
    """The sums of dates, in days since 1970, and whether they have a time of day."""

    days: NumberSums
    timed: bool = False

    @classmethod
    def of(cls, values: Array, weight: Array) -> DateSums:
        """Return the sums of a block."""
        timed = values.astype("datetime64[D]").astype(TIME) != values
        return cls(NumberSums.of(as_days(values), weight), bool((timed & ~np.isnat(values)).any()))

    def __add__(self, other: DateSums) -> DateSums:
        return DateSums(self.days + other.days, self.timed or other.timed)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.days.rows

    @property
    def gaps(self) -> int:
        """The number of gaps."""
        return self.days.gaps


@dataclass(frozen=True)
class LevelSums:
    """Sums by level of a text column, and how its numbers or dates may be written.

    ``sums[deal, fold, level]`` is the weight of rows, the weight of rows with a target, and the
    sums of y and of its squares, for each way to deal rows to folds.
    """

    rows: int
    gaps: int
    levels: Array  # (L,) str, or buckets
    sums: Array  # (deals, folds, L + 1, 2 + 2k); the last level is a gap
    counts: Array  # (L,) rows
    styles: frozenset[NumberStyle]  # under which all levels are numbers
    formats: frozenset[DateFormat]  # under which all levels are dates
    hashed: bool = False
    ordered: bool = False

    @classmethod
    def of(
        cls, column: Coded, weight: Array, folds: Array, Y: Array, decimal: str = "."
    ) -> LevelSums:
        """Return the sums of a block; rows of Y without a target are NaN.

        ``folds`` has a row for each way to deal, and ``decimal`` is the decimal sign of the file.
        """
        if not column.ordered:
            column = column.used()
        size, outputs = len(column.levels), Y.shape[1]
        codes = np.where(column.codes < 0, size, column.codes)
        at = (folds + FOLDS * np.arange(len(DEALS))[:, None]) * (size + 1) + codes
        known = np.asarray(~np.isnan(Y).any(axis=1))
        labelled = np.where(known, weight, 0.0)
        Y = np.where(known[:, None], Y, 0.0)
        parts = [weight, labelled]
        parts += [labelled * Y[:, output] for output in range(outputs)]
        parts += [labelled * Y[:, output] ** 2 for output in range(outputs)]
        flat = [
            np.bincount(at.ravel(), np.tile(part, len(DEALS)), len(DEALS) * FOLDS * (size + 1))
            for part in parts
        ]
        sums = np.stack(flat, axis=-1).reshape(len(DEALS), FOLDS, size + 1, len(parts))
        counts = np.bincount(codes, minlength=size + 1)
        found = cls(
            len(column),
            int(counts[-1]),
            column.levels,
            sums,
            counts[:-1],
            frozenset() if column.declared else narrowed(styles_of(column.levels), decimal),
            frozenset() if column.declared else formats_of(column.levels),
            ordered=column.ordered,
        )
        return found if size <= found.most else found.bucketed()

    @property
    def most(self) -> int:
        """The most levels that are kept apart."""
        return int(min(MOST_LEVELS, MOST_NUMBERS // (len(DEALS) * FOLDS * self.sums.shape[-1])))

    @property
    def totals(self) -> Array:
        """The sums over all folds, of shape (L + 1, 2 + 2k)."""
        return np.asarray(self.sums[0].sum(axis=0))

    @property
    def weight(self) -> Array:
        """The weight of the rows of each level, (L,)."""
        return np.asarray(self.totals[:-1, 0])

    def __add__(self, other: LevelSums) -> LevelSums:
        left, right = self, other
        if left.hashed != right.hashed:
            left, right = left.bucketed(), right.bucketed()
        places = {level: place for place, level in enumerate(left.levels.tolist())}
        for level in right.levels.tolist():
            places.setdefault(level, len(places))
        sums = np.zeros((*left.sums.shape[:2], len(places) + 1, left.sums.shape[-1]))
        counts = np.zeros(len(places), dtype=left.counts.dtype)
        for part in (left, right):
            at = np.array([places[level] for level in part.levels.tolist()], dtype=np.intp)
            sums[:, :, at] += part.sums[:, :, :-1]
            sums[:, :, -1] += part.sums[:, :, -1]
            counts[at] += part.counts
        found = LevelSums(
            left.rows + right.rows,
            left.gaps + right.gaps,
            np.array(list(places), dtype=object),
            sums,
            counts,
            left.styles & right.styles,
            left.formats & right.formats,
            left.hashed,
            left.ordered and right.ordered and np.array_equal(left.levels, right.levels),
        )
        return found if len(places) <= found.most else found.bucketed()

    def bucketed(self) -> LevelSums:
        """Return the same sums for buckets of levels."""
        if self.hashed:
            return self
        bucket = (level_hashes(self.levels) % np.uint64(BUCKETS)).astype(np.intp)
        used, at = np.unique(bucket, return_inverse=True)
        by_bucket = np.zeros((len(used) + 1, *self.sums.shape[:2], self.sums.shape[-1]))
        np.add.at(by_bucket, np.append(at, -1), np.moveaxis(self.sums, 2, 0))
        sums = np.ascontiguousarray(np.moveaxis(by_bucket, 0, 2))
        levels = np.array([str(number) for number in used], dtype=object)
        counts = np.bincount(at, self.counts, len(used)).astype(self.counts.dtype)
        return replace(self, levels=levels, sums=sums, counts=counts, hashed=True, ordered=False)

    def sorted(self) -> LevelSums:
        """Return the levels in order, whatever order the rows came in."""
        if self.ordered:
            return self
        order = np.argsort(self.levels.astype(str), kind="stable")
        order = order[self.counts[order] > 0]  # shards may declare levels that no row has
        sums = self.sums[:, :, np.append(order, -1)]
        return replace(self, levels=self.levels[order], sums=sums, counts=self.counts[order])


def as_days(dates: Array) -> Array:
    """Return dates as days since 1970, NaN for gaps.

    >>> as_days(np.array(["1970-01-02T12:00", "NaT"], dtype=TIME))
    array([1.5, nan])
    """
    days = dates.astype(TIME).astype(np.int64) / 86_400e6
    return np.where(np.isnat(dates), np.nan, days)

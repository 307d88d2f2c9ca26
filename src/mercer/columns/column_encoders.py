"""From a column to numbers: a class for every kind of column; those of text have their own file.

A number stays a number; a date becomes the time since a first day, and points on the circles of the
year, the week and the day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.columns.column_statistics import as_days
from mercer.columns.text_dates import DateFormat, read_dates
from mercer.columns.text_numbers import NumberStyle, read_numbers, truths
from mercer.contracts import Array
from mercer.rows.table import Coded, Column, gaps_of
from mercer.storage.state import Each, Number, OneOf, Part, State

#: The cycles of dates, in days.
CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}


class ColumnEncoder:
    """The map of a column to one or more columns of numbers."""

    kind: ClassVar[str]
    indicator: bool = False  # whether one of the new columns says what is missing

    def names(self, name: str) -> list[str]:
        """Return the names of the new columns."""
        raise TypeError(f"{type(self).__name__} does not define names()")

    def __call__(self, column: Column, folds: Array | None = None) -> Array:
        """Return the new columns, of shape (n, width).

        ``folds`` are those of rows that the statistics were learned from, None for new rows.
        """
        raise TypeError(f"{type(self).__name__} does not define __call__()")

    #: What the values are called that the fit has not seen, and what becomes of them.
    strange: ClassVar[tuple[str, str]] = ("unknown", "taken as 'other'")

    def unknown(self, column: Column) -> Array:
        """Return which values are of no known level, or cannot be read."""
        return np.zeros(len(column), dtype=bool)

    def describe(self) -> str:
        """Return what becomes of the column, in words."""
        raise TypeError(f"{type(self).__name__} does not define describe()")


class QuantityColumn(ColumnEncoder):
    """Base class for columns that are measured on a scale: numbers, and dates in days."""

    fill: float
    indicator: bool
    strange: ClassVar[tuple[str, str]] = ("unreadable", "filled like gaps")

    def quantities(self, column: Column) -> Array:
        """Return what was measured, NaN for gaps."""
        raise TypeError(f"{type(self).__name__} does not define quantities()")

    def encoded(self, quantities: Array) -> Array:
        """Return the new columns of measured values."""
        raise TypeError(f"{type(self).__name__} does not define encoded()")

    def slopes(self, quantities: Array) -> Array:
        """Return the derivatives of the new columns, of shape (n, width)."""
        raise TypeError(f"{type(self).__name__} does not define slopes()")

    def __call__(self, column: Column, folds: Array | None = None) -> Array:
        """Return the new columns."""
        return self.encoded(self.quantities(column))

    def unknown(self, column: Column) -> Array:
        """Return which values are no measurement, but not missing either."""
        return np.isnan(self.quantities(column)) & ~gaps_of(column)


@dataclass(frozen=True)
class NumberColumn(QuantityColumn):
    """``x``, with gaps filled by the mean, and an indicator of gaps if they are many."""

    state = State(
        fill=Number(must="fill must be finite"),
        style=Part(
            NumberStyle, optional=True, must="style must be a style of numbers, got {value!r}"
        ),
    )
    fill: float
    indicator: bool = False
    style: NumberStyle | None = None  # how numbers are written, if they are text
    binary: bool = False  # all were 0 or 1, so that words for true and false are too
    kind: ClassVar[str] = "number"

    def names(self, name: str) -> list[str]:
        """Return the column itself, and whether it is missing."""
        return [name, f"{name} missing"] if self.indicator else [name]

    def quantities(self, column: Column) -> Array:
        """Return the numbers, NaN for gaps and for what is no number."""
        if isinstance(column, Coded):
            levels = column.levels.tolist()
            parsed = read_numbers(levels, self.style or NumberStyle())
            if self.binary:
                parsed = np.where(np.isnan(parsed), truths(levels), parsed)
            return np.append(parsed, np.nan)[column.codes]
        return np.full(len(column), np.nan) if column.dtype.kind == "M" else column

    def encoded(self, quantities: Array) -> Array:
        """Return the filled numbers."""
        gaps = np.isnan(quantities)
        filled = np.where(gaps, self.fill, quantities)
        return np.column_stack([filled, gaps]) if self.indicator else filled[:, None]

    def slopes(self, quantities: Array) -> Array:
        """Return 1 for the number itself."""
        return np.tile([1.0, 0.0][: 1 + self.indicator], (len(quantities), 1))

    def describe(self) -> str:
        """Return the words."""
        how = "" if self.style is None else self.style.describe()
        return "number" + (f" ({how})" if how else "")


@dataclass(frozen=True)
class DateColumn(QuantityColumn):
    """Days since a first one, and the sine and cosine of cycles."""

    state = State(
        format=Part(DateFormat, optional=True, must="format must be a DateFormat, got {kind}"),
        origin=Number(must="origin and fill must be finite"),
        fill=Number(must="origin and fill must be finite"),
        cycles=Each(
            OneOf(list(CYCLES)), must=f"cycles must be some of {list(CYCLES)}, got {{value}}"
        ),
    )
    origin: float  # days since 1970
    fill: float  # days since 1970
    cycles: tuple[str, ...] = ()
    elapsed: bool = True
    indicator: bool = False
    format: DateFormat | None = None
    kind: ClassVar[str] = "date"

    def names(self, name: str) -> list[str]:
        """Return the names of days, of sines and cosines, and of gaps."""
        found = [f"{name} days"] if self.elapsed else []
        for cycle in self.cycles:
            found += [f"{name} sin({cycle})", f"{name} cos({cycle})"]
        return found + ([f"{name} missing"] if self.indicator else [])

    def quantities(self, column: Column) -> Array:
        """Return days since 1970, NaN for gaps and for what is no date."""
        if isinstance(column, Coded):
            parsed = read_dates(column.levels.tolist(), self.format or DateFormat.ISO)
            return np.append(as_days(parsed), np.nan)[column.codes]
        return as_days(column) if column.dtype.kind == "M" else np.full(len(column), np.nan)

    def encoded(self, quantities: Array) -> Array:
        """Return the parts of the dates."""
        gaps = np.isnan(quantities)
        days = np.where(gaps, self.fill, quantities)
        parts = [days - self.origin] if self.elapsed else []
        for cycle in self.cycles:
            # The remainder is exact, so days that are weeks apart have the same sine.
            angle = 2 * np.pi * np.remainder(days, CYCLES[cycle]) / CYCLES[cycle]
            parts += [np.sin(angle), np.cos(angle)]
        return np.column_stack([*parts, gaps] if self.indicator else parts)

    def slopes(self, quantities: Array) -> Array:
        """Return the derivatives by a day."""
        days = np.where(np.isnan(quantities), self.fill, quantities)
        parts = [np.ones_like(days)] if self.elapsed else []
        for cycle in self.cycles:
            rate = 2 * np.pi / CYCLES[cycle]
            angle = rate * np.remainder(days, CYCLES[cycle])
            parts += [rate * np.cos(angle), -rate * np.sin(angle)]
        return np.column_stack([*parts, 0 * days] if self.indicator else parts)

    def describe(self) -> str:
        """Return the words."""
        how = "" if self.format is None else f" ({self.format.value})"
        parts = [*(["days elapsed"] if self.elapsed else []), *(f"the {c}" for c in self.cycles)]
        return f"date{how}: {', '.join(parts)}"


@dataclass(frozen=True)
class DroppedColumn(ColumnEncoder):
    """No column at all, for a reason."""

    reason: str
    kind: ClassVar[str] = "dropped"

    def names(self, name: str) -> list[str]:
        """Return no names."""
        return []

    def __call__(self, column: Column, folds: Array | None = None) -> Array:
        """Return rows without columns."""
        return np.zeros((len(column), 0))

    def describe(self) -> str:
        """Return the words."""
        return f"left out: {self.reason}"

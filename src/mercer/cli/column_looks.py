"""What there is to say about a column: range, gaps, levels, examples, and what it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.cli.output import as_options
from mercer.columns.column_encoders import ColumnEncoder, DateColumn, NumberColumn
from mercer.columns.column_statistics import DateSums, LevelSums, NumberSums
from mercer.columns.table_sums import TableSums
from mercer.contracts import Array
from mercer.rows.table import Coded

#: Examples of each column, and how long text may be.
EXAMPLES, LONGEST = 3, 24


@dataclass(frozen=True)
class ColumnLook:
    """A column of a table, and what becomes of it."""

    name: str
    contains: str  # number, text or date
    becomes: str
    width: int  # columns of numbers that it becomes
    gaps: int
    low: float | str | None
    high: float | str | None
    levels: int | None  # None if they are too many to count, or numbers
    examples: list[Any]

    def cells(self) -> tuple[str, str, str, str]:
        """Return the row of a table."""
        words = [self.contains]
        if self.low is not None:
            words[0] += f" {shown(self.low)} to {shown(self.high)}"
        if self.contains == "text":
            words.append("many levels" if self.levels is None else f"{self.levels:,} levels")
        if self.gaps:
            words.append(f"{self.gaps:,} gaps")
        return self.name, ", ".join(words), ", ".join(map(shown, self.examples)), self.becomes


def look_at(name: str, sums: TableSums, encoder: ColumnEncoder) -> ColumnLook:
    """Return what the sums of a table say about a column."""
    found, sample = sums.columns[name], sums.sample.columns[name]
    words, width = as_options(encoder.describe()), len(encoder.names(name))
    if found.gaps and width:
        marked = getattr(encoder, "indicator", False)
        words += "; gaps are filled" + (", with an indicator" if marked else "")
    kind, levels, ends = "text", None, (None, None)  # type: str, int | None, tuple[Any, Any]
    if isinstance(found, NumberSums):
        kind, values = "number", np.asarray(sample)
        ends = (found.low, found.high) if found.low <= found.high else ends
        examples = _first(values[~np.isnan(values)].tolist())
    elif isinstance(found, DateSums):
        kind, values = "date", np.asarray(sample)
        ends = _dates(np.array([found.days.low, found.days.high]))
        examples = _first([day_text(date) for date in values[~np.isnat(values)]])
    elif found.hashed:
        assert isinstance(sample, Coded)
        examples = _first([value for value in sample.values().tolist() if value is not None])
    else:
        levels, ends = len(found.levels), _ends_of_text(found.levels, encoder)
        examples = frequent(found)[:EXAMPLES]
    low, high = ends
    return ColumnLook(name, kind, words, width, found.gaps, low, high, levels, examples)


def frequent(sums: LevelSums) -> list[str]:
    """Return the levels in the order of their frequency, the most frequent first."""
    order = np.lexsort((sums.levels.astype(str), -sums.counts))
    return [str(level) for level in sums.levels[order]]


def shown(value: Any) -> str:
    """Return a value as short text.

    >>> shown(0.123456789), len(shown("a" * 40)), shown(452600.0), shown(12.0)
    ('0.1235', 24, '452600', '12')
    """
    if isinstance(value, float):
        return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def day_text(date: Any) -> str:
    """Return a date without its time of day if that is midnight.

    >>> day_text(np.datetime64("2020-01-02T00:00")), day_text(np.datetime64("2020-01-02T03:04:05"))
    ('2020-01-02', '2020-01-02 03:04:05')
    """
    return str(np.datetime64(date, "s")).replace("T", " ").removesuffix(" 00:00:00")


def _ends_of_text(levels: Array, encoder: ColumnEncoder) -> tuple[Any, Any]:
    """Return the range of text that reads as numbers or dates."""
    column = Coded(np.arange(len(levels)), levels)
    if isinstance(encoder, NumberColumn):
        values = encoder.quantities(column)
        return float(np.nanmin(values)), float(np.nanmax(values))
    if isinstance(encoder, DateColumn):
        days = encoder.quantities(column)
        return _dates(np.array([np.nanmin(days), np.nanmax(days)]))
    return None, None


def _dates(days: Array) -> tuple[str | None, str | None]:
    if not np.isfinite(days).all():
        return None, None
    low, high = (day_text(np.datetime64(int(day * 86_400), "s")) for day in days.tolist())
    return low, high


def _first(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))[:EXAMPLES]

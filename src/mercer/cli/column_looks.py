"""What there is to say about a column: range, gaps, levels, examples, and what it becomes.

The picture of a table has histograms of numbers and dates, and bars of levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.output import as_options
from mercer.cli.writing import save_figure
from mercer.columns.column_encoders import ColumnEncoder, DateColumn, NumberColumn, QuantityColumn
from mercer.columns.column_statistics import DateSums, LevelSums, NumberSums
from mercer.columns.table_sums import TableSums
from mercer.columns.text_dates import parse_dates, preferred_format
from mercer.columns.text_numbers import parse_numbers, preferred
from mercer.contracts import Array
from mercer.rows.table import Coded
from mercer.style import BLUE, INK, Axes, styled

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
    column, sample = sums.columns[name], sums.sample.columns[name]
    words, width = as_options(encoder.describe()), len(encoder.names(name))
    if column.gaps and width:
        marked = isinstance(encoder, QuantityColumn) and encoder.indicator
        words += "; gaps are filled" + (", with an indicator" if marked else "")
    kind, levels, ends = "text", None, (None, None)  # type: str, int | None, tuple[Any, Any]
    if isinstance(column, NumberSums):
        kind, values = "number", np.asarray(sample)
        ends = (column.low, column.high) if column.low <= column.high else ends
        examples = _first(values[~np.isnan(values)].tolist())
    elif isinstance(column, DateSums):
        kind, values = "date", np.asarray(sample)
        ends = _dates(np.array([column.days.low, column.days.high]))
        examples = _first([day_text(date) for date in values[~np.isnat(values)]])
    elif column.hashed:
        assert isinstance(sample, Coded)
        examples = _first([value for value in sample.values().tolist() if value is not None])
    else:
        levels, ends = len(column.levels), _ends_of_text(column.levels, encoder)
        examples = frequent(column)[:EXAMPLES]
    low, high = ends
    return ColumnLook(name, kind, words, width, column.gaps, low, high, levels, examples)


def frequent(sums: LevelSums) -> list[str]:
    """Return the levels in the order of their frequency, the most frequent first."""
    order = np.lexsort((sums.levels.astype(str), -sums.counts))
    return [str(level) for level in sums.levels[order]]


def shown(value: object) -> str:
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


#: Panels of a picture, panels in a row, and bars of a panel.
MOST, ACROSS, BARS = 30, 4, 6
LEFT_OUT = "#b8c2cc"


def draw_columns(columns: list[ColumnLook], sums: TableSums, label: str, out: Path) -> None:
    """Draw the columns of a table, those that are left out in gray, and write the picture."""
    drawn = columns[:MOST]
    across = min(ACROSS, len(drawn))
    down = -(-len(drawn) // across)
    sample = len(sums.hashes)
    with styled() as Figure:
        figure = Figure(
            figsize=(3.1 * across + 0.4, 2.3 * down + 0.7), facecolor="white", layout="constrained"
        )
        title = f"{label}: {sums.rows:,} rows"
        title += f", histograms of {sample:,} of them" if sample < sums.rows else ""
        title += f", the first {MOST} of {len(columns)} columns" if len(columns) > MOST else ""
        figure.suptitle(title, fontweight="bold", fontsize=11)
        panels = np.atleast_1d(figure.subplots(down, across, squeeze=False).ravel())
        for axes, column in zip(panels, drawn, strict=False):
            _draw(axes, column, sums)
        for axes in panels[len(drawn) :]:
            axes.set_axis_off()
        save_figure(figure, out)


def _draw(axes: Axes, column: ColumnLook, sums: TableSums) -> None:
    """Draw one column."""
    color = BLUE if column.width else LEFT_OUT
    values = _values(column, sums)
    known = sums.columns[column.name]
    if values is not None and len(values):
        axes.hist(values, bins=24, color=color)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        if values.dtype.kind == "M":
            axes.set_xticks([values.min(), values.max()])
            ends = axes.set_xticklabels([day_text(values.min()), day_text(values.max())])
            ends[0].set_horizontalalignment("left")
            ends[1].set_horizontalalignment("right")
        else:
            axes.locator_params(axis="x", nbins=4)
    elif isinstance(known, LevelSums) and not known.hashed and known.counts.max(initial=0) > 1:
        _bars(axes, known, color)
    else:
        words = "all values differ" if known.rows > known.gaps else "no values"
        axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, color=INK)
        axes.set(xticks=[], yticks=[])
    notes = [f"{column.gaps:,} gaps"] * bool(column.gaps) + ["left out"] * (not column.width)
    subtitle = f"  ({', '.join(notes)})" if notes else ""
    axes.set_title(f"{shown(column.name)}{subtitle}", fontsize=9, loc="left")
    axes.tick_params(labelsize=8)


def _bars(axes: Axes, sums: LevelSums, color: str) -> None:
    """Draw a bar for each of the most frequent levels, and one for the others."""
    counts = dict(zip(map(str, sums.levels), sums.counts.tolist(), strict=True))
    order = frequent(sums)
    top = order if len(order) <= BARS else order[: BARS - 1]
    names, sizes = [shown(level)[:14] for level in top], [counts[level] for level in top]
    colors = [color] * len(top)
    if len(order) > len(top):
        names.append(f"{len(order) - len(top):,} others")
        sizes.append(sum(counts.values()) - sum(sizes))
        colors.append("#7fb2c9" if color == BLUE else color)
    axes.barh(range(len(names)), sizes, color=colors)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=4)


def _values(column: ColumnLook, sums: TableSums) -> Array | None:
    """Return the numbers or dates in the sample of a column, None for a category."""
    sample, known = sums.sample.columns[column.name], sums.columns[column.name]
    if isinstance(sample, Coded):
        if column.low is None:
            return None
        assert isinstance(known, LevelSums)
        style, format = preferred(known.styles), preferred_format(known.formats)
        levels = sample.levels[sample.codes[sample.codes >= 0]]
        if style is not None:
            return parse_numbers(levels, style)
        return None if format is None else parse_dates(levels, format)
    values = np.asarray(sample)
    gaps = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
    return np.asarray(values[~gaps])

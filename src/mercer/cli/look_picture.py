"""A picture of the columns of a table: histograms of numbers and dates, bars of levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.column_looks import ColumnLook, day_text, frequent, shown
from mercer.cli.drawing import INK, save_figure, styled
from mercer.columns.column_statistics import LevelSums
from mercer.columns.table_sums import TableSums
from mercer.columns.text_dates import parse_dates, preferred_format
from mercer.columns.text_numbers import parse_numbers, preferred
from mercer.contracts import Array
from mercer.rows.table import Coded

#: Panels of a picture, panels in a row, and bars of a panel.
MOST, ACROSS, BARS = 30, 4, 6
COLOR, LEFT_OUT = "#0b6e99", "#b8c2cc"


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


def _draw(axes: Any, column: ColumnLook, sums: TableSums) -> None:
    """Draw one column."""
    color = COLOR if column.width else LEFT_OUT
    values = _values(column, sums)
    found = sums.columns[column.name]
    if values is not None and len(values):
        axes.hist(values, bins=24, color=color)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        if values.dtype.kind == "M":
            axes.set_xticks([values.min(), values.max()])
            ends = axes.set_xticklabels([day_text(values.min()), day_text(values.max())])
            ends[0].set_ha("left")
            ends[1].set_ha("right")
        else:
            axes.locator_params(axis="x", nbins=4)
    elif isinstance(found, LevelSums) and not found.hashed and found.counts.max(initial=0) > 1:
        _bars(axes, found, color)
    else:
        words = "all values differ" if found.rows > found.gaps else "no values"
        axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, color=INK)
        axes.set(xticks=[], yticks=[])
    notes = [f"{column.gaps:,} gaps"] * bool(column.gaps) + ["left out"] * (not column.width)
    subtitle = f"  ({', '.join(notes)})" if notes else ""
    axes.set_title(f"{shown(column.name)}{subtitle}", fontsize=9, loc="left")
    axes.tick_params(labelsize=8)


def _bars(axes: Any, sums: LevelSums, color: str) -> None:
    """Draw a bar for each of the most frequent levels, and one for the others."""
    counts = dict(zip(map(str, sums.levels), sums.counts.tolist(), strict=True))
    order = frequent(sums)
    top = order if len(order) <= BARS else order[: BARS - 1]
    names, sizes = [shown(level)[:14] for level in top], [counts[level] for level in top]
    colors = [color] * len(top)
    if len(order) > len(top):
        names.append(f"{len(order) - len(top):,} others")
        sizes.append(sum(counts.values()) - sum(sizes))
        colors.append("#7fb2c9" if color == COLOR else color)
    axes.barh(range(len(names)), sizes, color=colors)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=4)


def _values(column: ColumnLook, sums: TableSums) -> Array | None:
    """Return the numbers or dates in the sample of a column, None for a category."""
    sample, found = sums.sample.columns[column.name], sums.columns[column.name]
    if isinstance(sample, Coded):
        if column.low is None:
            return None
        assert isinstance(found, LevelSums)
        style, format = preferred(found.styles), preferred_format(found.formats)
        levels = sample.levels[sample.codes[sample.codes >= 0]]
        if style is not None:
            return parse_numbers(levels, style)
        return None if format is None else parse_dates(levels, format)
    values = np.asarray(sample)
    gaps = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
    return np.asarray(values[~gaps])

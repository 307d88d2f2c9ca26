"""What a fitted model knows of the columns of its data: kinds, ranges, levels and gaps.

Means and standard deviations are those of all rows where the fit standardized columns. Ranges are
those of the points that the model keeps, which are rows of the fit, or the outer quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from mercer.columns import TableEncoding
from mercer.columns.column_encoders import ColumnEncoder, DateColumn, DroppedColumn, NumberColumn
from mercer.columns.level_encoders import OneHotColumn, OrderedColumn, TargetColumn
from mercer.columns.scaling import QuantileScaling, StandardScaling
from mercer.contracts import Array
from mercer.estimators import KernelEstimator
from mercer.explain.explaining import basis_points
from mercer.kernels import InMetric
from mercer.models.card_markdown import escaped, number, percent
from mercer.opening.inputs import columns_of_fit

#: Levels of a column that are listed.
LEVELS = 6


@dataclass(frozen=True)
class KnownColumn:
    """What a model knows of the numbers that a column became; arrays are by new column."""

    points: Array | None  # (M, width) points that the model keeps
    center: Array | None = None  # (width,) means of all rows
    spread: Array | None = None  # (width,) standard deviations of all rows
    knots: Array | None = None  # (width, q) quantiles of all rows

    def means(self) -> Array | None:
        """Return the means of all rows, or of the points."""
        if self.center is not None:
            return self.center
        return None if self.points is None else self.points.mean(axis=0)

    def deviations(self) -> Array | None:
        """Return the standard deviations of all rows, or of the points."""
        if self.spread is not None:
            return self.spread
        return None if self.points is None else self.points.std(axis=0)

    def ends(self) -> tuple[float, float] | None:
        """Return the smallest and the largest known value of the first new column."""
        found = self.points[:, 0] if self.points is not None else None
        if found is None and self.knots is not None:
            found = self.knots[0]
        return None if found is None or not len(found) else (float(found.min()), float(found.max()))


#: The header of the table of columns.
HEADER = ["Column", "Kind", "Values", "Gaps", "What became of it"]


def column_rows(model: KernelEstimator, most: int) -> list[list[str]]:
    """Return what is known of the first columns as rows of a table in Markdown.

    There are none if the rows of the fit were kernel values.
    """
    if model.fit_.basis.kernel_.pairwise:
        return []
    names, encoding = columns_of_fit(model)
    size = model.n_features_in_
    if encoding is None:
        encoding = TableEncoding.as_given(names or [f"x{at}" for at in range(size)])
    names, gaps = list(encoding.names), encoding.gaps or (0,) * size
    points, known = basis_points(model), []
    for place in range(min(most, len(names))):
        at, encoder = np.flatnonzero(encoding.origins == place), encoding.encoders[place]
        seen = known_column(model, points, at)
        cells = [
            escaped(str(names[place]), 60),
            "left out" if isinstance(encoder, DroppedColumn) else encoder.kind,
            values_of_column(encoder, seen),
            f"{gaps[place]:,}" if gaps[place] else "none",
            escaped(_became(encoder, bool(gaps[place]))),
        ]
        known.append(cells)
    return known


def known_column(model: KernelEstimator, points: Array | None, at: Array) -> KnownColumn:
    """Return what a model knows of some of the new columns."""
    part = None if points is None else np.asarray(points[:, at], dtype=np.float64)
    kernel = model.fit_.basis.kernel_
    scaling = kernel.metric.scaling if isinstance(kernel, InMetric) else None
    if isinstance(scaling, StandardScaling):
        return KnownColumn(part, center=scaling.center[at], spread=scaling.scale[at])
    if isinstance(scaling, QuantileScaling):
        return KnownColumn(part, knots=scaling.knots[at])
    return KnownColumn(part)


def _became(encoder: ColumnEncoder, gaps: bool) -> str:
    """Return what became of a column and of its gaps, in words."""
    words = encoder.describe()
    if not gaps or isinstance(encoder, DroppedColumn):
        return words
    if isinstance(encoder, NumberColumn):
        words += f"; gaps become {number(encoder.fill)}"
    elif isinstance(encoder, DateColumn):
        words += f"; gaps become {_day(encoder.fill)}"
    elif isinstance(encoder, OneHotColumn) and encoder.fill < len(encoder.levels):
        words += f"; gaps become {str(encoder.levels[encoder.fill])[:60]!r}"
    return words + (", with an indicator" if encoder.indicator else "")


@singledispatch
def values_of_column(encoder: ColumnEncoder, known: KnownColumn) -> str:
    """Return the values of a column as Markdown; nothing where the model has no trace of them."""
    return ""


@values_of_column.register
def _(encoder: NumberColumn, known: KnownColumn) -> str:
    ends, means, deviations = known.ends(), known.means(), known.deviations()
    words = [] if ends is None else [f"{number(ends[0])} to {number(ends[1])}"]
    if means is not None and deviations is not None:
        words.append(f"mean {number(means[0])}, sd {number(deviations[0])}")
    elif known.knots is not None:
        words.append(f"median {number(float(np.median(known.knots[0])))}")
    return "; ".join(words)


@values_of_column.register
def _(encoder: DateColumn, known: KnownColumn) -> str:
    ends = known.ends() if encoder.elapsed else None
    return "" if ends is None else " to ".join(_day(end + encoder.origin) for end in ends)


@values_of_column.register
def _(encoder: OneHotColumn, known: KnownColumn) -> str:
    levels = [str(level) for level in encoder.levels]
    means, rare = known.means(), len(encoder.rare)
    order = np.arange(len(levels))
    if means is not None:
        order = np.argsort(-means[: len(levels)], kind="stable")
    shown = [
        escaped(levels[at], 30) + ("" if means is None else f" {percent(means[at])}")
        for at in order[:LEVELS]
    ]
    if len(levels) > LEVELS:
        shown.append(f"{len(levels) - LEVELS:,} more")
    return ", ".join(shown) + (f"; {rare:,} rare levels" if rare else "")


@values_of_column.register
def _(encoder: OrderedColumn, known: KnownColumn) -> str:
    levels = [escaped(str(level), 30) for level in encoder.levels]
    if len(levels) > LEVELS:
        levels = [*levels[: LEVELS - 1], "...", levels[-1]]
    return " &lt; ".join(levels)


@values_of_column.register
def _(encoder: TargetColumn, known: KnownColumn) -> str:
    if encoder.hashed or not len(encoder.levels):
        return ""
    means = encoder.values[:-1, 0]
    low, high = (
        escaped(str(encoder.levels[at]), 30) for at in (int(means.argmin()), int(means.argmax()))
    )
    return f"the mean of y is lowest for {low}, highest for {high}"


def _day(days: float) -> str:
    """Return days since 1970 as a date.

    >>> _day(0.5)
    '1970-01-01'
    """
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(days)), "D"))

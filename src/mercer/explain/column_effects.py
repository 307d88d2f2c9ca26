"""What a column of a table does to a prediction at given rows, by the kind of the column.

- A number: the derivative by the chain rule, and the change over a standard deviation,
  ``f(x + s/2) - f(x - s/2)``.
- A date: the derivative by a day, and the change over a standard deviation; with cycles, which a
  step may jump over, the spread of f over dates around that of the row.
- A category: the change to each other level, and the spread of f over the levels.
- A gap in a number or date: the change if the value were known, and average.

Spreads have no sign. They are standard deviations of f as the column varies like in the data, and
for a linear function of a number that is the change over a standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from mercer.columns.column_encoders import (
    CYCLES,
    ColumnEncoder,
    DateColumn,
    QuantityColumn,
)
from mercer.columns.level_encoders import CategoryColumn
from mercer.contracts import Array
from mercer.explain.explained_function import ExplainedFunction
from mercer.rows.table import Column

#: Dates around that of a row, whose predictions are compared.
DATES = 32
#: Steps of this fraction of a range never repeat, and fill the range evenly.
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class ColumnAtRows:
    """A column of some rows, and the function whose changes are measured.

    Attributes
    ----------
    column : Column
        As it was given.
    function : ExplainedFunction
        f, of encoded rows.
    rows : array of shape (n, D)
        The encoded rows.
    values, gradients : arrays of shape (n,) and (n, D)
        f and its gradient there.
    place : slice
        The new columns that the column became.
    means, spread : arrays of shape (width,)
        Means and standard deviations of the new columns over rows like those of the fit.
    levels : array of shape (L, width)
        What the alternatives of a category become.
    linear : bool
        Whether f is taken for its tangent: one of very many columns that hardly moves it.
    """

    column: Column
    function: ExplainedFunction
    rows: Array
    values: Array
    gradients: Array
    place: slice
    means: Array
    spread: Array
    levels: Array
    linear: bool = False

    def replaced(self, new: Array, rows: Array | slice = slice(None)) -> Array:
        """Return f if some rows had these new columns instead."""
        if self.linear:
            change = (new - self.rows[rows, self.place]) * self.gradients[rows, self.place]
            return np.asarray(self.values[rows] + change.sum(axis=1))
        moved = self.rows[rows].copy()
        moved[:, self.place] = new
        return self.function.values(moved) if len(moved) else np.zeros(0)


@dataclass(frozen=True)
class Effect:
    """What a column does at n rows; ``changes`` (n, L) are those to other levels."""

    derivative: Array
    effect: Array
    changes: Array | None = None


@singledispatch
def effect_of(encoder: ColumnEncoder, at: ColumnAtRows) -> Effect:
    """Return what a column does; one that was left out does nothing."""
    nothing = np.zeros(len(at.values))
    return Effect(nothing, nothing)


@effect_of.register
def _(encoder: QuantityColumn, at: ColumnAtRows) -> Effect:
    quantities = encoder.quantities(at.column)
    half = spread_of(encoder, at.spread) / 2
    up, down = (at.replaced(encoder.encoded(quantities + step)) for step in (half, -half))
    return _with_gaps(encoder, at, quantities, up - down)


@effect_of.register
def _(encoder: DateColumn, at: ColumnAtRows) -> Effect:
    if not encoder.cycles:
        return effect_of.dispatch(QuantityColumn)(encoder, at)
    days = encoder.quantities(at.column)
    # Uniform within sqrt(3) standard deviations, whose own standard deviation is that of the days.
    offsets = np.sqrt(3.0) * (2 * (GOLDEN * np.arange(1, DATES + 1) % 1.0) - 1)
    offsets = offsets * spread_of(encoder, at.spread)
    around = np.array([at.replaced(encoder.encoded(days + offset)) for offset in offsets])
    return _with_gaps(encoder, at, days, around.std(axis=0))


@effect_of.register
def _(encoder: CategoryColumn, at: ColumnAtRows) -> Effect:
    found = np.array([at.replaced(level) for level in at.levels]).reshape(len(at.levels), -1)
    shares = encoder.shares(at.means, len(at.levels))
    spread = np.sqrt(np.maximum(shares @ (found - shares @ found) ** 2, 0.0))
    return Effect(np.full(len(at.values), np.nan), spread, (found - at.values).T)


def _with_gaps(
    encoder: QuantityColumn, at: ColumnAtRows, quantities: Array, effect: Array
) -> Effect:
    """Add the derivative, and replace the effect of gaps."""
    slopes = encoder.slopes(quantities)
    derivative = np.einsum("ij,ij->i", at.gradients[:, at.place], slopes)
    gaps = np.flatnonzero(np.isnan(quantities))
    derivative[gaps] = np.nan
    known = encoder.encoded(np.full(len(gaps), encoder.fill))
    effect[gaps] = at.replaced(known, gaps) - at.values[gaps]
    return Effect(derivative, effect)


@singledispatch
def spread_of(encoder: ColumnEncoder, spread: Array) -> float:
    """Return the standard deviation of a column in its own units; NaN if it has none."""
    return float("nan")


@spread_of.register
def _(encoder: QuantityColumn, spread: Array) -> float:
    return float(spread[0])


@spread_of.register
def _(encoder: DateColumn, spread: Array) -> float:
    if encoder.elapsed:
        return float(spread[0])
    return float(max(CYCLES[cycle] for cycle in encoder.cycles) / np.sqrt(12.0))


def has_sign(encoder: ColumnEncoder) -> bool:
    """Return whether the effect of a column is a change, not a spread."""
    cyclic = isinstance(encoder, DateColumn) and bool(encoder.cycles)
    return not (cyclic or isinstance(encoder, CategoryColumn))

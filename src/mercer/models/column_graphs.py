"""From the inputs of a graph to rows of numbers, column by column (:data:`COLUMN_GRAPHS`).

Models of numbers have one input ``X`` of shape (N, d). Models of tables have an input of shape
(N, 1) for each column: numbers with NaN for a gap, text with "" for a gap, and dates as seconds
since 1970, since a graph cannot read them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.columns.column_encoders import (
    CYCLES,
    ColumnEncoder,
    DateColumn,
    DroppedColumn,
    NumberColumn,
)
from mercer.columns.level_encoders import (
    HashColumn,
    LevelColumn,
    OneHotColumn,
    OrderedColumn,
    TargetColumn,
)
from mercer.estimators import KernelEstimator
from mercer.models.graph_builder import ML, DType, Graph, Value, concat
from mercer.opening.inputs import columns_of_fit
from mercer.rows.table import GAP_WORDS, Coded

#: Seconds of a day: dates are counted in days.
DAY = 86_400.0
#: How many levels the description of an input names.
NAMED = 10


def encoded_rows(graph: Graph, model: KernelEstimator, dtype: DType) -> tuple[Value, int]:
    """Add the inputs of a model; return its rows as numbers, in float64, and how many columns."""
    fitted = model.columns_
    if fitted is None:
        size = int(model.n_features_in_)
        return _matrix(graph, size, dtype, ""), size
    encoding, strict = fitted.encoding_, fitted.missing == "error"
    size = len(encoding.feature_names)
    pairs = list(zip(encoding.names, encoding.encoders, strict=True))
    plain = [part for _, part in pairs if isinstance(part, NumberColumn) and part.style is None]
    if len(plain) == len(pairs):
        about = "numbers" if strict else "numbers; NaN is a gap"
        X = _matrix(graph, len(pairs), dtype, about)
        return X if strict else _filled(X, plain), size
    parts = [
        column_values(InputColumn(graph, name or f"column {at}", dtype, strict), part)
        for at, (name, part) in enumerate(pairs)
        if type(part) is not DroppedColumn
    ]
    return concat(*parts), size


@dataclass(frozen=True)
class InputColumn:
    """A column of a table as an input of the graph, in which gaps may be errors."""

    graph: Graph
    name: str
    dtype: DType
    strict: bool

    def input(self, about: str, dtype: type | None = None) -> Value:
        """Add the input, of the type of the others unless its kind has another one."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        return self.graph.input(self.name, kind, ["N", 1], about)


def column_values(column: InputColumn, encoder: ColumnEncoder) -> Value:
    """Return what becomes of one column, by the table; refuse encoders that it has not."""
    made, name = COLUMN_GRAPHS.get(type(encoder)), column.name
    if made is None:
        raise ValueError(
            f"column {name!r} has the encoder {type(encoder).__name__}, which has no ONNX graph; "
            f"refit with columns={{{name!r}: 'drop'}}, or encode it before the model"
        )
    return made(column, encoder)


def _matrix(graph: Graph, size: int, dtype: DType, about: str) -> Value:
    return graph.input("X", dtype, ["N", size], about).cast(np.float64)


def _filled(X: Value, encoders: list[NumberColumn]) -> Value:
    """Return columns with their gaps filled, each with its indicator behind it if it has one."""
    gaps = X.is_nan()
    filled = gaps.where(np.array([part.fill for part in encoders]), X)
    marked = np.flatnonzero([part.indicator for part in encoders])
    if not len(marked):
        return filled
    order = np.argsort(np.append(np.arange(len(encoders)), marked), kind="stable")
    return concat(filled, gaps.cast(np.float64).columns(marked)).columns(order)


def number(column: InputColumn, encoder: NumberColumn) -> Value:
    """Return the number, and whether it is missing."""
    about = "a number" if column.strict else "a number; NaN is a gap"
    if encoder.style is not None:
        about += ". It was text in the table: give its value"
        about += ", a percentage divided by 100" if encoder.style.percent else ""
    value = column.input(about).cast(np.float64)
    return value if column.strict else _filled(value, [encoder])


def date(column: InputColumn, encoder: DateColumn) -> Value:
    """Return days since a first one, and sines and cosines of cycles."""
    about = "seconds since 1970-01-01 00:00, or since midnight for a time of day"
    about += "" if column.strict else "; NaN is a gap"
    days = column.input(about, np.float64) / DAY
    gaps = days.is_nan()
    days = days if column.strict else gaps.where(np.array(encoder.fill), days)
    parts = [days - encoder.origin] if encoder.elapsed else []
    for cycle in encoder.cycles:
        turns = days / CYCLES[cycle]
        angle = (turns - column.graph.node("Floor", turns)) * (2 * np.pi)
        parts += [column.graph.node("Sin", angle), column.graph.node("Cos", angle)]
    return concat(*parts, *([gaps.cast(np.float64)] if encoder.indicator else []))


def levels(column: InputColumn, encoder: LevelColumn) -> Value:
    """Return the row of a table that belongs to a level, a gap or an unknown level.

    The table is made by the encoder itself.
    """
    if isinstance(encoder, TargetColumn) and encoder.hashed:
        return hashed(column, encoder)
    known = encoder.levels.tolist()
    known += encoder.rare.tolist() if isinstance(encoder, OneHotColumn) else []
    unknown = "?" * (1 + max(map(len, known), default=0))
    names = np.array([*known, unknown], dtype=object)
    table = encoder(Coded(np.append(np.arange(len(names)), -1), names))
    if column.strict:
        table[-1] = np.nan
    gaps = sorted(GAP_WORDS - set(known))
    keys = [*known, *gaps]
    places = [*range(len(known)), *[len(known) + 1] * len(gaps)]
    some = ", ".join(map(repr, known[:NAMED])) + (", ..." if len(known) > NAMED else "")
    about = f"one of {some}; others are unknown levels, and '' is a gap"
    text = column.input(about, object).squeezed()
    place = column.graph.node(
        "LabelEncoder",
        text,
        dtype=np.int64,
        domain=ML,
        keys_strings=keys,
        values_int64s=places,
        default_int64=len(known),
    )
    return place.chosen_from(np.asarray(table, np.float64))


def hashed(column: InputColumn, encoder: ColumnEncoder) -> Value:
    """Refuse: no operator hashes text."""
    name = column.name
    raise ValueError(
        f"column {name!r} has hashed levels, and ONNX has no operator that hashes text; refit with "
        f"columns={{{name!r}: 'target'}} for a column of at most 100,000 levels, or with "
        f"columns={{{name!r}: 'drop'}}"
    )


#: The graph of each encoder of columns.
COLUMN_GRAPHS: dict[type, Callable[..., Value]] = {
    NumberColumn: number,
    DateColumn: date,
    OneHotColumn: levels,
    TargetColumn: levels,
    OrderedColumn: levels,
    HashColumn: hashed,
}


def finite_or_nan(values: Value, rows: Value) -> Value:
    """Return values, NaN for rows with NaN or infinity, which ``predict`` refuses."""
    return values + (rows * 0.0).sum()


def names_of(model: KernelEstimator) -> list[str]:
    """Return the names of the columns that a model needs, in their order."""
    names, encoding = columns_of_fit(model)
    if encoding is not None:
        return encoding.needed
    return names or [f"x{at}" for at in range(model.n_features_in_)]

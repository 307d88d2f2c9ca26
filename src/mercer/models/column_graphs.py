"""From the inputs of a graph to rows of numbers, column by column (:data:`COLUMN_GRAPHS`).

Models of numbers have one input ``X`` of shape (N, d). Models of tables have an input of shape
(N, 1) for each column: numbers with NaN for a gap, text with "" for a gap, and dates as seconds
since 1970, since a graph cannot read them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.columns.column_encoders import CYCLES, DateColumn, DroppedColumn, NumberColumn
from mercer.columns.level_encoders import HashColumn, OneHotColumn, OrderedColumn, TargetColumn
from mercer.contracts import Array
from mercer.models.graph_builder import ML, Graph, Value, concat
from mercer.rows.table import GAP_WORDS, Coded

#: Seconds of a day: dates are counted in days.
DAY = 86_400.0
#: How many levels the description of an input names.
NAMED = 10


def encoded_rows(graph: Graph, model: Any, dtype: Any) -> tuple[Value, int]:
    """Add the inputs of a model; return its rows as numbers, in float64, and how many columns."""
    fitted = getattr(model, "columns_", None)
    if fitted is None:
        size = int(model.n_features_in_)
        return _matrix(graph, size, dtype, ""), size
    encoding, strict = fitted.encoding_, fitted.missing == "error"
    size = len(encoding.feature_names)
    pairs = list(zip(encoding.names, encoding.encoders, strict=True))
    if all(type(part) is NumberColumn and part.style is None for _, part in pairs):
        about = "numbers" if strict else "numbers; NaN is a gap"
        X = _matrix(graph, len(pairs), dtype, about)
        return X if strict else _filled(X, [part for _, part in pairs]), size
    parts = [
        column_values(graph, name or f"column {at}", part, dtype, strict)
        for at, (name, part) in enumerate(pairs)
        if type(part) is not DroppedColumn
    ]
    return concat(*parts), size


def column_values(graph: Graph, name: str, encoder: Any, dtype: Any, strict: bool) -> Value:
    """Return what becomes of one column, by the table; refuse encoders that it has not."""
    made = COLUMN_GRAPHS.get(type(encoder))
    if made is None:
        raise ValueError(
            f"column {name!r} has the encoder {type(encoder).__name__}, which has no ONNX graph; "
            f"refit with columns={{{name!r}: 'drop'}}, or encode it before the model"
        )
    return made(graph, name, encoder, dtype, strict)


def _matrix(graph: Graph, size: int, dtype: Any, about: str) -> Value:
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


def number(graph: Graph, name: str, encoder: Any, dtype: Any, strict: bool) -> Value:
    """Return the number, and whether it is missing."""
    about = "a number" if strict else "a number; NaN is a gap"
    if encoder.style is not None:
        about += ". It was text in the table: give its value"
        about += ", a percentage divided by 100" if encoder.style.percent else ""
    value = graph.input(name, dtype, ["N", 1], about).cast(np.float64)
    return value if strict else _filled(value, [encoder])


def date(graph: Graph, name: str, encoder: Any, dtype: Any, strict: bool) -> Value:
    """Return days since a first one, and sines and cosines of cycles."""
    about = "seconds since 1970-01-01 00:00, or since midnight for a time of day"
    about += "" if strict else "; NaN is a gap"
    days = graph.input(name, np.float64, ["N", 1], about) / DAY
    gaps = days.is_nan()
    days = days if strict else gaps.where(np.array(encoder.fill), days)
    parts = [days - encoder.origin] if encoder.elapsed else []
    for cycle in encoder.cycles:
        turns = days / CYCLES[cycle]
        angle = (turns - graph.node("Floor", turns)) * (2 * np.pi)
        parts += [graph.node("Sin", angle), graph.node("Cos", angle)]
    return concat(*parts, *([gaps.cast(np.float64)] if encoder.indicator else []))


def levels(graph: Graph, name: str, encoder: Any, dtype: Any, strict: bool) -> Value:
    """Return the row of a table that belongs to a level, a gap or an unknown level.

    The table is made by the encoder itself.
    """
    if getattr(encoder, "hashed", False):
        return hashed(graph, name, encoder, dtype, strict)
    known = [*encoder.levels.tolist(), *getattr(encoder, "rare", np.empty(0)).tolist()]
    unknown = "?" * (1 + max(map(len, known), default=0))
    names = np.array([*known, unknown], dtype=object)
    table = encoder(Coded(np.append(np.arange(len(names)), -1), names))
    if strict:
        table[-1] = np.nan
    gaps = sorted(GAP_WORDS - set(known))
    keys = [*known, *gaps]
    places = [*range(len(known)), *[len(known) + 1] * len(gaps)]
    some = ", ".join(map(repr, known[:NAMED])) + (", ..." if len(known) > NAMED else "")
    about = f"one of {some}; others are unknown levels, and '' is a gap"
    text = graph.input(name, np.dtype(object), ["N", 1], about).squeezed()
    place = graph.node(
        "LabelEncoder",
        text,
        dtype=np.int64,
        domain=ML,
        keys_strings=keys,
        values_int64s=places,
        default_int64=len(known),
    )
    return place.chosen_from(np.asarray(table, np.float64))


def hashed(graph: Graph, name: str, encoder: Any, dtype: Any, strict: bool) -> Value:
    """Refuse: no operator hashes text."""
    raise ValueError(
        f"column {name!r} has hashed levels, and ONNX has no operator that hashes text; refit with "
        f"columns={{{name!r}: 'target'}} for a column of at most 100,000 levels, or with "
        f"columns={{{name!r}: 'drop'}}"
    )


#: The graph of each encoder of columns.
COLUMN_GRAPHS: dict[type, Callable[[Graph, str, Any, Any, bool], Value]] = {
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


def names_of(model: Any) -> list[str]:
    """Return the names of the columns that a model needs, in their order."""
    fitted = getattr(model, "columns_", None)
    if fitted is not None:
        return [str(name) for name in fitted.encoding_.needed]
    names: Array | None = getattr(model, "feature_names_in_", None)
    size = int(model.n_features_in_)
    return [f"x{at}" for at in range(size)] if names is None else [str(name) for name in names]

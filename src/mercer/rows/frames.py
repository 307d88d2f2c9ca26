"""Data frames of any library, and arrays of objects, as tables or arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.arrow import column_of
from mercer.rows.column_selection import text_column
from mercer.rows.table import (
    TIME,
    Coded,
    Column,
    Table,
    is_gap,
    without_gap_words,
)
from mercer.storage import pyarrow


def table_of(X: Any) -> Table | None:
    """Return a data frame, or an array of text or objects, as a table; None for anything else.

    Columns of an array are x0, x1, ...

    >>> table_of(np.array([[1, "a"], [2, "b"]], dtype=object)).kinds
    {'x0': 'number', 'x1': 'text'}
    """
    if isinstance(X, Table):
        return X
    names, columns = frame_names(X), _columns(X)
    if names is None or columns is None:
        return _from_objects(X)
    return Table(dict(zip(map(str, names), columns.values(), strict=True)), X.shape[0])


def frame_names(X: object) -> list[Any] | None:
    """Return the distinct names of the columns of a data frame; None for anything else.

    >>> frame_names(np.zeros((2, 2))), frame_names(Table({"size": np.zeros(2)}))
    (None, ['size'])
    """
    if callable(getattr(X, "collect", None)):
        raise TypeError(
            f"a data frame must be in memory, got a {type(X).__name__}, which is a plan to make "
            f"one: pass X.collect()"
        )
    if not hasattr(X, "columns"):
        return None
    # The columns of a table of pyarrow are arrays, not names.
    names = list(getattr(X, "column_names", X.columns))
    twice = next((name for name, count in Counter(map(str, names)).items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"the data frame must have a distinct name for every column, but {twice!r} names more "
            f"than one: rename them"
        )
    return names


def with_columns(X: Any, names: Sequence[Any]) -> Any:
    """Return some columns of a data frame, in this order."""
    if isinstance(X, Table):
        return X.selected(names)
    return X.select(names) if hasattr(X, "column_names") else X[names]


def _columns(X: Any) -> dict[Any, Column] | None:
    """Return the columns of a data frame by name."""
    if isinstance(X, np.ndarray):  # asking narwhals takes as long as predicting a row
        return None
    try:
        import narwhals as nw
    except ImportError:
        if not (hasattr(X, "to_numpy") and hasattr(X, "columns")):
            return None
        return {name: _of_values(np.asarray(X[name]), name) for name in X.columns}
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    # By place: a name may be a number, which is a row for narwhals.
    return {series.name: _of_series(series, nw) for series in frame.iter_columns()}


def _of_series(series: Any, nw: Any) -> Column:
    native = series.to_native()
    if hasattr(getattr(native, "cat", None), "codes"):  # of pandas, with levels of any kind
        return _of_categories(native.cat)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        # Cast first: integers and booleans with missing values would become objects.
        values = series if series.dtype == nw.Float32 else series.cast(nw.Float64)
        return np.asarray(values.to_numpy(), dtype=np.float64)
    pa = pyarrow()
    try:
        return column_of(series.to_arrow(), str(series.name))
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        UnicodeEncodeError,  # a lone surrogate
    ):
        return _of_values(np.asarray(series.to_numpy(), dtype=object), series.name)


def _of_categories(categories: Any) -> Coded:
    """Return a categorical column of pandas as text, whatever its categories are.

    Categories that are the same as text, such as 1 and "1", are one level.
    """
    text = Coded.of(categories.categories)
    codes = np.append(text.codes, -1)[categories.codes]
    return without_gap_words(Coded(codes, text.levels, bool(categories.ordered), declared=True))


def _from_objects(X: object) -> Table | None:
    """Return an array of text or objects as a table."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUS":
        return None
    return Table({f"x{at}": _of_values(X[:, at], f"x{at}") for at in range(X.shape[1])}, len(X))


def _of_values(values: Array, name: object) -> Column:
    """Return an array of one column as numbers, dates or text."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind == "M":
        return values.astype(TIME)
    if values.dtype.kind == "O":
        gaps = np.array([is_gap(value) for value in values], dtype=bool)
        known = values[~gaps]
        if all(isinstance(value, (int, float, np.number, np.bool_)) for value in known):
            numbers = np.full(len(values), np.nan)
            numbers[~gaps] = known.astype(np.float64)
            return numbers
        if not all(isinstance(value, str) for value in known):
            dates = _as_dates(values, gaps)
            if dates is not None:
                return dates
            kinds = sorted({type(value).__name__ for value in known})
            if not any(_is_compound(value) for value in known):
                return without_gap_words(Coded.of(values))
            raise TypeError(
                f"columns must hold numbers, text or dates, but column {name!r} contains "
                f"{', '.join(kinds)}: each argument must be a string or a real number"
            )
    return without_gap_words(Coded.of(values.astype(object)))


def _is_compound(value: object) -> bool:
    """Return whether an object is neither a number nor text: a list, say, or a complex number."""
    return not isinstance(value, str) and (hasattr(value, "__len__") or isinstance(value, complex))


def _as_dates(values: Array, gaps: Array) -> Array | None:
    """Return objects of dates as datetime64, or None if they are not."""
    if not all(hasattr(value, "isoformat") for value in values[~gaps]):
        return None
    found = np.full(len(values), np.datetime64("NaT", "us"), dtype=TIME)
    try:
        found[~gaps] = [np.datetime64(value.isoformat(), "us") for value in values[~gaps]]
    except ValueError:  # times of day
        return None
    return found


def from_frame(X: object) -> tuple[Array, list[str]] | None:
    """Return the values and column names of a data frame of numbers; None for anything else.

    The array is float32 if all columns are, otherwise float64; missing values become NaN.
    """
    if frame_names(X) is None:
        return None
    try:
        import narwhals as nw
    except ImportError:
        return _from_duck(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind == nw.Boolean):
            raise ValueError(text_column(name, str(kind), "the data frame"))
    single = all(kind == nw.Float32 for kind in frame.schema.values())
    out = np.empty(frame.shape, dtype=np.float32 if single else np.float64)
    for index, name in enumerate(frame.columns):
        # Cast first: integers and booleans with missing values would become objects.
        column = frame[name] if single else frame[name].cast(nw.Float64)
        out[:, index] = column.to_numpy()
    return out, [str(name) for name in frame.columns]


def _from_duck(X: object) -> tuple[Array, list[str]] | None:
    """Do the same without narwhals for anything with named columns and ``to_numpy``."""
    if not (hasattr(X, "to_numpy") and hasattr(X, "columns")):
        return None
    names = [str(name) for name in X.columns]
    values = np.asarray(X.to_numpy())
    if values.dtype.kind in "biuf":
        return values, names
    out = np.empty(values.shape, dtype=np.float64)
    for index, name in enumerate(names):
        try:
            out[:, index] = values[:, index]
        except (TypeError, ValueError) as error:
            kind = type(values[0, index]).__name__
            raise ValueError(text_column(name, kind, "the data frame")) from error
    return out, names

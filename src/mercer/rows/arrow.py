"""Helpers for pyarrow: its errors, and its columns as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.chunks import Piece
from mercer.rows.column_selection import Selection
from mercer.rows.table import GAP_WORDS, TIME, Coded, Column, Table, text_of, without_gap_words
from mercer.storage import pyarrow

if TYPE_CHECKING:
    from pyarrow import Array as Values
    from pyarrow import DataType, RecordBatch


@contextmanager
def reading(path: Path, kind: str, explain: Callable[[str], str] | None = None) -> Iterator[None]:
    """Add the file name to pyarrow's errors; ``explain`` may add a hint."""
    try:
        yield
    except (pyarrow().ArrowException, OSError, EOFError) as error:
        message = str(error).strip().rstrip(".")
        hint = explain(message) if explain is not None else ""
        raise ValueError(
            f"{path} cannot be read as {kind}: {message}"
            f"{hint or '; it may be damaged or truncated, so write it again'}"
        ) from error


def value_type(type_: DataType) -> DataType:
    """Return the type of the values of a column, looking through dictionary encoding."""
    return type_.value_type if pyarrow().types.is_dictionary(type_) else type_


def kind_of(type_: DataType) -> str:
    """Return ``"number"``, ``"text"`` or the name of another type."""
    types, plain = pyarrow().types, value_type(type_)
    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    # A column without any value has the type null; it is read as NaN.
    if types.is_null(plain) or any(test(plain) for test in numbers):
        return "number"
    if types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain):
        return "text"
    return str(type_)


def raw_kind(type_: DataType) -> str:
    """Return ``"number"``, ``"text"``, ``"date"``, as in a table, or the name of another type."""
    types, plain = pyarrow().types, value_type(type_)
    if types.is_date(plain) or types.is_timestamp(plain) or types.is_time(plain):
        return "date"
    if types.is_dictionary(type_) and kind_of(plain) == "number":
        return "text"  # declared categories
    return "number" if types.is_duration(plain) else kind_of(plain)


def label_dtype(type_: DataType) -> np.dtype[Any]:
    """Return the dtype of a target or query: objects for text, float64 for decimals and nulls."""
    types, plain = pyarrow().types, value_type(type_)
    if kind_of(plain) == "text":
        return np.dtype(object)
    if types.is_decimal(plain) or types.is_null(plain):
        return np.dtype(np.float64)
    dtype: np.dtype[Any] = np.dtype(plain.to_pandas_dtype())
    return dtype


def to_piece(
    batch: RecordBatch,
    selection: Selection,
    dtype: np.dtype[Any],
    target_dtype: np.dtype[Any] | None,
    query_dtype: np.dtype[Any] | None,
    *,
    features: bool,
    labels: bool,
    raw: bool = False,
    no_label: frozenset[str] = GAP_WORDS,
) -> Piece:
    """Return a batch as arrays: X in rows of ``dtype``, the target, the weight and the query.

    If ``raw``, X is a table of columns of any kind. ``no_label`` is text of the target that is a
    gap.
    """
    X: Array | Table | None = None
    y = weight = query = None
    if features and raw:
        X = Table(
            {name: column_of(batch.column(name), name) for name in selection.features},
            batch.num_rows,
        )
    elif features:
        X = np.empty((batch.num_rows, len(selection.features)), dtype=dtype)
        for index, name in enumerate(selection.features):
            X[:, index] = _numbers(batch.column(name))
    if labels and selection.target is not None and target_dtype is not None:
        y = _target(batch.column(selection.target), target_dtype, no_label)
    if labels and selection.weight is not None:
        weight = _numbers(batch.column(selection.weight)).astype(np.float64, copy=False)
    if labels and selection.query is not None and query_dtype is not None:
        query = _values(batch.column(selection.query), query_dtype)
    return Piece(X, y, weight, query)


def column_of(values: Values, name: str, words: frozenset[str] = GAP_WORDS) -> Column:
    """Return a column of pyarrow as numbers, dates or text; raise ValueError for anything else."""
    pa = pyarrow()
    types, plain = pa.types, value_type(values.type)
    declared = types.is_dictionary(values.type)
    if kind_of(plain) == "number" and not declared:
        return _numbers(values).astype(np.float64, copy=False)
    if types.is_timestamp(plain) or types.is_date(plain):
        # Timestamps with a zone are in UTC; finer units than microseconds are cut.
        dates = _decoded(values).cast(pa.timestamp("us"), safe=False)
        return np.asarray(dates.to_numpy(zero_copy_only=False), dtype=TIME)
    if types.is_time(plain):
        since = _decoded(values).cast(pa.time64("us")).cast(pa.int64())
        return np.asarray(since.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False), dtype=TIME)
    if types.is_duration(plain):
        return _numbers(_decoded(values).cast(pa.duration("us")).cast(pa.int64())) / 1e6
    if kind_of(plain) in ("text", "number"):
        coded = values if declared else values.dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.unify_dictionaries().combine_chunks()
            if isinstance(coded, pa.ChunkedArray):  # no rows
                coded = coded.chunk(0) if coded.num_chunks else pa.array([], coded.type)
        codes = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        levels = np.asarray(coded.dictionary.to_numpy(zero_copy_only=False), dtype=object)
        if kind_of(plain) == "number":
            levels = np.array([text_of(level) for level in levels], dtype=object)
        return without_gap_words(Coded(codes, levels, bool(coded.type.ordered), declared), words)
    raise ValueError(
        f"columns must hold numbers, text or dates, but column {name!r} contains {values.type}: "
        f"exclude it, or take it apart into columns"
    )


def _target(column: Values, dtype: np.dtype[Any], no_label: frozenset[str]) -> Array:
    """Return a target; missing numbers become NaN, missing labels None."""
    if dtype.kind == "O" and kind_of(column.type) == "text":
        labels = column_of(column, "the target", no_label)
        assert isinstance(labels, Coded)
        return labels.values()
    return _values(column, dtype)


def _values(column: Values, dtype: np.dtype[Any]) -> Array:
    """Return numbers or text; missing numbers become NaN, missing text None."""
    if dtype.kind == "O":
        return np.asarray(_decoded(column).to_numpy(zero_copy_only=False), dtype=object)
    values = _numbers(column)
    return values if column.null_count else values.astype(dtype, copy=False)


def _numbers(column: Values) -> Array:
    """Return a numeric column as an array, NaN for missing values."""
    pa, column = pyarrow(), _decoded(column)
    whole = pa.types.is_boolean(column.type) and not column.null_count
    if not (whole or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _decoded(column: Values) -> Values:
    """Undo dictionary encoding."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column

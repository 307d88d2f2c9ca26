"""Convert data frames of any library to arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.column_selection import text_column


def from_frame(X: Any) -> tuple[Array, list[str]] | None:
    """Return the values and column names of a data frame; None for anything else.

    All columns must be numeric. The array is float32 if all columns are, otherwise float64; missing
    values become NaN.
    """
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


def _from_duck(X: Any) -> tuple[Array, list[str]] | None:
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

"""Checks shared by all sources: shapes, dtypes, existing files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array
from mercer.storage import check_regular
from mercer.validation import NoRowsError, closest


def check_file(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` as an absolute path to an existing, nonempty file.

    It is absolute because workers may have another working directory.
    """
    file = Path(path).expanduser().absolute()
    check_exists(file)
    if file.is_dir():
        raise IsADirectoryError(
            f"{file} must be a file, got a folder; only folders of .parquet files can be read "
            f"as one source: use the path of a file in it"
        )
    if file.stat().st_size == 0:
        raise ValueError(
            f"{file} is empty (0 bytes): it must have at least one row; write it again"
        )
    return file


def check_exists(path: Path) -> None:
    """Raise FileNotFoundError if a path does not exist, suggesting a similar file name.

    What exists must be a file or a folder: a pipe or a device may never end.
    """
    if path.exists():
        check_regular(path)
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} must be a file, but its folder {path.parent} does not exist: check the path"
        )
    others = sorted(entry.name for entry in path.parent.iterdir())
    hint = closest(path.name, others) if others else "; its folder is empty"
    raise FileNotFoundError(f"{path} must be a file, but there is no such file{hint}")


def check_rows(n_rows: int, label: str) -> None:
    """Raise NoRowsError unless there are rows."""
    if n_rows == 0:
        raise NoRowsError(f"{label} must contain at least one row, got none: write it again")


def check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], label: str) -> None:
    """Raise ValueError unless this is a real matrix with at least one row and one column."""
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead: {label} must have the shape "
            f"(rows, features), got shape {shape}. Reshape your data, with .reshape(-1, 1) for "
            f"one feature or .reshape(1, -1) for one row"
        )
    if dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {label} must contain real numbers, got {dtype}; try "
            f".real and .imag as separate columns"
        )
    if dtype.kind not in "biuf":
        raise ValueError(
            f"{label} must contain numbers, got dtype {dtype}: encode other values as numbers"
        )
    if 0 in shape:
        raise ValueError(
            f"Found array with 0 {'sample(s)' if shape[0] == 0 else 'feature(s)'} (shape={shape}) "
            f"while a minimum of 1 is required: {label} must have at least one row and one column"
        )


def check_labels(shape: tuple[int, ...], n_rows: int, label: str) -> None:
    """Raise ValueError unless there is one target, or one row of targets, per row of X."""
    if len(shape) not in (1, 2):
        raise ValueError(
            f"{label} must have the shape (rows,) or (rows, outputs), got shape {shape}"
        )
    if shape[0] != n_rows:
        raise ValueError(
            f"{label} must have one value per row of X: X has {n_rows} rows, {label} has {shape[0]}"
        )


def check_weight_shape(shape: tuple[int, ...], n_rows: int, label: str) -> None:
    """Raise ValueError unless there is one weight per row of X."""
    if shape != (n_rows,):
        raise ValueError(
            f"{label} must be 1-D with one number per row of X: X has {n_rows} rows, "
            f"{label} has the shape {shape}"
        )


def check_query_shape(shape: tuple[int, ...], n_rows: int, label: str) -> None:
    """Raise ValueError unless there is one query per row of X."""
    if shape != (n_rows,):
        raise ValueError(
            f"{label} must be 1-D with the query of every row of X: X has {n_rows} rows, "
            f"{label} has the shape {shape}"
        )


def check_query(query: Array, label: str, *, start: int = 0) -> None:
    """Raise ValueError for missing queries, naming the first row; empty text is missing.

    >>> check_query(np.array([7, 7, 3]), "qid")
    """
    kind = query.dtype.kind
    if kind in "fcmM":
        missing = np.isnan(query)
    elif kind in "US":
        missing = np.strings.str_len(query) == 0
    elif kind == "O":
        missing = np.fromiter(map(_is_missing, query), dtype=bool, count=len(query))
    else:
        return
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"{label} must have a query in every row, got {query.item(at)!r} at row {start + at}: "
            f"fill it in, or drop the row"
        )
    if kind == "O" and len({isinstance(value, str) for value in query}) > 1:
        raise ValueError(f"{label} must have one type, got both text and numbers: convert it")


def _is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, pandas' NA or empty text, without importing pandas."""
    same = value == value
    return not isinstance(same, (bool, np.bool_)) or not same or value is None or value == ""


def check_indices(indices: ArrayLike, n_rows: int, name: str = "indices") -> Array:
    """Return row numbers as a 1-D integer array, all within the source."""
    wanted = np.asarray(indices)
    if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be a 1-D array of row numbers, got shape {wanted.shape} and dtype "
            f"{wanted.dtype}; for a mask, try np.flatnonzero(mask)"
        )
    wanted = wanted.astype(np.intp, copy=False)
    if wanted.size and (wanted.min() < 0 or wanted.max() >= n_rows):
        outside = wanted[(wanted < 0) | (wanted >= n_rows)][0]
        raise IndexError(f"{name} must be from 0 to {n_rows - 1}, got {outside}")
    return wanted


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for float32 (in any byte order), and float64 for everything else."""
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)

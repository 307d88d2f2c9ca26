"""From what a user has at hand, a path or arrays, to a source of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mercer.contracts import RowSource
from mercer.sources.arrays import ArraySource
from mercer.sources.checks import check_exists
from mercer.sources.csv import CsvSource
from mercer.sources.frames import from_frame
from mercer.sources.npz import NpySource, NpzSource
from mercer.sources.parquet import ParquetSource
from mercer.validation import closest

Columns = Sequence[str] | None
Opener = Callable[[Path, str | None, str | None, Columns], RowSource]


def open_rows(
    path: str | os.PathLike[str],
    target: str | None = None,
    weight: str | None = None,
    columns: Columns = None,
) -> RowSource:
    """Open a file, or a folder of Parquet files, by its extension.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv`` (either with ``.gz`` after it), ``.parquet``, ``.npy`` or ``.npz``
        file, or a folder of ``.parquet`` files.
    target, weight : str or None
        The columns with the targets and the weights. For ``.npz`` these are names of arrays (and
        ``y`` is the target if there is one); for ``.npy`` the target is the path of another file.
    columns : list of str, or None
        The features; None means all other columns. NumPy files have no names to choose by.
    """
    file = Path(path).expanduser()
    check_exists(file.absolute())
    if file.is_dir():
        return ParquetSource(file, target, weight, columns)
    name = file.name.lower()
    for extension, opener in OPENERS.items():
        if name.endswith(extension):
            return opener(file, target, weight, columns)
    raise ValueError(
        f"the extension of {file} must be that of a known kind of file, got "
        f"{file.suffix or 'none'!r}{closest(file.suffix, OPENERS)}"
    )


def as_source(X: Any, y: Any = None, weight: Any = None) -> RowSource:
    """Return the rows of X as a source, whatever X is: a source, a path, a data frame or an array.

    With a path, ``y`` and ``weight`` are names of columns.

    >>> as_source([[1.0, 2.0], [3.0, 4.0]], y=[0, 1]).n_rows
    2
    """
    if isinstance(X, (str, os.PathLike)):
        for name, value in (("y", y), ("weight", weight)):
            if value is not None and not isinstance(value, str):
                raise TypeError(
                    f"{name} must be the name of a column of the file when X is a path, got "
                    f"{type(value).__name__}: name the column, or load X as an array"
                )
        return open_rows(X, target=y, weight=weight)
    if isinstance(X, RowSource):
        for name, value in (("y", y), ("weight", weight)):
            if value is not None:
                raise ValueError(
                    f"{name} must be part of the source when X is one, got {name} next to a "
                    f"{type(X).__name__}: give it to the source instead"
                )
        return X
    frame = from_frame(X)
    if frame is not None:
        return ArraySource(frame[0], y, weight, feature_names=frame[1])
    return ArraySource(X, y, weight)


def _open_npy(path: Path, target: str | None, weight: str | None, columns: Columns) -> RowSource:
    """Open ``.npy``; the target is a file of its own."""
    _refuse_columns(path, columns)
    if weight is not None:
        raise ValueError(
            f"weight must be None for .npy files, which hold one array, got {weight!r}: try "
            f"ArraySource(np.load(path, mmap_mode='r'), y, weight)"
        )
    return NpySource(path, target)


def _open_npz(path: Path, target: str | None, weight: str | None, columns: Columns) -> RowSource:
    """Open ``.npz``; the target and the weight are arrays of their own."""
    _refuse_columns(path, columns)
    source = NpzSource(path, y="y" if target is None else target, weight=weight)
    if target is not None and not source.has_target:
        raise ValueError(f"{path} has no array {target!r}: save it with np.savez(path, X=X, y=y)")
    return source


def _refuse_columns(path: Path, columns: Columns) -> None:
    """Refuse a choice of columns where they have no names."""
    if columns is not None:
        raise ValueError(
            f"columns must be None for {path}, since NumPy files have no names of columns: choose "
            f"before saving, or try ArraySource(X[:, indices])"
        )


OPENERS: dict[str, Opener] = {
    ".csv": CsvSource,
    ".csv.gz": CsvSource,
    ".tsv": CsvSource,
    ".tsv.gz": CsvSource,
    ".parquet": ParquetSource,
    ".npy": _open_npy,
    ".npz": _open_npz,
}

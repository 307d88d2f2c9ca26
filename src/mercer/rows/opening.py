"""Open paths, data frames and arrays as sources of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from mercer.contracts import RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.checks import check_exists
from mercer.rows.csv import CsvSource
from mercer.rows.frames import from_frame
from mercer.rows.npz import NpySource, NpzSource
from mercer.rows.parquet import ParquetSource
from mercer.rows.svmlight import SvmlightSource
from mercer.rows.svmlight_lines import is_svmlight
from mercer.validation import closest

Columns = Sequence[str] | None
#: Extensions of svmlight files; ``.txt`` may also be one.
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".letor")
#: Extensions of delimited text.
PARQUET = (".parquet",)
DELIMITED = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


class Opener(Protocol):
    """A function that opens one kind of file."""

    def __call__(
        self,
        path: Path,
        target: str | None,
        weight: str | None,
        columns: Columns,
        /,
        *,
        query: str | None,
    ) -> RowSource:
        """Return the rows of a file as a source."""


def open_rows(
    path: str | os.PathLike[str],
    target: str | None = None,
    weight: str | None = None,
    columns: Columns = None,
    query: str | None = None,
    n_features: int | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    raw: bool = False,
) -> RowSource:
    """Open a file, or a folder of Parquet files, by its extension.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv`` (either with ``.gz`` after it), ``.parquet``, ``.npy``, ``.npz`` or
        svmlight file (``.svm``, ``.svmlight``, ``.libsvm``, ``.letor``, or ``.txt`` if its first
        line is in svmlight format), or a folder of ``.parquet`` files.
    target, weight : str or None
        The columns with the targets and the weights. For ``.npz`` these are names of arrays (and
        ``y`` is the target if there is one); for ``.npy`` the target is the path of another file.
        Svmlight files contain a target and no weights.
    columns : list of str, or None
        The features; None means all other columns. NumPy and svmlight files have no column names.
    query : str or None
        The column, or array of ``.npz``, with the query of each row, for rankings within queries.
        The ``qid`` of svmlight files is always read.
    n_features : int or None
        The number of features of an svmlight file, if it may lack the last ones. Not needed for
        other files.
    delimiter, decimal : str or None
        The character between values and the decimal sign of ``.csv`` and ``.tsv`` files; None means
        that they are sniffed.
    raw : bool
        Whether features of ``.csv``, ``.tsv`` and ``.parquet`` files may be text and dates, for an
        estimator with ``columns="auto"`` to encode. Otherwise they must be numbers.
    """
    file = Path(path).expanduser()
    check_exists(file.absolute())
    name = file.name.lower()
    if name.endswith(DELIMITED) and not file.is_dir():
        return CsvSource(file, target, weight, columns, delimiter, query, decimal, raw=raw)
    for option, value in (("delimiter", delimiter), ("decimal", decimal)):
        if value is not None:
            raise ValueError(
                f"{option} must be None for {file}, which is not delimited text "
                f"({', '.join(DELIMITED)}), got {value!r}: omit it"
            )
    if file.is_dir() or name.endswith(PARQUET):
        return ParquetSource(file, target, weight, columns, query, raw=raw)
    for extension, opener in OPENERS.items():
        if name.endswith(extension):
            return opener(file, target, weight, columns, query=query)
    if _holds_svmlight(file):
        return _open_svmlight(file, target, weight, columns, query, n_features)
    raise ValueError(
        f"the extension of {file} must be one of a supported file format, got "
        f"{file.suffix or 'none'!r}{closest(file.suffix, KNOWN)}"
    )


def names_columns(path: str | os.PathLike[str]) -> bool:
    """Return whether the columns of a file have names; not for NumPy and svmlight files.

    >>> names_columns("rows.csv"), names_columns("rows.npz"), names_columns("rows.svm")
    (True, False, False)
    """
    file = Path(path)
    return file.suffix.lower() not in (".npy", ".npz") and not _holds_svmlight(file)


def _holds_svmlight(file: Path) -> bool:
    suffix = file.suffix.lower()
    return suffix in SVMLIGHT or (suffix == ".txt" and file.is_file() and is_svmlight(file))


def as_source(
    X: Any, y: Any = None, weight: Any = None, query: Any = None, *, raw: bool = False
) -> RowSource:
    """Return the rows of X as a source; X may be a source, a path, a data frame or an array.

    With a path, ``y``, ``weight`` and ``query`` are names of columns; ``raw`` is for
    :func:`open_rows`.

    >>> as_source([[1.0, 2.0], [3.0, 4.0]], y=[0, 1]).n_rows
    2
    """
    given = {"y": y, "weight": weight, "qid": query}
    if isinstance(X, (str, os.PathLike)):
        for name, value in given.items():
            if value is not None and not isinstance(value, str):
                raise TypeError(
                    f"{name} must be the name of a column of the file when X is a path, got "
                    f"{type(value).__name__}: name the column, or load X as an array"
                )
        return open_rows(X, target=y, weight=weight, query=query, raw=raw)
    if isinstance(X, RowSource):
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{name} must be part of the source if X is a source, got {name} next to a "
                    f"{type(X).__name__}: pass it to the source instead"
                )
        return X
    frame = from_frame(X)
    if frame is not None:
        return ArraySource(frame[0], y, weight, feature_names=frame[1], query=query)
    return ArraySource(X, y, weight, query=query)


def _open_npy(
    path: Path,
    target: str | None,
    weight: str | None,
    columns: Columns,
    *,
    query: str | None,
) -> RowSource:
    """Open ``.npy``; the target is a separate file."""
    _refuse_columns(path, columns)
    for name, value in (("weight", weight), ("query", query)):
        if value is not None:
            raise ValueError(
                f"{name} must be None for .npy files, which contain one array, got {value!r}: try "
                f"ArraySource(np.load(path, mmap_mode='r'), y, {name}={name})"
            )
    return NpySource(path, target)


def _open_npz(
    path: Path,
    target: str | None,
    weight: str | None,
    columns: Columns,
    *,
    query: str | None,
) -> RowSource:
    """Open ``.npz``; the target, the weight and the query are separate arrays."""
    _refuse_columns(path, columns)
    source = NpzSource(path, y="y" if target is None else target, weight=weight, query=query)
    if target is not None and not source.has_target:
        raise ValueError(f"{path} has no array {target!r}: save it with np.savez(path, X=X, y=y)")
    return source


def _open_svmlight(
    path: Path,
    target: str | None,
    weight: str | None,
    columns: Columns,
    query: str | None,
    n_features: int | None,
) -> RowSource:
    """Open an svmlight file."""
    _refuse_columns(path, columns)
    if target is not None:
        raise ValueError(
            f"target must be None for {path}, since the label of an svmlight file is the first "
            f"number of a line, got {target!r}: omit it"
        )
    if weight is not None:
        raise ValueError(
            f"weight must be None for {path}, since svmlight files have no weights, got "
            f"{weight!r}: omit it, or load the rows and try ArraySource(X, y, weight)"
        )
    if query not in (None, "qid"):
        raise ValueError(
            f"query must be None or 'qid' for {path}, which is what svmlight files call it, got "
            f"{query!r}: omit it"
        )
    source = SvmlightSource(path, n_features)
    if query is not None and not source.has_query:
        raise ValueError(
            f"{path} must have queries if query is given, got lines without qid: omit it"
        )
    return source


def _refuse_columns(path: Path, columns: Columns) -> None:
    """Raise ValueError if columns are selected in a file without column names."""
    if columns is not None:
        raise ValueError(
            f"columns must be None for {path}, since such files have no column names: select them "
            f"before saving, or try ArraySource(X[:, indices])"
        )


OPENERS: dict[str, Opener] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
}
#: All extensions, for messages.
KNOWN = (*DELIMITED, *PARQUET, *OPENERS, *SVMLIGHT)

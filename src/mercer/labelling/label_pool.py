"""A pool of rows to label, with ids and a fingerprint: in memory, or in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.columns.row_folds import row_hashes
from mercer.contracts import Array, Rows, RowSource
from mercer.labelling.label_values import as_id, as_shown
from mercer.rows import ArraySource, CsvSource, ParquetSource, as_source, names_columns, open_rows
from mercer.rows.arrow import kind_of, reading
from mercer.rows.checks import check_exists, check_file
from mercer.rows.column_selection import select_columns
from mercer.rows.csv import all_named
from mercer.rows.csv_lines import read_header
from mercer.rows.dialect import sniff
from mercer.rows.frames import table_of
from mercer.rows.table import Coded, Column, Table
from mercer.storage import fingerprint_rows, fingerprint_texts, pyarrow
from mercer.validation import closest

#: The name of the id column if ids are row numbers, and if ids are given without a name.
ROW, ID = "row", "id"
#: The columns of every sheet after the ids.
DRAWS, WEIGHT, LABEL = "draws", "weight", "label"
#: Rows hashed, and rows of a Parquet file read, at a time.
BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Fingerprint:
    """A fingerprint of a pool: its size, and hashes of values and ids in order."""

    rows: int
    features: int
    values: str
    ids: str | None


class LabelPool:
    """A pool of rows to label, with their ids.

    Parameters
    ----------
    pool : path, data frame, array or row source
        The rows. For files and data frames with named columns, a sheet shows all columns of a row.
    columns : list of str, or None
        The features: numbers, text or dates, with gaps. None means all columns except the ids.
    ids : str, array or None
        The name of the id column of a file or data frame, or the ids themselves: distinct integers
        or text. None means row numbers.
    exclude : list of str
        Columns that are not features.
    delimiter, decimal : str or None
        The character between values and the decimal sign of a ``.csv`` or ``.tsv`` file; None means
        that they are sniffed.

    Attributes
    ----------
    source : RowSource
        The features, for :meth:`ImportanceLabeller.fit`.
    ids : array or None
        The ids as text.
    id_name : str
        The name of the id column in sheets.

    Examples
    --------
    >>> pool = LabelPool(np.zeros((3, 2)), ids=["a", "b", "c"])
    >>> pool.look(np.array([2]))
    {'x0': [0.0], 'x1': [0.0]}
    """

    source: RowSource

    def __init__(
        self,
        pool: object,
        columns: Sequence[str] | None = None,
        ids: str | ArrayLike | None = None,
        *,
        exclude: Sequence[str] = (),
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> None:
        self._dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal}
        self._named = ids if isinstance(ids, str) else None
        self._file: TableSource | None = None
        self._frame: Any = None
        self.ids: Array | None = None
        name = self._named
        self.id_name = name or (ROW if ids is None else ID)
        if self.id_name in (DRAWS, WEIGHT, LABEL):
            raise ValueError(
                f"the id column must not be named {self.id_name!r}, since sheets have a "
                f"column of that name: rename it"
            )
        label = "the pool"
        if isinstance(pool, (str, os.PathLike)):
            label = str(pool)
            self._open(Path(pool).expanduser(), columns, name, exclude)
        else:
            self._take(pool, columns, name, exclude)
        if name is None and ids is not None:
            self.ids = _as_text(np.asarray(ids).tolist(), label)
        if self.ids is not None:
            _check_ids(self.ids, self.source.n_rows, label)

    def _open(
        self, path: Path, columns: Sequence[str] | None, name: str | None, exclude: Sequence[str]
    ) -> None:
        """Open a file; columns that are not features are read from it later."""
        check_exists(path.absolute())
        if not names_columns(path):
            if name is not None:
                raise ValueError(
                    f"ids must not be a name for {path}, since such files have no column names, "
                    f"got {name!r}: omit ids to use row numbers"
                )
            if exclude:
                raise ValueError(
                    f"exclude must be empty for {path}, since such files have no column names"
                )
            self.source = open_rows(path, columns=columns, **self._dialect)
            return
        if name is not None or exclude:
            known = column_names(path, **self._dialect)
            columns = _features(known, str(path), columns, name, exclude)
        self.source = open_rows(path, columns=columns, raw=True, **self._dialect)
        if isinstance(self.source, (CsvSource, ParquetSource)):
            self._file = self.source
            if name is not None:
                parts = [
                    _as_text(batch.column(0).to_pylist(), str(path), start)
                    for start, batch in column_batches(self._file, [name])
                ]
                self.ids = np.concatenate(parts)

    def _take(
        self, pool: object, columns: Sequence[str] | None, name: str | None, exclude: Sequence[str]
    ) -> None:
        """Use rows in memory, or a source."""
        self._frame = None if isinstance(pool, RowSource) else as_frame(pool)
        if self._frame is not None:
            chosen = _features(self._frame.columns, "the data frame", columns, name, exclude)
            table = table_of(self._frame.select(chosen).to_native())
            self.source = ArraySource(table, feature_names=chosen)
            if name is not None:
                self.ids = _as_text(self._frame[name].to_list(), "the data frame")
            return
        if name is not None or columns is not None or exclude:
            raise ValueError(
                f"ids and columns by name need a file or a data frame, got "
                f"{type(pool).__name__}: pass the ids themselves, or omit them"
            )
        self.source = as_source(pool)

    def look(self, rows: Array) -> dict[str, list[Any]]:
        """Return the columns to show for the rows, which must be in increasing order."""
        rows = np.asarray(rows)
        if self._file is not None:
            return look(self._file, rows, self._named)
        if self._frame is not None:
            names = [name for name in self._frame.columns if name != self._named]
            return {name: self._frame[name][rows.tolist()].to_list() for name in names}
        values = self.source.take(rows)
        if hasattr(values, "tocsr"):  # many columns, and most of them 0
            return {}
        if isinstance(values, Table):
            return {name: _listed(column) for name, column in values.columns.items()}
        names = self.source.feature_names or [f"x{i}" for i in range(self.source.n_features)]
        return {name: values[:, i].tolist() for i, name in enumerate(names)}

    def take(self, rows: Array) -> Any:
        """Return the features of some rows, as an estimator takes them.

        Numbers are an array; otherwise they are a data frame of the library of the pool, or a
        ``pyarrow.Table`` for a file.
        """
        values = self.source.take(np.asarray(rows))
        if not isinstance(values, Table):
            return values
        if set(values.kinds.values()) == {"number"}:
            return values.numbers()
        if self._frame is not None:
            return self._frame.select(values.names)[np.asarray(rows).tolist()].to_native()
        return pyarrow().table({name: _listed(column) for name, column in values.columns.items()})

    def fingerprint(self) -> Fingerprint:
        """Return the fingerprint of the pool, in one pass over its rows.

        >>> X = np.arange(6.0).reshape(3, 2)
        >>> LabelPool(X).fingerprint() == LabelPool(X[::-1]).fingerprint()
        False
        """
        values = fingerprint_rows(_as_numbers(block.X) for block in self.source.blocks(BLOCK_ROWS))
        known, starts = self.ids, range(0, self.source.n_rows, BLOCK_ROWS)
        ids = None
        if known is not None:
            ids = fingerprint_texts(known[at : at + BLOCK_ROWS].tolist() for at in starts)
        return Fingerprint(self.source.n_rows, self.source.n_features, values, ids)


def _as_numbers(X: Rows) -> Rows:
    """Return rows as numbers that identify them; rows with text or dates by a hash of 64 bits."""
    if not isinstance(X, Table):
        return X
    if set(X.kinds.values()) == {"number"}:
        return X.numbers()
    # Halves of it, which float64 holds exactly.
    return np.ascontiguousarray(row_hashes(X)).view(np.uint32).reshape(len(X), 2)


def _listed(column: Column) -> list[Any]:
    """Return a column as numbers, text or dates, None for gaps."""
    if isinstance(column, Coded):
        return list(column.values().tolist())
    if column.dtype.kind == "M":
        return list(column.tolist())
    return [None if value != value else value for value in column.tolist()]


def as_frame(pool: object) -> Any:
    """Return a data frame of any library, or None if this is not a data frame."""
    try:
        import narwhals as nw
    except ImportError:
        return None
    frame = nw.from_native(pool, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def has_names(pool: object) -> bool:
    """Return whether the columns of a pool have names."""
    if isinstance(pool, (str, os.PathLike)):
        return names_columns(pool)
    return not isinstance(pool, RowSource) and as_frame(pool) is not None


def _features(
    names: Sequence[str],
    label: str,
    columns: Sequence[str] | None,
    ids: str | None,
    exclude: Sequence[str],
) -> list[str]:
    """Return the features: the given ones, or all columns except the ids and ``exclude``."""
    for name in exclude:
        if name not in names:
            raise ValueError(f"{label} has no column {name!r} to exclude{closest(name, names)}")
        if columns is not None and name in columns:
            raise ValueError(f"columns must not be excluded too, got {name!r} as both: choose one")
    if ids is not None and ids not in names:
        raise ValueError(f"{label} has no id column {ids!r}{closest(ids, names)}")
    if columns is None:
        columns = [name for name in names if name != ids and name not in exclude]
    elif ids in columns:
        raise ValueError(f"columns must not include the ids, got {ids!r} as both: remove it")
    return select_columns(names, label, None, None, columns).features


def _as_text(values: Sequence[Any], label: str, start: int = 0) -> Array:
    """Return ids as text; raise ValueError unless they are integers or text."""
    found = []
    for row, value in enumerate(values, start):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise ValueError(
                f"ids must be integers or text, but row {row} of {label} has "
                f"{'none' if value is None else repr(value)}: name another column, or leave it "
                f"out to use row numbers"
            )
        found.append(as_id(value))
    return np.asarray(found, dtype=np.dtypes.StringDType())


def _check_ids(ids: Array, n_rows: int, label: str) -> None:
    """Raise ValueError if ids are missing or not unique."""
    if ids.shape != (n_rows,):
        raise ValueError(f"ids must be one per row: {label} has {n_rows} rows, got {len(ids)} ids")
    empty = np.flatnonzero(ids == "")
    if len(empty):
        raise ValueError(
            f"every row must have an id, but row {empty[0]} of {label} has none: fill it in, "
            f"or omit ids to use row numbers"
        )
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(twice):
        one, other = order[twice[0]], order[twice[0] + 1]
        raise ValueError(
            f"ids must be unique, but rows {one} and {other} of {label} share "
            f"{str(ids[one])!r}: name another column, or omit ids to use row "
            f"numbers"
        )


TableSource = CsvSource | ParquetSource


def column_names(path: Path, delimiter: str | None = None, decimal: str | None = None) -> list[str]:
    """Return the columns of a file, or of the first file in a folder."""
    if path.is_dir():
        path = next(iter(sorted(path.glob("*.parquet"))), path)
    if path.suffix.lower() == ".parquet":
        with reading(path, "Parquet"):
            return list(pyarrow(".parquet").read_schema(check_file(path)).names)
    file = check_file(path)
    return all_named(read_header(file, sniff(file, delimiter=delimiter, decimal=decimal)))


def column_batches(source: TableSource, names: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield columns of all rows in batches, with the number of the first row of each."""
    start = 0
    for batch in _batches(source, names):
        yield start, batch
        start += batch.num_rows


def _batches(source: TableSource, names: list[str]) -> Iterator[Any]:
    if isinstance(source, CsvSource):
        yield from source.text_batches(names)
        return
    for path in source.paths:
        with reading(path, "Parquet"), pyarrow(".parquet").ParquetFile(path) as file:
            yield from file.iter_batches(BLOCK_ROWS, columns=names)


def look(source: TableSource, rows: Array, without: str | None) -> dict[str, list[Any]]:
    """Return some rows of a file, by column, without columns that a person cannot read.

    ``rows`` must be in increasing order; the column ``without`` is left out.
    """
    names = [name for name in _legible(source) if name != without]
    found: dict[str, list[Any]] = {name: [] for name in names}
    for start, batch in column_batches(source, names):
        low, high = np.searchsorted(rows, [start, start + batch.num_rows])
        if low < high:
            part = batch.take(pyarrow().array(rows[low:high] - start))
            for name in names:
                found[name] += part.column(name).to_pylist()
        if high == len(rows):
            break
    if isinstance(source, CsvSource):
        decimal = source.dialect.decimal
        for name in set(source.feature_names or []) & set(names):
            found[name] = as_shown(found[name], decimal)
    return found


def _legible(source: TableSource) -> list[str]:
    """Return the columns of numbers, text and dates that exist in all files."""
    if isinstance(source, CsvSource):
        return source.names
    schemas = [pyarrow(".parquet").read_schema(path) for path in source.paths]
    types = pyarrow().types
    return [
        field.name
        for field in schemas[0]
        if all(field.name in schema.names for schema in schemas)
        and (kind_of(field.type) in ("number", "text") or types.is_temporal(field.type))
    ]

"""A pool of rows, the ids that a person knows them by, and what it is recognized by."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array, RowSource
from mercer.labelling.pool_columns import TableSource, column_batches, column_names, look
from mercer.labelling.spreadsheet_values import as_id
from mercer.rows import CsvSource, ParquetSource, as_source, names_columns, open_rows
from mercer.rows.checks import check_exists
from mercer.rows.column_selection import select_columns
from mercer.storage import fingerprint_rows, fingerprint_texts
from mercer.validation import closest

#: The column of ids where they are the numbers of rows, and where they were given without a name.
ROW, ID = "row", "id"
#: Columns that every sheet has after that of ids.
DRAWS, WEIGHT, LABEL = "draws", "weight", "label"
#: Rows that are hashed at a time.
BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Fingerprint:
    """What a pool is recognized by: its size, and hashes of values and of ids in their order."""

    rows: int
    features: int
    values: str
    ids: str | None


class LabelPool:
    """A pool of rows, and the ids that a person knows them by.

    Parameters
    ----------
    pool : path, data frame, array or row source
        The rows. Of files and frames with named columns a sheet shows all columns of a row, text
        among them.
    columns : list of str, or None
        The features; None means all columns but that of the ids.
    ids : str, array or None
        The column of a file or frame with the ids, or the ids themselves: whole numbers or text, a
        different one in every row. None takes the numbers of the rows.

    Attributes
    ----------
    source : RowSource
        The features, for :meth:`ImportanceLabeller.fit`.
    ids : array or None
        The ids as text.
    id_name : str
        What the column of ids is called in sheets.

    Examples
    --------
    >>> pool = LabelPool(np.zeros((3, 2)), ids=["a", "b", "c"])
    >>> pool.look(np.array([2]))
    {'x0': [0.0], 'x1': [0.0]}
    """

    source: RowSource

    def __init__(self, pool: Any, columns: Sequence[str] | None = None, ids: Any = None) -> None:
        self._file: TableSource | None = None
        self._frame: Any = None
        self.ids: Array | None = None
        name = ids if isinstance(ids, str) else None
        self.id_name = name or (ROW if ids is None else ID)
        if self.id_name in (DRAWS, WEIGHT, LABEL):
            raise ValueError(
                f"the column of ids must not be called {self.id_name!r}, since sheets have a "
                f"column of that name: rename it"
            )
        label = "the pool"
        if isinstance(pool, (str, os.PathLike)):
            label = str(pool)
            self._open(Path(pool).expanduser(), columns, name)
        else:
            self._take(pool, columns, name)
        if name is None and ids is not None:
            self.ids = _as_text(np.asarray(ids).tolist(), label)
        if self.ids is not None:
            _check_ids(self.ids, self.source.n_rows, label)

    def _open(self, path: Path, columns: Sequence[str] | None, name: str | None) -> None:
        """Open a file, which stays at hand for columns that are no features."""
        check_exists(path.absolute())
        if not names_columns(path):
            if name is not None:
                raise ValueError(
                    f"ids must not be named for {path}, since such files have no names of columns, "
                    f"got {name!r}: leave it out, and rows are known by their numbers"
                )
            self.source = open_rows(path, columns=columns)
            return
        if name is not None:
            columns = _features(column_names(path), str(path), columns, name)
        self.source = open_rows(path, columns=columns)
        if isinstance(self.source, (CsvSource, ParquetSource)):
            self._file = self.source
            if name is not None:
                parts = [
                    _as_text(batch.column(0).to_pylist(), str(path), start)
                    for start, batch in column_batches(self._file, [name])
                ]
                self.ids = np.concatenate(parts)

    def _take(self, pool: Any, columns: Sequence[str] | None, name: str | None) -> None:
        """Take rows that are in memory, or a source."""
        self._frame = None if isinstance(pool, RowSource) else as_frame(pool)
        if self._frame is not None:
            chosen = _features(self._frame.columns, "the data frame", columns, name)
            self.source = as_source(self._frame.select(chosen).to_native())
            if name is not None:
                self.ids = _as_text(self._frame[name].to_list(), "the data frame")
            return
        if name is not None or columns is not None:
            raise ValueError(
                f"ids and columns by name are for files and data frames, got "
                f"{type(pool).__name__}: give the ids themselves, or leave them out"
            )
        self.source = as_source(pool)

    def look(self, rows: Array) -> dict[str, list[Any]]:
        """Return what a person looks at in the rows, by column; their numbers must increase."""
        rows = np.asarray(rows)
        if self._file is not None:
            return look(self._file, rows, self.id_name)
        if self._frame is not None:
            names = [name for name in self._frame.columns if name != self.id_name]
            return {name: self._frame[name][rows.tolist()].to_list() for name in names}
        values = self.source.take(rows)
        if hasattr(values, "tocsr"):  # many columns, and most of them 0
            return {}
        names = self.source.feature_names or [f"x{i}" for i in range(self.source.n_features)]
        return {name: values[:, i].tolist() for i, name in enumerate(names)}

    def fingerprint(self) -> Fingerprint:
        """Return what the pool is recognized by, in one pass over its rows.

        >>> X = np.arange(6.0).reshape(3, 2)
        >>> LabelPool(X).fingerprint() == LabelPool(X[::-1]).fingerprint()
        False
        """
        values = fingerprint_rows(block.X for block in self.source.blocks(BLOCK_ROWS))
        known, starts = self.ids, range(0, self.source.n_rows, BLOCK_ROWS)
        ids = None
        if known is not None:
            ids = fingerprint_texts(known[at : at + BLOCK_ROWS].tolist() for at in starts)
        return Fingerprint(self.source.n_rows, self.source.n_features, values, ids)


def as_frame(pool: Any) -> Any:
    """Return a data frame of whichever library, or None for what is none."""
    try:
        import narwhals as nw
    except ImportError:
        return None
    frame = nw.from_native(pool, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _features(
    names: Sequence[str], label: str, columns: Sequence[str] | None, ids: str | None
) -> list[str]:
    """Return the features: those asked for, or all columns but that of the ids."""
    if ids is not None and ids not in names:
        raise ValueError(f"{label} has no column of ids {ids!r}{closest(ids, names)}")
    if columns is None:
        columns = [name for name in names if name != ids]
    elif ids in columns:
        raise ValueError(f"columns must not list the ids, got {ids!r} as both: leave it out")
    return select_columns(names, label, None, None, columns).features


def _as_text(values: Sequence[Any], label: str, start: int = 0) -> Array:
    """Return ids as text; what is neither a whole number nor text is refused."""
    found = []
    for row, value in enumerate(values, start):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise ValueError(
                f"ids must be whole numbers or text, but row {row} of {label} has "
                f"{'none' if value is None else repr(value)}: name another column, or leave it "
                f"out and rows are known by their numbers"
            )
        found.append(as_id(value))
    return np.asarray(found, dtype=np.dtypes.StringDType())


def _check_ids(ids: Array, n_rows: int, label: str) -> None:
    """Refuse ids that are missing, and those that two rows share."""
    if ids.shape != (n_rows,):
        raise ValueError(f"ids must be one a row: {label} has {n_rows} rows, got {len(ids)} ids")
    empty = np.flatnonzero(ids == "")
    if len(empty):
        raise ValueError(
            f"ids must be there in every row, but row {empty[0]} of {label} has none: fill it in, "
            f"or leave the ids out and rows are known by their numbers"
        )
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(twice):
        one, other = order[twice[0]], order[twice[0] + 1]
        raise ValueError(
            f"ids must be different in every row, but rows {one} and {other} of {label} share "
            f"{str(ids[one])!r}: name another column, or leave it out and rows are known by their "
            f"numbers"
        )

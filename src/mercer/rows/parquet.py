"""Rows of Parquet files, read one row group at a time and only the needed columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.arrow import kind_of, label_dtype, raw_kind, reading, to_piece
from mercer.rows.checks import check_exists, check_file, check_rows
from mercer.rows.chunks import Piece
from mercer.rows.column_selection import (
    Selection,
    check_kinds,
    check_same_columns,
    select_columns,
)
from mercer.rows.file_identity import FileSet, parquet_files
from mercer.rows.file_source import PIECE_BYTES, FileSource
from mercer.rows.table import TIME, Table, as_text
from mercer.storage import pyarrow

BUFFER_BYTES = 2**16
PAGE_BYTES = 2**20  # the usual size of a page: one with values, one with the dictionary of a column

Paths = str | os.PathLike[str]


class ParquetSource(FileSource):
    """Rows of one Parquet file, of several, or of all files in a folder.

    Opening it reads only the footers. Random rows and parts read only the row groups they touch.
    Missing values in features become NaN.

    Parameters
    ----------
    path : str or path, or a list of them
        A file, a folder (its ``.parquet`` files sorted by name), or files in the order given.
    target, weight : str or None
        Names of the columns with the targets and the weights; None means no such column.
    columns : list of str, or None
        Names of the features, in order; None means all the other columns of the first file.
    query : str or None
        Name of the column with the query of each row, numbers or text without missing values.
    raw : bool
        Whether features may be text and dates: blocks are then tables instead of arrays.
    """

    def __init__(
        self,
        path: Paths | Sequence[Paths],
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        query: str | None = None,
        *,
        raw: bool = False,
    ) -> None:
        self.raw = raw
        self.paths, folder = _files(path)
        identity = FileSet.of(self.paths, folder)
        counts: list[int] = []
        self._groups: list[tuple[int, int]] = []
        self._largest = 0
        schemas = []
        for index, file in enumerate(self.paths):
            with reading(file, "Parquet"), _open(file) as parquet:
                schemas.append(parquet.schema_arrow)
                groups = [
                    parquet.metadata.row_group(group) for group in range(parquet.num_row_groups)
                ]
            counts += [group.num_rows for group in groups]
            self._groups += [(index, group) for group in range(len(groups))]
            self._largest = max([self._largest, *(group.total_byte_size for group in groups)])
        self._bounds = np.cumsum([0, *counts], dtype=np.int64)
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        label = f"{self.paths[0]}{more}"
        check_rows(sum(counts), label)  # before columns, which a file without rows may lack
        filled = {index for (index, _), count in zip(self._groups, counts, strict=True) if count}
        used = sorted(filled)  # files without rows are left out
        schemas, paths = [schemas[at] for at in used], [self.paths[at] for at in used]
        if columns is None:
            check_same_columns({str(p): s.names for p, s in zip(paths, schemas, strict=True)})
        self._selection = select_columns(
            schemas[0].names, str(paths[0]), target, weight, columns, query
        )
        self.roles = tuple(self._selection.names(features=False))
        types = _checked_types(self._selection, schemas, paths, raw)
        self._mixed = _mixed_kinds(self._selection, types) if raw else {}
        single = all(
            pyarrow().types.is_float32(type_)
            for name in self._selection.features
            for type_ in types[name]
        )
        self._target_dtype = (
            None if target is None else np.result_type(*map(label_dtype, types[target]))
        )
        self._query_dtype = (
            None if query is None else np.result_type(*map(label_dtype, types[query]))
        )
        super().__init__(
            label,
            files=identity,
            n_rows=int(self._bounds[-1]),
            n_features=len(self._selection.features),
            dtype=np.dtype(np.float32 if single else np.float64),
            has_target=target is not None,
            has_query=query is not None,
            feature_names=self._selection.features,
        )

    @property
    def resident_bytes(self) -> int:
        """Bytes of the decoded pages of the columns, and of the rows copied into a block."""
        pages = len(self._selection.names()) * (2 * PAGE_BYTES + BUFFER_BYTES)
        return min(pages, self._largest) + 2 * PIECE_BYTES

    def _pieces(
        self, start: int, stop: int, rows: int, *, features: bool = True, labels: bool = True
    ) -> Iterator[Piece]:
        names = self._selection.names(features=features, labels=labels)
        batch_rows = max(1, min(PIECE_BYTES // (8 * len(names)), max(rows, 256)))
        first = int(np.searchsorted(self._bounds, start, side="right")) - 1
        last = int(np.searchsorted(self._bounds, stop, side="left"))
        for index, groups in groupby(range(first, last), lambda group: self._groups[group][0]):
            path = self.paths[index]
            with reading(path, "Parquet"), _open(path) as parquet:
                for group in groups:
                    at = int(self._bounds[group])
                    for batch in parquet.iter_batches(
                        batch_rows, [self._groups[group][1]], columns=names, use_threads=False
                    ):
                        low, high = max(start - at, 0), min(stop - at, batch.num_rows)
                        at += batch.num_rows
                        if low < high:
                            piece = to_piece(
                                batch.slice(low, high - low),
                                self._selection,
                                self._dtype,
                                self._target_dtype,
                                self._query_dtype,
                                features=features,
                                labels=labels,
                                raw=self.raw,
                                no_label=self.no_label,
                            )
                            yield self._alike(piece) if features and self.raw else piece
                        if at >= stop:
                            return

    def _alike(self, piece: Piece) -> Piece:
        """Return a piece whose columns are of the same kind in all files."""
        columns = dict(piece.X.columns)
        for name, kind in self._mixed.items():
            if kind == "text":
                columns[name] = as_text(columns[name])
            elif kind == "date" and columns[name].dtype.kind != "M":  # a file of gaps
                columns[name] = np.full(piece.n_rows, np.datetime64("NaT", "us"), dtype=TIME)
        return piece._replace(X=Table(columns, piece.n_rows))

    def _boundaries(self) -> Array:
        return self._bounds


def _open(path: Path) -> Any:
    """Open a file so that its columns are read in small buffers instead of all at once."""
    return pyarrow(".parquet").ParquetFile(
        path, pre_buffer=False, buffer_size=BUFFER_BYTES, page_checksum_verification=True
    )


def _files(path: Paths | Sequence[Paths]) -> tuple[list[Path], Path | None]:
    """Return the list of files, and the folder if they are all of one."""
    if not isinstance(path, (str, os.PathLike)):
        if not path:
            raise ValueError("path must name at least one Parquet file, got an empty list")
        return [check_file(file) for file in path], None
    folder = Path(path).expanduser().absolute()
    check_exists(folder)
    if not folder.is_dir():
        return [check_file(folder)], None
    files = parquet_files(folder)
    if not files:
        others = ", ".join(sorted(entry.name for entry in folder.iterdir())[:5])
        raise ValueError(
            f"{folder} must have .parquet files, got {others or 'an empty folder'}: use the path "
            f"of a file, of the folder that directly contains the files, or, for other files such "
            f"as .csv, fit to a list of their paths"
        )
    return [check_file(file) for file in files], folder


def _checked_types(
    selection: Selection, schemas: list[Any], paths: list[Path], raw: bool
) -> dict[str, list[Any]]:
    """Return the types of every needed column, one per file, all of the same kind."""
    types: dict[str, list[Any]] = {name: [] for name in selection.names()}
    given = zip(paths, schemas, strict=True)
    check_same_columns({str(p): [name for name in s.names if name in types] for p, s in given})
    for schema, path in zip(schemas, paths, strict=True):
        for name in types:
            found, first = kind_of(schema.field(name).type), kind_of(schemas[0].field(name).type)
            if found != first and not (raw and name in selection.features):
                raise ValueError(
                    f"all files must have the same kind of values in a column, but column {name!r} "
                    f"contains {found} in {path} and {first} in {paths[0]}: rewrite one of them"
                )
            types[name].append(schema.field(name).type)
    kinds = {name: kind_of(found[0]) for name, found in types.items()}
    check_kinds(selection, kinds, str(paths[0]), raw)
    return types


def _mixed_kinds(selection: Selection, types: dict[str, list[Any]]) -> dict[str, str]:
    """Return the kind of features whose type differs between files: text, unless they agree."""
    null, found = pyarrow().types.is_null, {}
    for name in selection.features:
        kinds = {raw_kind(type_) for type_ in types[name] if not null(type_)}
        if len(kinds) > 1 or any(map(null, types[name])):
            found[name] = kinds.pop() if len(kinds) == 1 else "text" if kinds else "number"
    return found

"""Rows of a CSV file, streamed: the file is parsed a megabyte at a time and never held whole."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.arrow import kind_of, label_dtype, reading, to_piece
from mercer.rows.checks import check_file
from mercer.rows.chunks import Piece
from mercer.rows.column_selection import check_kinds, select_columns
from mercer.rows.file_source import FileSource
from mercer.storage import pyarrow

BLOCK_BYTES = 2**20
VALUE_BYTES = 64  # what one value may take; a line must fit into a block of the parser
READ_AHEAD = 80  # blocks of memory that pyarrow's reader took at most when measured


class CsvSource(FileSource):
    """Rows of a delimited text file with a first line of column names, ``.gz`` or not.

    Opening it reads it through once, which counts the rows and finds what cannot be read. The
    first block of the file says which columns are text; all numbers are read as float64, so that
    a decimal is fine after a million integers. Missing values become NaN. Any read begins at the
    first row: random rows and parts cost a pass over the file each, and Parquet does better.

    Parameters
    ----------
    path : str or path
        The file.
    target, weight : str or None
        Names of the columns with the targets and the weights; None means that there are none.
    columns : list of str, or None
        Names of the features, in order; None means all the other columns.
    delimiter : str or None
        None means a tab for ``.tsv`` files and else a comma.
    query : str or None
        Name of the column with the query of each row, numbers or text without gaps.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        delimiter: str | None = None,
        query: str | None = None,
    ) -> None:
        self.path = check_file(path)
        tabs = self.path.name.lower().endswith((".tsv", ".tsv.gz"))
        self.delimiter = delimiter or ("\t" if tabs else ",")
        if len(self.delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        self._names: list[str] = []
        self._types: dict[str, Any] = {}
        self._block_bytes = self._fitting_block()
        with reading(self.path, "CSV", self._explain), self._reader() as reader:
            found = dict(zip(reader.schema.names, reader.schema.types, strict=True))
            self._names = reader.schema.names
        self._check_header()
        self._selection = select_columns(
            self._names, str(self.path), target, weight, columns, query
        )
        kinds = {
            # What pyarrow takes for binary is text in an encoding that it does not read.
            name: "text that is not UTF-8" if str(type_) == "binary" else kind_of(type_)
            for name, type_ in found.items()
        }
        self._total = self._validate(found, kinds)
        self._target_dtype = None if target is None else label_dtype(self._types[target])
        self._query_dtype = None if query is None else label_dtype(self._types[query])
        super().__init__(
            str(self.path),
            n_rows=self._total,
            n_features=len(self._selection.features),
            dtype=np.dtype(np.float64),
            has_target=target is not None,
            has_query=query is not None,
            feature_names=self._selection.features,
        )

    @property
    def resident_bytes(self) -> int:
        """Bytes of the blocks that the parser reads ahead and converts, an upper estimate."""
        return READ_AHEAD * self._block_bytes

    def _pieces(
        self, start: int, stop: int, rows: int, *, features: bool = True, labels: bool = True
    ) -> Iterator[Piece]:
        names = self._selection.names(features=features, labels=labels)
        at = 0
        with reading(self.path, "CSV", self._explain), self._reader(names) as reader:
            for batch in reader:
                low, high = max(start - at, 0), min(stop - at, batch.num_rows)
                at += batch.num_rows
                if low < high:
                    yield to_piece(
                        batch.slice(low, high - low),
                        self._selection,
                        self._dtype,
                        self._target_dtype,
                        self._query_dtype,
                        str(self.path),
                        features=features,
                        labels=labels,
                    )
                if at >= stop:
                    return

    def _boundaries(self) -> Array:
        return np.array([0, self._total])

    def _reader(self, names: list[str] | None = None) -> Any:
        """Open the file for parsing with the types known so far."""
        csv = pyarrow(".csv")
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(use_threads=False, block_size=self._block_bytes),
            parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=self._types, include_columns=names),
        )

    def _validate(self, found: dict[str, Any], kinds: dict[str, str]) -> int:
        """Settle the types of the columns, read the file through and return its number of rows."""
        check_kinds(self._selection, kinds, str(self.path))
        pa = pyarrow()
        boolean = {name for name, type_ in found.items() if pa.types.is_boolean(type_)}
        for name in self._selection.names():
            number = kinds[name] == "number" and name not in boolean
            self._types[name] = pa.float64() if number else found[name]
        # Integers may be classes or queries, so they stay integers unless a later row says
        # otherwise.
        labels = (self._selection.target, self._selection.query)
        whole = {name for name in labels if name is not None and pa.types.is_integer(found[name])}
        self._types.update({name: found[name] for name in whole})
        with reading(self.path, "CSV", self._explain):
            while True:
                try:
                    return self._count()
                except pa.ArrowInvalid as error:
                    name = self._column_of(str(error))
                    if name not in whole:
                        raise
                    whole.remove(name)
                    self._types[name] = pa.float64()

    def _count(self) -> int:
        """Return the number of rows after parsing and converting all of them."""
        with self._reader(self._selection.names()) as reader:
            return sum(batch.num_rows for batch in reader)

    def _fitting_block(self) -> int:
        """Return a size of the parser's blocks that is sure to hold a line."""
        with (
            reading(self.path, "CSV"),
            io.BufferedReader(pyarrow().input_stream(str(self.path))) as stream,
        ):
            header = stream.readline()
        return max(BLOCK_BYTES, VALUE_BYTES * (header.count(self.delimiter.encode()) + 1))

    def _check_header(self) -> None:
        """Refuse a first line of decimals, which is a row and not the names of columns."""
        number = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
        if all(number.fullmatch(name) for name in self._names) and not all(
            name.strip().isdigit() for name in self._names
        ):
            raise ValueError(
                f"{self.path} must begin with a line of column names, got the numbers "
                f"{', '.join(self._names[:5])}: add a line of names"
            )

    def _explain(self, message: str) -> str:
        """Return what to do about a message of pyarrow."""
        if "Expected" in message and "columns" in message:
            return "; every line must have as many values as the first: mend that line"
        if "UTF8" in message:
            return "; the text must be UTF-8: save the file in that encoding"
        column = self._column_of(message)
        if column:
            return (
                f"; column {column!r} looked different at the beginning of "
                f"the file: mend that value, encode the column as numbers, or leave it out with "
                f"columns="
            )
        return ""

    def _column_of(self, message: str) -> str:
        """Return the name of the column that a message of pyarrow is about, or nothing."""
        column = re.search(r"In CSV column #(\d+)", message)
        known = column is not None and int(column[1]) < len(self._names)
        return self._names[int(column[1])] if column is not None and known else ""

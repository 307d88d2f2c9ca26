"""Rows of a CSV file, parsed a megabyte at a time and never loaded as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.arrow import kind_of, label_dtype, to_piece
from mercer.rows.checks import check_file
from mercer.rows.chunks import Piece
from mercer.rows.column_selection import check_kinds, select_columns
from mercer.rows.csv_lines import Header, check_header, column_of, parsing, read_header
from mercer.rows.dialect import GAPS, Dialect, binary, open_bytes, sniff
from mercer.rows.file_identity import FileSet
from mercer.rows.file_source import FileSource
from mercer.rows.text_lines import BLOCK_BYTES, VALUE_BYTES, nul_line
from mercer.storage import pyarrow

UNNAMED = "unnamed"  # a column of a table without a name
TEXT_BYTES = 2**22  # bytes of text parsed at a time
READ_AHEAD = 80  # the most blocks that pyarrow's reader was measured to hold


class CsvSource(FileSource):
    """Rows of a delimited text file with a first line of column names, ``.gz`` or not.

    Delimiter, decimal sign, encoding and quotes are sniffed from the first megabyte: see
    ``dialect``, and ``dialect.describe()`` for a sentence. Spaces around column names are removed.
    Opening it reads the whole file once, to count the rows and to find values that cannot be read.
    The first block of the file determines which columns are text; all numbers are read as float64,
    so a decimal may follow a million integers. If ``raw``, blocks are tables: columns of integers
    with leading zeros in the first block are text, and so are columns with text in any later row.
    Missing values become NaN. Every read starts at the first row, so random rows and parts each
    cost a pass over the file; Parquet is faster.

    Parameters
    ----------
    path : str or path
        The file.
    target, weight : str or None
        Names of the columns with the targets and the weights; None means no such column.
    columns : list of str, or None
        Names of the features, in order; None means all the other columns.
    delimiter : str or None
        The character between values; None means that it is sniffed.
    query : str or None
        Name of the column with the query of each row, numbers or text without missing values.
    decimal : {".", ","} or None
        The decimal sign of numbers; None means that it is sniffed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        delimiter: str | None = None,
        query: str | None = None,
        decimal: str | None = None,
        *,
        raw: bool = False,
    ) -> None:
        self.raw = raw
        self.path = check_file(path)
        files = FileSet.of([self.path])
        self.dialect = sniff(self.path, delimiter=delimiter, decimal=decimal)
        self.delimiter = self.dialect.delimiter
        self._header = read_header(self.path, self.dialect)
        check_header(self._header, self.path, unnamed=raw or columns is not None)
        self._names = all_named(self._header) if raw else self._header.names
        self._selection = select_columns(
            self._names, str(self.path), target, weight, columns, query
        )
        self.roles = tuple(self._selection.names(features=False))
        self._types: dict[str, Any] = {}
        self._codes: set[str] = set()
        # A line must fit into a block.
        self._block_bytes = max(BLOCK_BYTES, VALUE_BYTES * len(self._names))
        with self._parsing(), self._reader() as reader:
            found = dict(zip(reader.schema.names, reader.schema.types, strict=True))
        if raw:
            self._codes = self._with_leading_zeros(found)
        kinds = {
            # pyarrow reports text in an unsupported encoding as binary.
            name: "text that is not UTF-8" if str(type_) == "binary" else kind_of(type_)
            for name, type_ in found.items()
        }
        self._total = self._validate(found, kinds)
        self._check_nul()
        self._target_dtype = None if target is None else label_dtype(self._types[target])
        self._query_dtype = None if query is None else label_dtype(self._types[query])
        super().__init__(
            str(self.path),
            files=files,
            n_rows=self._total,
            n_features=len(self._selection.features),
            dtype=np.dtype(np.float64),
            has_target=target is not None,
            has_query=query is not None,
            feature_names=self._selection.features,
        )

    @property
    def names(self) -> list[str]:
        """The names of all columns of the file."""
        return self._names

    def text_batches(self, names: list[str]) -> Iterator[Any]:
        """Yield some columns of all rows as text, in batches of pyarrow."""
        with self.files.unchanged():
            yield from text_batches(self.path, self.dialect, self._header, self._names, names)

    @property
    def resident_bytes(self) -> int:
        """An upper estimate of the bytes that the parser reads ahead and converts."""
        return READ_AHEAD * self._block_bytes

    def _pieces(
        self, start: int, stop: int, rows: int, *, features: bool = True, labels: bool = True
    ) -> Iterator[Piece]:
        names = self._selection.names(features=features, labels=labels)
        at = 0
        with self._parsing(), self._reader(names) as reader:
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
                        features=features,
                        labels=labels,
                        raw=self.raw,
                        no_label=self.no_label,
                    )
                if at >= stop:
                    return

    def _boundaries(self) -> Array:
        return np.array([0, self._total])

    def _reader(self, names: list[str] | None = None) -> Any:
        """Open the file for parsing, with the types known so far."""
        return open_csv(
            self.path,
            self.dialect,
            self._header,
            self._names,
            types=self._types,
            include=names,
            block_bytes=self._block_bytes,
        )

    def _parsing(self) -> AbstractContextManager[None]:
        """Explain errors of the parser, with the line of the file."""
        return parsing(self.path, self.dialect, self._header)

    def _with_leading_zeros(self, found: dict[str, Any]) -> set[str]:
        """Return which features of integers have leading zeros in the first block: codes do."""
        pa, compute = pyarrow(), pyarrow(".compute")
        names = [name for name in self._selection.features if pa.types.is_integer(found[name])]
        if not names:
            return set()
        self._types = dict.fromkeys(names, pa.string())
        with self._parsing(), self._reader(names) as reader:
            batch = reader.read_next_batch()
        self._types = {}
        zeros = {name: compute.match_substring_regex(batch[name], "^-?0[0-9]") for name in names}
        return {name for name, found in zeros.items() if compute.any(found).as_py()}

    def _validate(self, found: dict[str, Any], kinds: dict[str, str]) -> int:
        """Determine the column types, read the whole file and return its number of rows."""
        check_kinds(self._selection, kinds, str(self.path), self.raw)
        pa = pyarrow()
        boolean = {name for name, type_ in found.items() if pa.types.is_boolean(type_)}
        for name in self._selection.names():
            number = kinds[name] == "number" and name not in boolean
            self._types[name] = pa.float64() if number else found[name]
        # Integers may be classes or queries, so they stay integers unless a later row is not.
        labels = (self._selection.target, self._selection.query)
        whole = {name for name in labels if name is not None and pa.types.is_integer(found[name])}
        self._types.update({name: found[name] for name in whole})
        if self.raw:  # what later rows contain may not fit the first block
            empty = {name for name in found if pa.types.is_null(found[name])}
            self._types.update(dict.fromkeys(empty | self._codes, pa.string()))
            loose = {*self._selection.features, self._selection.target}
        with self._parsing():
            while True:
                try:
                    return self._count()
                except pa.ArrowInvalid as error:
                    name = column_of(str(error), self._names) or ""
                    if name in whole:
                        whole.remove(name)
                        self._types[name] = pa.float64()
                    elif self.raw and name in loose and self._types[name] != pa.string():
                        self._types[name] = pa.string()
                    else:
                        raise

    def _check_nul(self) -> None:
        """Raise ValueError for NUL bytes in columns of text; numbers cannot contain them."""
        text = any(kind_of(type_) == "text" for type_ in self._types.values())
        if text and self.dialect.encoding != "utf-16":
            with open_bytes(self.path) as stream:
                line = nul_line(stream)
            if line is not None:
                raise ValueError(binary(self.path, line))

    def _count(self) -> int:
        """Return the number of rows after parsing and converting all of them."""
        with self._reader(self._selection.names()) as reader:
            return sum(batch.num_rows for batch in reader)


def all_named(header: Header) -> list[str]:
    """Return the column names, with one for a column without, such as the index of a data frame."""
    return header.names if UNNAMED in header.names else [name or UNNAMED for name in header.names]


def text_batches(
    path: Path, dialect: Dialect, header: Header, names: list[str], include: list[str]
) -> Iterator[Any]:
    """Yield the columns in ``include`` as text, in batches of pyarrow."""
    text = dict.fromkeys(include, pyarrow().string())
    with (
        parsing(path, dialect, header),
        open_csv(
            path, dialect, header, names, types=text, include=include, block_bytes=TEXT_BYTES
        ) as reader,
    ):
        yield from reader


def open_csv(
    path: Path,
    dialect: Dialect,
    header: Header,
    names: list[str],
    *,
    types: dict[str, Any],
    include: list[str] | None,
    block_bytes: int,
) -> Any:
    """Open a file for parsing by pyarrow: columns by ``names``, of the ``types`` that are known."""
    csv = pyarrow(".csv")
    # pyarrow removes a byte order mark itself, and converts other encodings in Python.
    utf8 = dialect.encoding in ("utf-8", "utf-8-sig")
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(
            use_threads=False,
            block_size=block_bytes,
            column_names=names,
            skip_rows_after_names=header.skip,
            encoding="utf8" if utf8 else dialect.encoding,
        ),
        parse_options=csv.ParseOptions(
            delimiter=dialect.delimiter, quote_char=dialect.quote, newlines_in_values=True
        ),
        convert_options=csv.ConvertOptions(
            column_types=types,
            include_columns=include,
            null_values=sorted(GAPS.union(csv.ConvertOptions().null_values)),
            decimal_point=dialect.decimal,
        ),
    )

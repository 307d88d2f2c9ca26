"""Columns of CSV and Parquet files that are not features: ids, and columns to show."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.labelling.spreadsheet_values import as_shown
from mercer.rows import CsvSource, ParquetSource
from mercer.rows.arrow import kind_of, reading
from mercer.rows.checks import check_file
from mercer.storage import pyarrow

#: Rows of a Parquet file read at a time.
BATCH_ROWS = 8192
#: Bytes of text parsed at a time; a row must fit.
TEXT_BYTES = 2**22

TableSource = CsvSource | ParquetSource


def column_names(path: Path) -> list[str]:
    """Return the columns of a file, or of the first file in a folder."""
    if path.is_dir():
        path = next(iter(sorted(path.glob("*.parquet"))), path)
    if path.suffix.lower() == ".parquet":
        with reading(path, "Parquet"):
            return list(pyarrow(".parquet").read_schema(check_file(path)).names)
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz"))
    return header(check_file(path), "\t" if tabs else ",")


def header(path: Path, delimiter: str) -> list[str]:
    """Return the first line of a CSV file."""
    with (
        reading(path, "CSV", explain),
        io.BufferedReader(pyarrow().input_stream(str(path))) as stream,
        io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="") as text,
    ):
        return next(csv.reader(text, delimiter=delimiter), [])


def explain(message: str) -> str:
    """Return a hint for an error message of pyarrow."""
    if "UTF8" in message:
        return "; the text must be UTF-8: save the file in that encoding"
    if "Expected" in message and "columns" in message:
        return "; every line must have as many values as the first: fix that line"
    return ""


def text_batches(path: Path, delimiter: str, names: list[str]) -> Iterator[Any]:
    """Yield columns of a CSV file as text, in batches."""
    parser, text = pyarrow(".csv"), pyarrow().string()
    with (
        reading(path, "CSV", explain),
        parser.open_csv(
            path,
            read_options=parser.ReadOptions(use_threads=False, block_size=TEXT_BYTES),
            parse_options=parser.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=parser.ConvertOptions(
                column_types=dict.fromkeys(names, text), include_columns=names
            ),
        ) as reader,
    ):
        yield from reader


def column_batches(source: TableSource, names: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield columns of all rows in batches, with the number of the first row of each."""
    start = 0
    for batch in _batches(source, names):
        yield start, batch
        start += batch.num_rows


def _batches(source: TableSource, names: list[str]) -> Iterator[Any]:
    if isinstance(source, CsvSource):
        yield from text_batches(source.path, source.delimiter, names)
        return
    for path in source.paths:
        with reading(path, "Parquet"), pyarrow(".parquet").ParquetFile(path) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=names)


def look(source: TableSource, rows: Array, without: str) -> dict[str, list[Any]]:
    """Return some rows of a file, by column, without columns that a person cannot read.

    ``rows`` must be in increasing order.
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
        for name in source.feature_names or []:
            found[name] = [as_shown(value) for value in found[name]]
    return found


def _legible(source: TableSource) -> list[str]:
    """Return the columns of numbers, text and dates that exist in all files."""
    if isinstance(source, CsvSource):
        return header(source.path, source.delimiter)
    schemas = [pyarrow(".parquet").read_schema(path) for path in source.paths]
    types = pyarrow().types
    return [
        field.name
        for field in schemas[0]
        if all(field.name in schema.names for schema in schemas)
        and (kind_of(field.type) in ("number", "text") or types.is_temporal(field.type))
    ]

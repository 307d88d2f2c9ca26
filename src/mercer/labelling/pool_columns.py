"""Columns of CSV and Parquet files that are not features: ids, and columns to show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.labelling.spreadsheet_values import as_shown
from mercer.rows import CsvSource, ParquetSource
from mercer.rows.arrow import kind_of, reading
from mercer.rows.checks import check_file
from mercer.rows.csv import all_named, text_batches
from mercer.rows.csv_lines import read_header
from mercer.rows.dialect import Dialect, sniff
from mercer.storage import pyarrow

#: Rows of a Parquet file read at a time.
BATCH_ROWS = 8192

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


def read_text(path: Path) -> tuple[dict[str, list[str]], Dialect]:
    """Return the columns of a CSV file as text, and how it is written."""
    dialect = sniff(path)
    header = read_header(path, dialect)
    names = header.names
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{path} must have distinct column names, got {repeated[0]!r} twice")
    table: dict[str, list[str]] = {name: [] for name in names}
    for batch in text_batches(path, dialect, header, names, names):
        for name in names:
            table[name] += batch.column(name).to_pylist()
    return table, dialect


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
            yield from file.iter_batches(BATCH_ROWS, columns=names)


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

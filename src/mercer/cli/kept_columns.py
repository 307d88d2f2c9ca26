"""Columns of a file that are written next to predictions, as they are in the file."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

from mercer.cli.options import DialectOptions
from mercer.cli.reading import column_names
from mercer.rows import CsvSource, ParquetSource
from mercer.rows.csv import UNNAMED
from mercer.rows.csv_lines import read_header, records
from mercer.rows.dialect import GAPS, Dialect
from mercer.storage import pyarrow
from mercer.validation import closest

WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")


def kept_names(path: Path, options: DialectOptions, ids: str | None, append: bool) -> list[str]:
    """Return the columns to keep: that of ``--id`` first, all with ``--append``."""
    names = column_names(path, options)
    if ids is not None and ids not in names:
        raise ValueError(f"{path} has no column {ids!r} for --id{closest(ids, names)}")
    first = [] if ids is None else [ids]
    return first + [name for name in names if append and name != ids]


def kept_columns(source: Any, names: list[str], as_text: bool) -> dict[str, list[Any]]:
    """Return columns of a file by name, row by row; ``as_text`` keeps CSV exactly as it is."""
    if isinstance(source, CsvSource):
        found = _text_columns(source.path, source.dialect, names)
        return found if as_text else {name: typed(v, source.dialect) for name, v in found.items()}
    assert isinstance(source, ParquetSource)
    tables = [pyarrow(".parquet").read_table(path, columns=names) for path in source.paths]
    table = pyarrow().concat_tables(tables, promote_options="permissive")
    return {name: table.column(name).to_pylist() for name in names}


def _text_columns(path: Path, dialect: Dialect, names: list[str]) -> dict[str, list[str]]:
    header = read_header(path, dialect)
    named = [name or UNNAMED for name in header.names]
    places = [named.index(name) for name in names]
    found: list[list[str]] = [[] for _ in names]
    with closing(records(path, dialect)) as lines:
        for line, values in lines:
            if values and line > header.line:
                for column, place in zip(found, places, strict=True):
                    column.append(values[place])
    return dict(zip(names, found, strict=True))


def typed(values: list[str], dialect: Dialect) -> list[Any]:
    """Return a column of text as numbers if all of it is, for files that have types.

    Numbers with leading zeros are codes, and stay text.

    >>> typed(["7", "", "12"], Dialect(",")), typed(["007", "012"], Dialect(","))
    ([7, None, 12], ['007', '012'])
    """
    plain = [None if value.strip() in GAPS else value for value in values]
    if dialect.decimal == ",":
        numbers = [value if value is None else value.replace(",", ".") for value in plain]
    else:
        numbers = plain
    for form, kind in ((WHOLE, int), (DECIMAL, float)):
        if all(value is None or form.fullmatch(value.strip()) for value in numbers):
            return [value if value is None else kind(value) for value in numbers]
    return plain

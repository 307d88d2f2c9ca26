"""Write tables: named columns of equal length, as CSV, Parquet or a NumPy record array.

Text that a spreadsheet would run as a formula is written so that it stays text. A cell that begins
with ``=``, ``+``, ``-``, ``@``, a tab or a line break may be a formula, which can open other
programs or send away what is in the sheet. An apostrophe in front makes it text. The apostrophe is
removed exactly: ``unescaped(escaped(text)) == text`` for every text. Numbers stay as they are. See
the page "CSV Injection" of the OWASP Foundation.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from mercer.contracts import Array
from mercer.storage.files import atomic_path

#: The name of this way to write text, in records.
ESCAPE = "apostrophe"
#: Characters that begin a formula; spreadsheets take the wide forms of Japanese text as well.
FORMULA = "=+-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
FORMULA += "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
#: Numbers in any style, with a sign: they calculate nothing.
SIGNED_NUMBER = re.compile(
    r"[-+]\s?[$€£¥]?(\d[\d.,'\s\u00a0\u202f]*|[.,]\d+)([eE][-+]?\d+)?\s?[%$€£¥]?"
)


def escaped(text: str) -> str:
    """Return text with an apostrophe in front if it could be a formula.

    >>> escaped("=1+1"), escaped("-3.5"), escaped("red"), escaped("'=1")
    ("'=1+1", '-3.5', 'red', "''=1")
    """
    return "'" + text if _is_formula(text) else text


def unescaped(text: str) -> str:
    """Return the text that :func:`escaped` was given.

    >>> unescaped("'=1+1"), unescaped("'quoted'"), unescaped("''=1")
    ('=1+1', "'quoted'", "'=1")
    """
    return text[1:] if text[:1] == "'" and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    # Apostrophes that are there already are a part of the text, and get one more.
    body = text.lstrip("'")
    return body[:1] != "" and body[0] in FORMULA and not SIGNED_NUMBER.fullmatch(body)


def escaped_table(table: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return columns with their names and texts escaped, and how many cells were changed.

    >>> escaped_table({"id": ["a", "@b"], "-x": [-1, 2]})
    ({'id': ['a', "'@b"], "'-x": [-1, 2]}, 2)
    """
    found: dict[str, Any] = {}
    changed = 0
    for name, values in table.items():
        written = _escaped_column(values)
        if written is not values:
            changed += sum(a != b for a, b in zip(values, written, strict=True))
        changed += escaped(name) != name
        found[escaped(name)] = written
    return found, changed


def _escaped_column(values: Sequence[Any]) -> Sequence[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
        return values
    plain = _plain(values)
    written = [escaped(value) if isinstance(value, str) else value for value in plain]
    return written if written != plain else values


#: Columns by name: arrays, or lists of numbers, text, dates and None.
Table: TypeAlias = Mapping[str, Sequence[Any] | Array]


def pyarrow(module: str = "") -> Any:
    """Return pyarrow or one of its modules, imported only when needed."""
    try:
        return import_module("pyarrow" + module)
    except ImportError as error:
        raise ImportError(
            "reading CSV files, and reading or writing Parquet files, needs pyarrow, which is not "
            "installed: try pip install 'mercer[files]' (pip install mercer[files] in most shells)"
        ) from error


def write_table(table: Table, path: Path) -> None:
    """Write columns to a file, in the format of its extension, atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "table.csv"
    ...     write_table({"row": np.arange(2), "label": ["a", None]}, file)
    ...     file.read_text()
    'row,label\\n0,a\\n1,\\n'
    """
    with atomic_path(path) as partial:
        TABLE_WRITERS[path.suffix.lower()](table, partial)


def write_csv(table: Table, stream: IO[str]) -> None:
    """Write columns as CSV; numbers are read back exactly."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*map(_plain, table.values()), strict=True))


def _plain(values: Sequence[Any] | Array) -> list[Any]:
    # Lists contain Python numbers, whose text is read back exactly.
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _csv(table: Table, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        write_csv(table, stream)


def _parquet(table: Table, path: Path) -> None:
    columns = {name: _arrow_column(values) for name, values in table.items()}
    pyarrow(".parquet").write_table(pyarrow().table(columns), path)


def _arrow_column(values: Sequence[Any] | Array) -> Any:
    """Return a column for Parquet: text if it is mixed, or has no values yet."""
    arrow = pyarrow()
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
        return arrow.array(values)
    plain = _plain(values)
    is_text = {isinstance(value, str) for value in plain if value is not None}
    if len(is_text) > 1:
        plain = [value if value is None else str(value) for value in plain]
    # Many tools cannot fill in a column of the type null.
    return arrow.array(plain) if is_text else arrow.array(plain, type=arrow.string())


def _npy(table: Table, path: Path) -> None:
    columns = {name: np.asarray(values) for name, values in table.items()}
    plain = {
        name: values.astype(str) if values.dtype.kind == "O" else values
        for name, values in columns.items()
    }
    # Raises if columns have different lengths; an assignment would broadcast.
    dtype = [(name, values.dtype) for name, values in plain.items()]
    records = np.rec.fromarrays(list(plain.values()), dtype=dtype)
    with path.open("wb") as stream:
        np.save(stream, records, allow_pickle=False)


#: The function that writes a table, by file extension.
TABLE_WRITERS: dict[str, Callable[[Table, Path], None]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".npy": _npy,
}

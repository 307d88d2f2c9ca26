"""Write tables (named columns of equal length) as CSV, Parquet or a NumPy record array."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from mercer.contracts import Array
from mercer.storage.atomic import atomic_path

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

"""Output files: never on top of the input, and whole or not at all."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer.contracts import Array
from mercer.sources.arrow import pyarrow
from mercer.storage import atomic_path
from mercer.validation import closest


def check_output(out: Path, inputs: Iterable[Path], suffixes: Iterable[str] = ()) -> Path:
    """Return the path of an output file, refused where it would destroy an input."""
    out = out.expanduser()
    for path in inputs:
        source = path.expanduser().resolve()
        if out.resolve() == source or (source.is_dir() and source in out.resolve().parents):
            raise ValueError(f"--out {out} would overwrite or join the input {path}: name another")
    if suffixes and out.suffix.lower() not in suffixes:
        raise ValueError(
            f"the extension of --out must be that of a known kind of file, got {out.suffix!r}"
            f"{closest(out.suffix, suffixes)}"
        )
    return out


def write_table(table: dict[str, Array], out: Path | None) -> None:
    """Write columns of one length to a file by its extension, or as CSV to stdout."""
    if out is None:
        _write_csv(table, sys.stdout)
        return
    with atomic_path(out) as partial:
        WRITERS[out.suffix.lower()](table, partial)


def _write_csv(table: dict[str, Array], stream: IO[str]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table)
    # Lists hold Python's own numbers, whose text reads back as the same number.
    writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))


def _csv(table: dict[str, Array], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        _write_csv(table, stream)


def _parquet(table: dict[str, Array], path: Path) -> None:
    arrow: Any = pyarrow()
    values = {
        name: arrow.array(column.tolist() if column.dtype.kind in "OU" else column)
        for name, column in table.items()
    }
    pyarrow(".parquet").write_table(arrow.table(values), path)


def _npy(table: dict[str, Array], path: Path) -> None:
    plain = {
        name: column.astype(str) if column.dtype.kind == "O" else column
        for name, column in table.items()
    }
    records = np.empty(
        len(plain["row"]), dtype=[(name, column.dtype) for name, column in plain.items()]
    )
    for name, column in plain.items():
        records[name] = column
    with path.open("wb") as stream:
        np.save(stream, records, allow_pickle=False)


WRITERS = {".csv": _csv, ".parquet": _parquet, ".npy": _npy}

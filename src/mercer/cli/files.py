"""Output files: never on top of the input, and whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from mercer.contracts import Array
from mercer.storage import write_csv, write_table
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


def write_output(table: dict[str, Array], out: Path | None) -> None:
    """Write columns of one length to a file by its extension, or as CSV to stdout."""
    if out is None:
        write_csv(table, sys.stdout)
    else:
        write_table(table, out)

"""Output files: never over an input, and complete or not written at all."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from mercer.contracts import Array
from mercer.storage import write_csv, write_table
from mercer.validation import closest


def check_output(
    out: Path, inputs: Iterable[Path], suffixes: Iterable[str] = (), option: str = "--out"
) -> Path:
    """Return the path of an output file; refuse one that would overwrite an input."""
    out = out.expanduser()
    for path in inputs:
        source = path.expanduser().resolve()
        if out.resolve() == source or (source.is_dir() and source in out.resolve().parents):
            raise ValueError(
                f"{option} {out} would overwrite or join the input {path}: name another"
            )
    if suffixes and out.suffix.lower() not in suffixes:
        raise ValueError(
            f"the extension of {option} must be that of a known kind of file, got {out.suffix!r}"
            f"{closest(out.suffix, suffixes)}"
        )
    return out


def write_output(table: dict[str, Array], out: Path | None) -> None:
    """Write columns of one length to a file by its extension, or as CSV to stdout."""
    if out is None:
        write_csv(table, sys.stdout)
    else:
        write_table(table, out)

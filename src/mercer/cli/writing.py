"""Output files: never over an input, and complete or not written at all."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli.output import note, visible
from mercer.cli.reading import STDIN
from mercer.models.loading import SUFFIX, ModelFileError, with_suffix, written_by
from mercer.rows.opening import DELIMITED
from mercer.storage import atomic_path, check_regular, escaped_table, write_csv, write_table
from mercer.validation import closest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Extensions of picture files.
PICTURES = (".png", ".svg", ".pdf")


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
    if not out.parent.is_dir():
        raise ValueError(f"the folder of {option} {out} does not exist: create it first")
    if out.is_dir():
        raise ValueError(f"{option} {out} must be a file, got a folder: name a file in it")
    check_regular(out)
    return out


def check_model_output(
    out: Path | None, data: Path, inputs: Iterable[Path], force: bool = False
) -> Path:
    """Return the path of a model file, by default that of the data.

    Only models are replaced, or any file with ``force``, but never an input.
    """
    out = check_output(default_model(data) if out is None else with_suffix(out), inputs)
    if out.exists() and not force:
        try:
            written_by(out)
        except ModelFileError as error:
            raise ValueError(
                f"{out} exists and is not a model file: name another file with --out, or replace "
                f"it with --force"
            ) from error
    return out


def default_model(data: Path) -> Path:
    """Return the model file of a file of rows, in the current folder.

    >>> default_model(Path("data/houses.csv.gz")).name, default_model(Path("-")).name
    ('houses.mercer', 'model.mercer')
    """
    if data == STDIN:
        return Path(f"model{SUFFIX}")
    return Path(without_ending(data.expanduser().resolve().name) + SUFFIX)


def without_ending(name: str) -> str:
    """Return the name of a file of rows without its ending.

    >>> without_ending("houses.csv.gz"), without_ending("pool.npz")
    ('houses', 'pool')
    """
    ending = next((e for e in DELIMITED if name.lower().endswith(e)), Path(name).suffix)
    return name[: len(name) - len(ending)]


def write_output(table: dict[str, Any], out: Path | None, raw_text: bool = False) -> None:
    """Write columns of one length to a file by its extension, or as CSV to stdout.

    In CSV, text that a spreadsheet would run as a formula has an apostrophe in front, unless it is
    to be ``raw_text``.
    """
    if not raw_text and (out is None or out.suffix.lower() == ".csv"):
        table, changed = escaped_table(table)
        if changed:
            note(
                f"{changed:,} cells have an apostrophe in front, so that a spreadsheet does not "
                f"run them as formulas; leave them as they are with --raw-text"
            )
    if out is not None:
        write_table(table, out)
    elif sys.stdout.isatty():
        text = io.StringIO()
        write_csv(table, text)
        sys.stdout.write(visible(text.getvalue()))
    else:
        write_csv(table, sys.stdout)


def save_figure(figure: Figure, out: Path) -> None:
    """Write a figure by the extension of its file, whole or not at all."""
    with atomic_path(out) as partial:
        figure.savefig(partial, format=out.suffix[1:].lower(), dpi=140)

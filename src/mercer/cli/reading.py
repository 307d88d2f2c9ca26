"""Rows of a file with their targets, as all commands read them.

Columns that are written next to predictions are read as they are in the file. Errors say where in
the file a value is infinite, also if only some of its rows were used.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import typer

from mercer.cli.options import DialectOptions, TableOptions, split_names
from mercer.cli.output import note
from mercer.contracts import RowSource
from mercer.rows import CsvSource, ParquetSource, names_columns, open_rows
from mercer.rows.checks import check_exists
from mercer.rows.csv import UNNAMED
from mercer.rows.csv_lines import read_header, records
from mercer.rows.dialect import GAPS, Dialect, sniff
from mercer.rows.labels import missing
from mercer.rows.opening import DELIMITED
from mercer.rows.steps import KeptSource
from mercer.rows.table import Table
from mercer.storage import pyarrow
from mercer.targets.number_targets import ROWS
from mercer.validation import check_number, closest

#: The name of standard input as a file.
STDIN = Path("-")
#: Rows that are read at a time.
SCANNED = 32_768


@dataclass(frozen=True)
class Reading:
    """Which columns of a file are read, and as what.

    Attributes
    ----------
    task, targets : str
        What needs targets, and what they are called there; for messages.
    target, weight, query : str or None
        The columns of targets, weights and queries.
    table : TableOptions
        Which of the other columns are features, and how delimited text is written.
    """

    task: str
    targets: str
    target: str | None
    weight: str | None = None
    table: TableOptions = field(default_factory=TableOptions)
    query: str | None = None

    def open(self, path: Path) -> RowSource:
        """Open rows with their targets; an .npz archive may leave them unnamed, as ``y``."""
        if self.target is None and names_columns(path):
            raise ValueError(
                f"{self.task} needs {self.targets}: name the column of {path} with --target"
            )
        return self._open(path, self.features(path))

    def open_test(self, path: Path, rows: RowSource) -> RowSource:
        """Open a test file with the columns that a model is fitted to; weights are not used."""
        features = rows.feature_names if names_columns(path) else None
        return replace(self, weight=None)._open(path, features, rows.n_features)

    def _open(
        self, path: Path, features: list[str] | None, n_features: int | None = None
    ) -> RowSource:
        roles = (self.target, self.weight, features, self.query, n_features)
        source = open_table(path, self.table, *roles)
        if not source.has_target:
            raise ValueError(
                f"{path} has no array 'y' of {self.targets}: name another one with --target"
            )
        return source

    def features(self, path: Path) -> list[str] | None:
        """Return the columns of features that the options select; None for all others."""
        options = self.table
        chosen, excluded = split_names(options.columns), split_names(options.exclude) or []
        if not names_columns(path):
            for option, value in (
                ("--exclude", options.exclude), ("--id", options.ids), ("--types", options.types)
            ):  # fmt: skip
                if value is not None:
                    raise ValueError(f"{option} must be left out for {path}: it names no columns")
            return None
        if not (excluded or options.ids):
            return chosen
        names = column_names(path, options)
        given = [("--exclude", name) for name in excluded]
        for option, name in [*given, ("--id", options.ids)]:
            if name is None:
                continue
            if name not in names:
                raise ValueError(
                    f"{path} has no column {name!r} for {option}{closest(name, names)}"
                )
            if name == self.target or name in (chosen or []):
                other = "--target" if name == self.target else "--columns"
                raise ValueError(f"{option} and {other} must not both name {name!r}: choose one")
        roles = {*excluded, options.ids, self.target, self.weight, self.query}
        return chosen or [name for name in names if name not in roles]


def column_names(path: Path, options: DialectOptions) -> list[str]:
    """Return the names of the columns of a table, without reading its rows."""
    file = path.expanduser()
    check_exists(file.absolute())
    if file.is_file() and file.name.lower().endswith(DELIMITED):
        header = read_header(file, sniff(file, **options.dialect()))
        return [name or UNNAMED for name in header.names]
    return list(ParquetSource(file, raw=True).feature_names or [])


def open_table(path: Path, options: DialectOptions, *roles: Any) -> RowSource:
    """Open a file with columns of any kind, and say how it is written if that is not plain."""
    source = open_rows(path, *roles, **options.dialect(), raw=True)
    if isinstance(source, CsvSource) and not is_plain(source.dialect, path):
        note(f"{path}: {source.dialect.describe()}")
    return source


def is_plain(dialect: Dialect, path: Path) -> bool:
    """Return whether a file is written as its extension says.

    >>> is_plain(Dialect(","), Path("a.csv")), is_plain(Dialect(";"), Path("a.csv"))
    (True, False)
    """
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz"))
    return dialect == Dialect("\t" if tabs else ",")


def on_disk(data: Path, context: typer.Context) -> Path:
    """Return the path of a file; standard input, as ``-``, is first copied to a temporary one.

    ``context`` is that of the command, with which the copy is deleted.
    """
    if data != STDIN:
        return data
    folder = context.with_resource(tempfile.TemporaryDirectory(prefix="mercer-"))
    copy = Path(folder) / "standard-input.csv"
    with copy.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return copy


WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")


def kept_names(path: Path, options: DialectOptions, ids: str | None, append: bool) -> list[str]:
    """Return the columns to keep: that of ``--id`` first, all with ``--append``."""
    if ids is None and not append:
        return []
    if not names_columns(path):
        option = "--append" if append else "--id"
        raise ValueError(f"{option} must be left out for {path}: it names no columns")
    names = column_names(path, options)
    if ids is not None and ids not in names:
        raise ValueError(f"{path} has no column {ids!r} for --id{closest(ids, names)}")
    first = [] if ids is None else [ids]
    return first + [name for name in names if append and name != ids]


def kept_columns(source: RowSource, names: list[str], as_text: bool) -> dict[str, list[Any]]:
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
    numbers = [value if value is None else value.replace(dialect.decimal, ".") for value in plain]
    for form, kind in ((WHOLE, int), (DECIMAL, float)):
        if all(value is None or form.fullmatch(value.strip()) for value in numbers):
            return [value if value is None else kind(value) for value in numbers]
    return plain


def hold_out(source: RowSource, share: float, seed: int) -> tuple[RowSource, RowSource]:
    """Return the rows to train on, and a random fraction of the rows with a target to test on."""
    labelled = np.flatnonzero(np.concatenate([~missing(y) for y in source.targets(ROWS)]))
    number = round(check_number(share, "--holdout", above=0.0) * len(labelled))
    if not 0 < number < len(labelled):
        raise ValueError(
            f"--holdout must leave rows to train on and rows to test on: {share:g} of "
            f"{len(labelled)} rows is {number}; try 0.2"
        )
    mask = np.zeros(source.n_rows, dtype=bool)
    mask[labelled[np.random.default_rng(seed).choice(len(labelled), number, replace=False)]] = True
    return KeptSource(source, np.flatnonzero(~mask)), KeptSource(source, np.flatnonzero(mask))


@contextmanager
def finding_infinity(*sources: RowSource | None) -> Iterator[None]:
    """Give errors about infinite values the line of the file, or its row."""
    try:
        yield
    except ValueError as error:
        if "infinity" not in str(error):
            raise
        for source in sources:
            place = None if source is None else first_infinity(source)
            if place is not None:
                raise ValueError(
                    f"values must be finite, but {place} is infinite: replace it, or leave the "
                    f"value empty"
                ) from error
        raise


def first_infinity(source: RowSource) -> str | None:
    """Return the place of the first infinite value of a feature or target, in words."""
    if isinstance(source, KeptSource):
        source = source.source
    for block in source.blocks(SCANNED):
        columns = dict(block.X.columns) if isinstance(block.X, Table) else {}
        if block.y is not None and block.y.ndim == 1:
            columns["the target"] = block.y
        for name, column in columns.items():
            if isinstance(column, np.ndarray) and column.dtype.kind == "f":
                found = np.flatnonzero(np.isinf(column))
                if len(found):
                    shown = name if name == "the target" else f"column {name!r}"
                    return f"{shown} {_place(source, block.start + int(found[0]))}"
    return None


def _place(source: RowSource, row: int) -> str:
    """Return a row of a source as a line of its file, if it is a text file."""
    if not isinstance(source, CsvSource):
        return f"at row {row} of {getattr(source, 'label', 'the file')}"
    header = read_header(source.path, source.dialect)
    with closing(records(source.path, source.dialect)) as lines:
        after = (line for line, values in lines if values and line > header.line)
        line = next(islice(after, row, None))
    return f"at line {line} of {source.path.name}"

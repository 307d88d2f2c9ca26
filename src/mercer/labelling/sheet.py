"""A label sheet, its record, and their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mercer.labelling.label_pool import DRAWS, LABEL, WEIGHT, Fingerprint, LabelPool
from mercer.labelling.label_values import as_id, as_label, some
from mercer.storage import ESCAPE, TABLE_WRITERS, escaped_table, write_json, write_together
from mercer.validation import closest
from mercer.version import VERSION

#: The format name of a record, and its version.
FORMAT, FORMAT_VERSION = "mercer sheet", 1
SUFFIXES = (".csv", ".parquet")

Writers = dict[Path, Callable[[Path], None]]


@dataclass(frozen=True)
class Draws:
    """The record of a sheet: what was drawn, and from which pool.

    Attributes
    ----------
    pool : Fingerprint
        The fingerprint of the pool.
    columns : list of str, or None
        The features, if they have names.
    id_name : str
        The name of the id column.
    ids : list of str
        The drawn rows, in the order of the pool.
    rows, counts, weights : list
        The row numbers, how often each row was drawn, and its weight.
    rounds : list of int
        The number of draws in each round.
    seed : int or None
        The seed of the labeller, or None.
    settings : dict
        The settings of the draws.
    """

    pool: Fingerprint
    columns: list[str] | None
    id_name: str
    ids: list[str]
    rows: list[int]
    counts: list[int]
    weights: list[float]
    rounds: list[int]
    seed: int | None
    settings: dict[str, Any]

    def check_pool(self, pool: LabelPool) -> None:
        """Raise ValueError if the pool is not the one of the draws."""
        found, known = pool.fingerprint(), self.pool
        if found.rows != known.rows:
            what = f"{found.rows} rows instead of {known.rows}"
        elif found.features != known.features:
            what = f"{found.features} features instead of {known.features}"
        elif found.values != known.values:
            what = "other values, or the same in another order"
        elif found.ids != known.ids:
            what = "other ids, or the same in another order"
        else:
            return
        raise ValueError(
            f"the pool must be the one that the sheet was drawn from, but it has changed: it has "
            f"{what}; use the original rows, or draw again"
        )


@dataclass(frozen=True)
class Sheet:
    """Rows to label, with the known labels.

    Attributes
    ----------
    drawn : Draws
        The record of the draws.
    labels : list
        The label of each row, as written; None if there is none.
    shown : dict
        The columns shown to the person who labels.
    """

    drawn: Draws
    labels: list[Any]
    shown: dict[str, list[Any]]

    @property
    def unlabelled(self) -> list[str]:
        """Ids of the rows without a label."""
        pairs = zip(self.drawn.ids, self.labels, strict=True)
        return [id_ for id_, label in pairs if label is None]

    def with_labels(self, labels: Mapping[Any, Any]) -> Sheet:
        """Return the sheet with labels filled in, by id; other labels are kept."""
        given = {as_id(id_): as_label(label) for id_, label in labels.items()}
        refuse_unknown(given, self.drawn.ids, "labels")
        pairs = zip(self.drawn.ids, self.labels, strict=True)
        return replace(self, labels=[given.get(id_, label) for id_, label in pairs])

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the sheet to a ``.csv`` or ``.parquet`` file, and its record next to it."""
        write_together(self.writers(*sheet_files(path, overwrite=overwrite)))

    def writers(self, file: Path, record: Path) -> Writers:
        """Return the functions that write the files of the sheet.

        In CSV, text that a spreadsheet would run as a formula is escaped; the record says so.
        """
        is_escaped = file.suffix.lower() == ".csv"
        write = TABLE_WRITERS[file.suffix.lower()]
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "written_by": f"mercer {VERSION}",
            "text_escape": ESCAPE if is_escaped else None,
            **asdict(self.drawn),
        }
        table = escaped_table(self._table())[0] if is_escaped else self._table()
        return {
            record: lambda partial: write_json(content, partial),
            file: lambda partial: write(table, partial),
        }

    def _table(self) -> dict[str, list[Any]]:
        drawn = self.drawn
        ids: list[Any] = drawn.rows if drawn.pool.ids is None else drawn.ids
        table = {drawn.id_name: ids, DRAWS: drawn.counts, WEIGHT: drawn.weights}
        return {**table, LABEL: self.labels, **self.shown}


def sheet_files(path: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, Path]:
    """Return the paths of a sheet and its record; raise FileExistsError if one exists.

    >>> [file.name for file in sheet_files("to_label.csv")]
    ['to_label.csv', 'to_label.json']
    """
    file = Path(path).expanduser()
    if file.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"a sheet must be a .csv or .parquet file, got {file.name!r}"
            f"{closest(file.suffix, SUFFIXES)}"
        )
    files = file, file.with_suffix(".json")
    for one in files:
        if one.exists() and not overwrite:
            raise FileExistsError(
                f"{one} already exists, and labels would be lost: use another file, or replace it "
                f"with overwrite=True"
            )
    return files


def refuse_unknown(ids: Iterable[str], drawn: Sequence[str], label: str) -> None:
    """Raise ValueError for ids of rows that were not drawn."""
    known = set(drawn)
    unknown = [id_ for id_ in ids if id_ not in known]
    if unknown:
        raise ValueError(
            f"{label} must contain only ids of drawn rows, but {some(unknown)} "
            f"{'was' if len(unknown) == 1 else 'were'} not: other rows have no weight; leave them "
            f"out"
        )

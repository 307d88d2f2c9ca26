"""Read filled-in sheets, in any order and from any spreadsheet, and check them.

Their rows, labels and weights are joined for a fit.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer.columns.text_numbers import parse_numbers, styles_of
from mercer.contracts import Array, Rows
from mercer.labelling.label_pool import DRAWS, LABEL, WEIGHT, Fingerprint, LabelPool, has_names
from mercer.labelling.label_values import (
    as_id,
    as_label,
    as_number,
    as_target,
    some,
    with_decimal_points,
)
from mercer.labelling.sheet import FORMAT, FORMAT_VERSION, SUFFIXES, Draws, Sheet, refuse_unknown
from mercer.rows.arrow import reading
from mercer.rows.checks import check_file
from mercer.rows.csv import text_batches
from mercer.rows.csv_lines import read_header
from mercer.rows.dialect import sniff
from mercer.storage import ESCAPE, pyarrow, unescaped
from mercer.validation import warn

#: Relative change of a weight that is rounding by a spreadsheet, and that it may be at most.
ROUNDING, CHANGED = 1e-3, 1e-2

Table = dict[str, list[Any]]


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Read a sheet and check it against its record; its rows may be in any order.

    A removed row counts as unlabelled. The weights are those of the record: the column of weights
    may be rounded, or missing, but not changed.
    """
    file = check_file(path)
    if file.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{file} must be a sheet, a .csv or .parquet file of mercer label, got {file.suffix!r}"
        )
    drawn, escape = _read_record(file)
    table = _read_csv(file) if file.suffix.lower() == ".csv" else _read_parquet(file)
    if escape is not None:
        table = {unescaped(name): list(map(_unescaped, table[name])) for name in table}
    for name in (drawn.id_name, LABEL):
        if name not in table:
            raise ValueError(
                f"{file} must have the columns {drawn.id_name!r} and {LABEL!r}, but has no column "
                f"{name!r}: restore it"
            )
    ids = [as_id(value) for value in table[drawn.id_name]]
    labels = [as_label(value) for value in table[LABEL]]
    _check_ids(ids, labels, drawn, file)
    if WEIGHT in table:
        _check_weights(ids, table[WEIGHT], drawn, file)
    else:
        warn(f"{file} has no column {WEIGHT!r}: the weights of its record are used")
    at = {id_: number for number, id_ in enumerate(ids)}
    order = [at.get(id_) for id_ in drawn.ids]
    shown = [name for name in table if name not in (drawn.id_name, DRAWS, WEIGHT, LABEL)]
    return Sheet(
        drawn,
        [None if number is None else labels[number] for number in order],
        {name: [None if n is None else table[name][n] for n in order] for name in shown},
    )


def _unescaped(value: object) -> object:
    return unescaped(value) if isinstance(value, str) else value


def _read_record(file: Path) -> tuple[Draws, str | None]:
    """Read the record next to a sheet, and how text is escaped in the sheet, if it is."""
    path = file.with_suffix(".json")
    if not path.is_file():
        raise FileNotFoundError(
            f"{file} must be a sheet with its record {path.name} next to it, but there is no such "
            f"file: keep the two files of mercer label together, under the same name"
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be the record of a sheet, got bad JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(
            f"{path} must be the record of a sheet, got other JSON: name a sheet of mercer label"
        )
    if content.get("version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} must be a record of version {FORMAT_VERSION}, got {content.get('version')!r}, "
            f"written by {content.get('written_by')}: use that version of mercer"
        )
    escape = content.get("text_escape")
    if escape not in (None, ESCAPE):
        raise ValueError(
            f"text_escape of {path} must be {ESCAPE!r} or null, got {escape!r}: draw again"
        )
    try:
        given = {field.name: content[field.name] for field in fields(Draws)}
        given["pool"] = Fingerprint(**given["pool"])
        return Draws(**given), escape
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error}; draw again") from error


def _read_csv(file: Path) -> Table:
    """Read a sheet as text, as the spreadsheet wrote it, without blank rows."""
    dialect = sniff(file)
    header = read_header(file, dialect)
    names = header.names
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{file} must have distinct column names, got {repeated[0]!r} twice")
    table: Table = {name: [] for name in names}
    for batch in text_batches(file, dialect, header, names, names):
        for name in names:
            table[name] += batch.column(name).to_pylist()
    if LABEL in table and dialect.decimal == ",":
        table[LABEL] = with_decimal_points(table[LABEL])
    filled = [any(cell.strip() for cell in row) for row in zip(*table.values(), strict=True)]
    return {
        name: [value for value, keep in zip(values, filled, strict=True) if keep]
        for name, values in table.items()
    }


def _read_parquet(file: Path) -> Table:
    with reading(file, "Parquet"):
        found: Table = pyarrow(".parquet").read_table(file).to_pydict()
    return found


def _check_ids(ids: list[str], labels: list[Any], drawn: Draws, file: Path) -> None:
    """Raise ValueError if ids are missing, unknown or duplicate."""
    if "" in ids:
        raise ValueError(
            f"every row of {file} must have a value in {drawn.id_name!r}, but row "
            f"{ids.index('') + 1} has none: restore it, or remove the row"
        )
    refuse_unknown(ids, drawn.ids, str(file))
    found: dict[str, list[Any]] = defaultdict(list)
    for id_, label in zip(ids, labels, strict=True):
        found[id_].append(label)
    for id_, given in found.items():
        if len(given) > 1:
            different = sorted({str(label) for label in given if label is not None})
            what = f", with contradicting labels {some(different)}" if len(different) > 1 else ""
            raise ValueError(
                f"every id must be in one row of {file}, but {id_!r} is in {len(given)}{what}: "
                f"keep one"
            )


def _check_weights(ids: list[str], weights: list[Any], drawn: Draws, file: Path) -> None:
    """Raise ValueError if the weights differ from those of the draws by more than rounding."""
    known = dict(zip(drawn.ids, drawn.weights, strict=True))
    rounded = 0
    for id_, value in zip(ids, weights, strict=True):
        change = CHANGED if as_label(value) is None else _change(value, known[id_])
        if not change <= CHANGED and not _is_rounded(value, known[id_]):
            raise ValueError(
                f"the weights of {file} must be the original ones, but the weight "
                f"of id {id_!r} is {value!r} and was {known[id_]:.6g}: restore it, or name the "
                f"sheet that belongs to the record"
            )
        rounded += not change <= ROUNDING
    if rounded:
        warn(
            f"{rounded} of {len(ids)} weights of {file} are rounded or missing: those of its "
            f"record are used"
        )


def _change(value: str | float, known: float) -> float:
    """Return the relative change of a weight; of text, in the style that fits best."""
    return min((abs(found - known) / known for found in _readings(value)), default=np.inf)


def _readings(value: str | float) -> list[float]:
    """Return a weight as a number, in every style that it may be written in."""
    if not isinstance(value, str):
        return [as_number(value)]
    return [float(parse_numbers([value], style)[0]) for style in styles_of([value])]


def _is_rounded(value: str | float, known: float) -> bool:
    """Return whether a weight was rounded to the digits that are written.

    >>> _is_rounded("0.02", 0.0234), _is_rounded("0,02", 0.0234), _is_rounded("0.03", 0.0234)
    (True, True, False)
    """
    decimals = re.fullmatch(r"\s*\d*[.,](\d+)\s*", value) if isinstance(value, str) else None
    if decimals is None:
        return False
    half = 0.5 * 10.0 ** -len(decimals[1])
    return any(found > 0 and abs(found - known) <= half for found in _readings(value))


class Labelled(NamedTuple):
    """Rows with their labels and weights, ready for fit."""

    X: Rows
    y: Array
    sample_weight: Array


def join(pool: object, sheet: Sheet, *, skip_unlabelled: bool = False) -> Labelled:
    """Return the rows of a sheet with their labels and weights, in the order of the pool.

    Parameters
    ----------
    pool : LabelPool, or what one is made from
        The pool that the rows were drawn from; it must not have changed.
    sheet : Sheet
        The sheet, with a label for each row.
    skip_unlabelled : bool
        Whether to skip rows without a label; otherwise they raise ValueError.
    """
    drawn, gaps = sheet.drawn, sheet.unlabelled
    if gaps and (not skip_unlabelled or len(gaps) == len(drawn.ids)):
        raise ValueError(
            f"every row must have a label, but {len(gaps)} of {len(drawn.ids)} have none, with the "
            f"ids {some(gaps)}: fill them in"
            + (
                ", or skip them with skip_unlabelled (--skip-unlabelled)"
                if len(gaps) < len(drawn.ids)
                else ""
            )
        )
    if not isinstance(pool, LabelPool):
        said = drawn.settings
        columns, ids = _by_name(drawn, pool)
        pool = LabelPool(
            pool, columns, ids, delimiter=said.get("delimiter"), decimal=said.get("decimal")
        )
    kept = [at for at, label in enumerate(sheet.labels) if label is not None]
    y = as_target([sheet.labels[at] for at in kept], [drawn.ids[at] for at in kept], bool(gaps))
    drawn.check_pool(pool)
    X = pool.take(np.asarray(drawn.rows)[kept])
    return Labelled(X, y, np.asarray(drawn.weights)[kept])


def _by_name(drawn: Draws, pool: object) -> tuple[list[str] | None, str | None]:
    """Return the features and the column of ids, for a pool with column names."""
    if has_names(pool):
        return drawn.columns, None if drawn.pool.ids is None else drawn.id_name
    if drawn.pool.ids is not None:
        raise ValueError(
            "the rows of the sheet have ids, so the pool must have the same ids: pass "
            "LabelPool(pool, ids=...)"
        )
    return None, None

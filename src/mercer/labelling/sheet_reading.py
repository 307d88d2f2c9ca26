"""Read filled-in sheets, in any order and from any spreadsheet, and check them."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from dataclasses import fields
from pathlib import Path
from typing import Any

from mercer.labelling.label_pool import DRAWS, LABEL, WEIGHT, Fingerprint
from mercer.labelling.pool_columns import header, text_batches
from mercer.labelling.sheet import FORMAT, FORMAT_VERSION, SUFFIXES, Draws, Sheet, refuse_unknown
from mercer.labelling.spreadsheet_values import as_id, as_label, as_number, some
from mercer.rows.arrow import reading
from mercer.rows.checks import check_file
from mercer.storage import pyarrow

#: Relative change of a weight that counts as rounding by a spreadsheet.
ROUNDING = 1e-3

Table = dict[str, list[Any]]


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """Read a sheet and check it against its record; its rows may be in any order.

    A removed row counts as unlabelled. The weights are those of the record.
    """
    file = check_file(path)
    if file.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{file} must be a sheet, a .csv or .parquet file of mercer label, got {file.suffix!r}"
        )
    drawn = _read_record(file)
    table = _read_csv(file) if file.suffix.lower() == ".csv" else _read_parquet(file)
    for name in (drawn.id_name, WEIGHT, LABEL):
        if name not in table:
            raise ValueError(
                f"{file} must have the columns {drawn.id_name!r}, {WEIGHT!r} and {LABEL!r}, but "
                f"has no column {name!r}: restore it"
            )
    ids = [as_id(value) for value in table[drawn.id_name]]
    labels = [as_label(value) for value in table[LABEL]]
    _check_ids(ids, labels, drawn, file)
    _check_weights(ids, table[WEIGHT], drawn, file)
    at = {id_: number for number, id_ in enumerate(ids)}
    order = [at.get(id_) for id_ in drawn.ids]
    shown = [name for name in table if name not in (drawn.id_name, DRAWS, WEIGHT, LABEL)]
    return Sheet(
        drawn,
        [None if number is None else labels[number] for number in order],
        {name: [None if n is None else table[name][n] for n in order] for name in shown},
    )


def _read_record(file: Path) -> Draws:
    """Read the record next to a sheet."""
    path = file.with_suffix(".json")
    if not path.is_file():
        raise FileNotFoundError(
            f"{file} must be a sheet with its record {path.name} next to it, but there is no such "
            f"file: keep the two files of mercer label together, under the same name"
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
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
    try:
        given = {field.name: content[field.name] for field in fields(Draws)}
        given["pool"] = Fingerprint(**given["pool"])
        return Draws(**given)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error}; draw again") from error


def _read_csv(file: Path) -> Table:
    """Read a sheet as text, with the delimiter and decimal commas of the spreadsheet."""
    headers = {delimiter: header(file, delimiter) for delimiter in ",;\t"}
    delimiter = max(headers, key=lambda each: len(headers[each]))
    names = headers[delimiter]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{file} must have distinct column names, got {repeated[0]!r} twice")
    table: Table = {name: [] for name in names}
    for batch in text_batches(file, delimiter, names):
        for name in names:
            table[name] += batch.column(name).to_pylist()
    if delimiter == ";":
        for name in {WEIGHT, LABEL} & set(names):
            table[name] = [re.sub(r"^(\s*[-+]?\d+),(\d+\s*)$", r"\1.\2", v) for v in table[name]]
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
    """Raise ValueError if the weights differ from those of the draws."""
    known = dict(zip(drawn.ids, drawn.weights, strict=True))
    for id_, value in zip(ids, weights, strict=True):
        if not abs(as_number(value) - known[id_]) <= ROUNDING * known[id_]:
            raise ValueError(
                f"the weights of {file} must be the original ones, but the weight "
                f"of id {id_!r} is {value!r} and was {known[id_]:.6g}: restore it, or name the "
                f"sheet that belongs to the record"
            )

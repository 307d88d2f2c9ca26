"""What was measured, as rows of frozen dataclasses, and the files they are kept in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.scaffold import Array


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    r"""Return a table as CSV: floats to six digits, tuples with spaces between their values.

    >>> csv_text(["name", "values"], [["a", (0.5, 1 / 3)]])
    'name,values\na,0.5 0.333333\n'
    """
    out = io.StringIO()
    lines = ([_cell(value) for value in row] for row in rows)
    csv.writer(out, lineterminator="\n").writerows([header, *lines])
    return out.getvalue()


def as_csv(found: Sequence[Any]) -> str:
    """Return one line a record, with the names of its fields above; nothing for no records."""
    if not found:
        return ""
    return csv_text([field.name for field in fields(found[0])], map(astuple, found))


def from_csv(path: Path, kind: type) -> list[Any]:
    """Read records of one kind; none where there is no file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            kind(**{f.name: _PARSERS[str(f.type)](row[f.name]) for f in fields(kind)})
            for row in csv.DictReader(lines)
        ]


def columns_csv(columns: Mapping[str, Array]) -> str:
    """Return arrays of one length as the columns of a CSV file."""
    return csv_text(list(columns), zip(*columns.values(), strict=True))


def columns_from_csv(path: Path) -> dict[str, Array]:
    """Read arrays by the names of their columns; none where there is no file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        names, *rows = csv.reader(lines)
    return dict(zip(names, np.array(rows, dtype=float).T, strict=True))


def as_json(found: Any) -> str:
    """Return anything made of dataclasses, arrays, lists and numbers as JSON."""
    return json.dumps(found, default=_plain) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file that an interrupted run leaves as it was, or whole."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)


def select(found: Iterable[Any], **wanted: Any) -> list[Any]:
    """Return the records with these values, in their order.

    >>> select([1 + 2j, 1 + 3j, 2 + 2j], real=1)
    [(1+2j), (1+3j)]
    """
    return [row for row in found if all(getattr(row, k) == v for k, v in wanted.items())]


def values(found: Iterable[Any], name: str) -> list[Any]:
    """Return the values that a field has, each once and sorted."""
    return sorted({getattr(row, name) for row in found})


def columns(found: Sequence[Any], *names: str) -> list[Array]:
    """Return fields as arrays, one value a record."""
    return [np.array([getattr(row, name) for row in found], dtype=float) for name in names]


def deviation(values: Sequence[float] | Array) -> float:
    """Return the standard deviation over trials, 0 for one trial."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


_PARSERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "tuple[float, ...]": _numbers,
}


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(str(_cell(one)) for one in value)
    return f"{value:.6g}" if isinstance(value, float) else value


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")

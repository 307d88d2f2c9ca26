"""Convert spreadsheet values to ids, labels, numbers and JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.columns.text_numbers import parse_numbers, preferred, styles_of
from mercer.contracts import Array
from mercer.rows.labels import warn_of_similar
from mercer.rows.table import GAP_WORDS

WHOLE = re.compile(r"[-+]?\d{1,18}")


def as_id(value: Any) -> str:
    """Return an id in normalized form; a spreadsheet may turn an integer into a decimal.

    >>> as_id(17.0), as_id(" a7 "), as_id(None)
    ('17', 'a7', '')
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def as_label(value: Any) -> Any:
    """Return a label, or None if there is none: nothing, or a word for a missing value.

    >>> as_label(" red "), as_label("  "), as_label(float("nan")), as_label(0), as_label("n/a")
    ('red', None, None, 0, None)
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return None if value.strip() in GAP_WORDS else value.strip()
    return None if isinstance(value, float) and np.isnan(value) else value


def as_number(value: Any) -> float:
    """Return a spreadsheet value as a number; NaN if it is not a number."""
    try:
        return float("nan") if "_" in str(value) else float(value)
    except (TypeError, ValueError):
        return float("nan")


def as_shown(column: Sequence[str], decimal: str = ".") -> list[Any]:
    """Convert a column from text to numbers, None for gaps, if it contains nothing else.

    >>> as_shown(["3", "0.50", ""]), as_shown(["0,5", "2"], ","), as_shown(["01234", "7"])
    ([3, 0.5, None], [0.5, 2], ['01234', '7'])
    """
    shown: list[Any] = []
    for text in map(str.strip, column):
        value = as_number(text if decimal == "." else text.replace(decimal, "."))
        if text in GAP_WORDS:
            shown.append(None)
        elif not np.isfinite(value) or re.match(r"[-+]?0\d", text):  # a postal code, say
            return list(column)
        else:
            shown.append(int(text) if re.fullmatch(r"[-+]?\d+", text) else value)
    return shown


def as_json(value: Any) -> Any:
    """Convert a value to JSON; dates become text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


def with_decimal_points(labels: list[str]) -> list[str]:
    """Return labels of a sheet with decimal commas, with decimal points if they are all numbers.

    >>> with_decimal_points(["1,234", "2", ""]), with_decimal_points(["1,5", "red"])
    (['1.234', '2.0', ''], ['1,5', 'red'])
    """
    known = [label for label in labels if as_label(label) is not None]
    commas = frozenset(style for style in styles_of(known) if style.decimal == ",")
    style = preferred(commas)
    if style is None or not any("," in label for label in known):
        return labels
    values = iter(parse_numbers(known, style).tolist())
    return ["" if as_label(label) is None else repr(next(values)) for label in labels]


def as_target(labels: list[Any], ids: list[str], gaps: bool) -> Array:
    """Return labels as a target: numbers, booleans or text, by the rules for targets of a fit.

    >>> as_target(["1", "0"], ["a", "b"], False), as_target(["red", "7"], ["a", "b"], False)
    (array([1, 0]), array(['red', '7'], dtype='<U3'))
    >>> as_target(["0,48", "1,5"], ["a", "b"], False), as_target(["$1,200"], ["a"], False)
    (array([0.48, 1.5 ]), array([1200.]))
    """
    if any(isinstance(label, str) for label in labels):
        labels = _parsed([str(label) for label in labels], ids)
    y = np.asarray(labels)
    if y.dtype.kind not in "biufU":
        raise ValueError(
            f"labels must be numbers or text, got {type(labels[0]).__name__} at id {ids[0]!r}: "
            f"convert them"
        )
    if y.dtype.kind == "U":
        warn_of_similar(labels)
    if gaps and y.dtype.kind == "f" and np.all(y == np.round(y)):
        return y.astype(np.int64)  # an integer column with missing values is written as decimals
    return y


def _parsed(labels: list[str], ids: list[str]) -> list[Any]:
    """Parse labels written as text: numbers, booleans or text."""
    if all(map(WHOLE.fullmatch, labels)):
        return [int(label) for label in labels]
    values = np.array([as_number(label) for label in labels])
    style = preferred(styles_of(labels))
    if style is not None:  # also $1,200, 0,48 and 12 %
        return list(parse_numbers(labels, style).tolist())
    if np.isfinite(values).all():
        return list(values.tolist())
    numeric = np.isfinite(values) | np.array([bool(styles_of([label])) for label in labels])
    precise = [at for at in np.flatnonzero(numeric) if not WHOLE.fullmatch(labels[at])]
    other = np.flatnonzero(~numeric)
    if precise and len(other):
        raise ValueError(
            f"labels must be all numbers or all text, but {numeric.sum()} are numbers "
            f"and {labels[other[0]]!r} of id {ids[other[0]]!r} is not: fix it, or leave it empty"
        )
    if not len(other):
        one, another = _in_two_ways(labels)
        raise ValueError(
            f"labels that are numbers must be written in one way, but {labels[one]!r} of id "
            f"{ids[one]!r} and {labels[another]!r} of id {ids[another]!r} are not: fix one"
        )
    if {label.lower() for label in labels} <= {"true", "false"}:
        return [label.lower() == "true" for label in labels]
    return list(labels)


def _in_two_ways(labels: list[str]) -> tuple[int, int]:
    """Return two labels that are numbers, but not in one style."""
    styles = styles_of([])
    for at, label in enumerate(labels):
        if not styles & styles_of([label]):
            return next((i for i in range(at) if not styles_of([labels[i], label])), 0), at
        styles &= styles_of([label])
    return 0, len(labels) - 1


def some(items: Sequence[Any], number: int = 5) -> str:
    """Return the first few of many items as text.

    >>> some(["a", "b", "c"], 2)
    "'a', 'b', ..."
    """
    shown = ", ".join(repr(item) for item in items[:number])
    return shown + (", ..." if len(items) > number else "")

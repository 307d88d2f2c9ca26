"""Convert spreadsheet values to ids, labels, numbers and JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.contracts import Array


def as_id(value: Any) -> str:
    """Return an id in normalized form; a spreadsheet may turn an integer into a decimal.

    >>> as_id(17.0), as_id(" a7 "), as_id(None)
    ('17', 'a7', '')
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def as_label(value: Any) -> Any:
    """Return a label, or None if there is none.

    >>> as_label(" red "), as_label("  "), as_label(float("nan")), as_label(0)
    ('red', None, None, 0)
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return value.strip() or None
    return None if isinstance(value, float) and np.isnan(value) else value


def as_number(value: Any) -> float:
    """Return a spreadsheet value as a number; NaN if it is not a number."""
    try:
        return float("nan") if "_" in str(value) else float(value)
    except (TypeError, ValueError):
        return float("nan")


def as_shown(text: str) -> int | float | str:
    """Convert a feature from text to a number, an integer if it is written as one.

    >>> as_shown("3"), as_shown("0.50"), as_shown("")
    (3, 0.5, '')
    """
    value = as_number(text)
    if not np.isfinite(value):
        return text
    return int(text) if re.fullmatch(r"\s*[-+]?\d+\s*", text) else value


def as_json(value: Any) -> Any:
    """Convert a value to JSON; dates become text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


def as_target(labels: list[Any], ids: list[str], gaps: bool) -> Array:
    """Return labels as a target: numbers, booleans or text.

    >>> as_target(["1", "0"], ["a", "b"], False), as_target(["red", "7"], ["a", "b"], False)
    (array([1, 0]), array(['red', '7'], dtype='<U3'))
    """
    if any(isinstance(label, str) for label in labels):
        labels = _parsed([str(label) for label in labels], ids)
    y = np.asarray(labels)
    if y.dtype.kind not in "biufU":
        raise ValueError(
            f"labels must be numbers or text, got {type(labels[0]).__name__} at id {ids[0]!r}: "
            f"convert them"
        )
    if gaps and y.dtype.kind == "f" and np.all(y == np.round(y)):
        return y.astype(np.int64)  # an integer column with missing values is written as decimals
    return y


def _parsed(labels: list[str], ids: list[str]) -> list[Any]:
    """Parse labels written as text: numbers, booleans or text."""
    if all(re.fullmatch(r"[-+]?\d{1,18}", label) for label in labels):
        return [int(label) for label in labels]
    values = np.array([as_number(label) for label in labels])
    other = np.flatnonzero(~np.isfinite(values))
    if len(other) == 0:
        return list(values.tolist())
    if np.any(values[np.isfinite(values)] % 1):
        raise ValueError(
            f"labels must be all numbers or all text, but {len(labels) - len(other)} are numbers "
            f"and {labels[other[0]]!r} of id {ids[other[0]]!r} is not: fix it, or leave it empty"
        )
    if {label.lower() for label in labels} <= {"true", "false"}:
        return [label.lower() == "true" for label in labels]
    return list(labels)


def some(items: Sequence[Any], number: int = 5) -> str:
    """Return the first few of many items as text.

    >>> some(["a", "b", "c"], 2)
    "'a', 'b', ..."
    """
    shown = ", ".join(repr(item) for item in items[:number])
    return shown + (", ..." if len(items) > number else "")

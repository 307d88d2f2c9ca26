"""Refuse targets that are neither numbers nor labels: dates, huge integers, containers."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.table import is_gap

DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
#: The largest number in double precision, as an integer.
LARGEST = int(np.finfo(np.float64).max)


def check_number_targets(y: Any) -> None:
    """Raise ValueError if targets of a regression are dates, or integers that are no floats.

    >>> check_number_targets(np.array(["2020-01-01"], dtype="M8[D]"))
    Traceback (most recent call last):
    ValueError: y must hold numbers for regression, got dates (datetime64[D]): subtract an origin \
and divide by a unit, as in (y - y.min()) / np.timedelta64(1, 'D')
    """
    values = np.asarray(y)
    if values.dtype.kind in "mM":
        raise _of_dates(str(values.dtype))
    for value in _objects(values):
        if isinstance(value, DATES):
            raise _of_dates(type(value).__name__)
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ValueError(
                f"y must hold numbers of at most {float(LARGEST):.1e}, got an integer of "
                f"{value.bit_length():,} bits: divide by a unit, or take logarithms"
            )


def check_class_labels(y: Any) -> None:
    """Raise ValueError if labels of classes are objects that cannot be compared.

    >>> check_class_labels(np.array([{"a": 1}, {"b": 2}], dtype=object))
    Traceback (most recent call last):
    ValueError: labels of classes must be text, numbers or booleans, got a dict in row 0: give \
every class a name
    """
    for row, value in enumerate(_objects(np.asarray(y))):
        if isinstance(value, int) and abs(value) >= 2**63:
            raise ValueError(
                f"labels of classes that are integers must have 64 bits, got one of "
                f"{value.bit_length():,} bits in row {row}: write them as text"
            )
        if not isinstance(value, (str, bytes, Number, np.generic, *DATES)) and not is_gap(value):
            raise ValueError(
                f"labels of classes must be text, numbers or booleans, got a "
                f"{type(value).__name__} in row {row}: give every class a name"
            )
    check_one_kind([np.asarray(y)])


def check_one_kind(parts: Iterable[Array]) -> None:
    """Raise ValueError if some labels are text and others are not: they have no order.

    >>> check_one_kind([np.array([1, "a", 2], dtype=object)])
    Traceback (most recent call last):
    ValueError: labels of classes must be all text or all numbers, got 1 (int) and 'a' (str): \
make them one kind, as in [str(label) for label in y]
    """
    first: dict[bool, Any] = {}
    for part in parts:
        for label in part if part.dtype.kind == "O" else part[:1].tolist():
            if not is_gap(label):
                first.setdefault(isinstance(label, str), label)
    if len(first) > 1:
        both = (first[False], first[True])
        got = " and ".join(f"{label!r} ({type(label).__name__})" for label in both)
        raise ValueError(
            f"labels of classes must be all text or all numbers, got {got}: make them one kind, as "
            f"in [str(label) for label in y]"
        )


def _objects(values: Any) -> Iterable[Any]:
    return values.ravel() if values.dtype.kind == "O" else ()


def _of_dates(kind: str) -> ValueError:
    return ValueError(
        f"y must hold numbers for regression, got dates ({kind}): subtract an origin and divide by "
        f"a unit, as in (y - y.min()) / np.timedelta64(1, 'D')"
    )

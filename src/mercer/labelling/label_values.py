"""Labels and ids as spreadsheets write them, and what a label is: a class or a number."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.text_numbers import parse_numbers, preferred, styles_of
from mercer.contracts import Array
from mercer.rows.labels import warn_of_similar
from mercer.rows.table import GAP_WORDS
from mercer.validation import check_choice

CLASSIFICATION, REGRESSION = "classification", "regression"
#: The most classes, and the longest name of one.
MOST, LONGEST = 200, 100


@dataclass(frozen=True)
class LabelTask:
    """Classes with their names, or numbers.

    >>> task = LabelTask.of(classes=["red", "blue"])
    >>> task.value("red"), task.with_class("green").classes
    ('red', ('red', 'blue', 'green'))
    >>> LabelTask.of("regression").value(" 2.50 ")
    2.5
    """

    kind: str
    classes: tuple[str, ...] = ()

    @classmethod
    def of(cls, kind: str | None = None, classes: Sequence[Any] | None = None) -> LabelTask:
        """Return a task, checked."""
        if kind is None:
            kind = CLASSIFICATION
        check_choice(kind, "task", [CLASSIFICATION, REGRESSION])
        if kind == REGRESSION:
            if classes:
                raise ValueError("classes are for classification: leave them out for numbers")
            return cls(REGRESSION)
        found = cls(CLASSIFICATION)
        for name in classes or ():
            found = found.with_class(name)
        return found

    def with_class(self, name: object) -> LabelTask:
        """Return the task with one more class."""
        if self.kind != CLASSIFICATION:
            raise ValueError("labels are numbers here, so that no class can be added")
        text = " ".join(str(name).split())
        if as_label(text) is None:
            raise ValueError(
                f"a class must have a name that is not read as a missing value, got {text!r}: "
                f"write it in another way"
            )
        if len(text) > LONGEST or any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
            raise ValueError(
                f"the name of a class must have at most {LONGEST} characters, all of them "
                f"printable: shorten it"
            )
        similar = [one for one in self.classes if one.casefold() == text.casefold()]
        if similar:
            raise ValueError(f"there is a class {similar[0]!r} already: use it")
        if len(self.classes) >= MOST:
            raise ValueError(f"there must be at most {MOST} classes: use numbers, or fewer")
        classes = (*self.classes, text)
        as_target(list(classes), list(classes), False)  # a fit must be able to read all of them
        return LabelTask(CLASSIFICATION, classes)

    def value(self, label: object) -> Any:
        """Return a label as it is written to a sheet; raise ValueError if it is none."""
        if self.kind == REGRESSION:
            number = as_number(label) if not isinstance(label, bool) else math.nan
            if not math.isfinite(number):
                raise ValueError(f"a label must be a finite number, got {str(label)[:40]!r}")
            return int(number) if number.is_integer() and abs(number) < 2**53 else number
        if label not in self.classes:
            raise ValueError(
                f"a label must be one of the classes {', '.join(self.classes)}, got "
                f"{str(label)[:40]!r}: add it as a class first"
            )
        return label

    def target(self, labels: Iterable[Any]) -> Array:
        """Return labels, also such as a spreadsheet has written, as the target of a fit."""
        if self.kind == CLASSIFICATION:
            return np.asarray([str(label) for label in labels])
        return np.asarray([self.number(label) for label in labels], dtype=float)

    def number(self, label: object) -> float:
        """Return a label of a sheet as a number: it may be ``$1,200``, too."""
        value = as_number(label)
        if not math.isfinite(value):
            style = preferred(styles_of([str(label)]))
            value = math.nan if style is None else float(parse_numbers([str(label)], style)[0])
        if not math.isfinite(value):
            raise ValueError(
                f"the labels of the sheet must be numbers, got {str(label)[:40]!r}: correct it, or "
                f"label classes"
            )
        return value


def task_of_labels(labels: Sequence[Any]) -> LabelTask | None:
    """Return the task that the labels of a sheet are of; None if there are too few to tell.

    >>> task_of_labels(["a", "b", "a"]), task_of_labels([1.5, 2.25]).kind, task_of_labels([])
    (LabelTask(kind='classification', classes=('a', 'b')), 'regression', None)
    """
    known = [label for label in labels if label is not None]
    if not known:
        return None
    y = as_target(known, [str(at) for at in range(len(known))], False)
    if y.dtype.kind == "f":
        return LabelTask(REGRESSION)
    if y.dtype.kind in "iu":  # amounts or codes of classes: a person has to say which
        return None
    return LabelTask.of(classes=list(dict.fromkeys(str(label) for label in known)))


WHOLE = re.compile(r"[-+]?\d{1,18}")


def as_id(value: object) -> str:
    """Return an id in normalized form; a spreadsheet may turn an integer into a decimal.

    >>> as_id(17.0), as_id(" a7 "), as_id(None)
    ('17', 'a7', '')
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def as_label(value: object) -> Any:
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
        value = as_number(text.replace(decimal, "."))
        if text in GAP_WORDS:
            shown.append(None)
        elif not np.isfinite(value) or re.match(r"[-+]?0\d", text):  # a postal code, say
            return list(column)
        else:
            shown.append(int(text) if re.fullmatch(r"[-+]?\d+", text) else value)
    return shown


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

"""What a label is: one of some classes, or a number."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.text_numbers import parse_numbers, preferred, styles_of
from mercer.contracts import Array
from mercer.labelling.label_learning import CLASSIFICATION, REGRESSION
from mercer.labelling.spreadsheet_values import as_label, as_number, as_target
from mercer.validation import check_choice

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

    def with_class(self, name: Any) -> LabelTask:
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

    def value(self, label: Any) -> Any:
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

    def number(self, label: Any) -> float:
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

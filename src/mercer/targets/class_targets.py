"""y as classes: columns of +1 and -1."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer.contracts import Array, RowSource, Targets
from mercer.rows.labels import missing, warn_of_similar
from mercer.rows.table import is_gap
from mercer.storage.state import Field, Sizes, State
from mercer.targets.number_targets import DATES, ROWS, RowKind, RowTargets, objects_in
from mercer.validation import check_finite, closest

#: Class labels that are numbers must be smaller: they are compared as 64-bit integers.
LARGEST_LABEL = 2.0**63


@dataclass(frozen=True)
class SortedClasses(Field):
    """An array of at least two values, sorted and distinct."""

    def check_value(self, value: Any, name: str, sizes: Sizes) -> None:
        """Check the classes."""
        if value.ndim != 1 or len(value) < 2 or np.any(np.unique(value) != value):
            raise ValueError("classes must be at least two, sorted and distinct")


@dataclass(frozen=True)
class ClassTargets(RowTargets):
    """One column of +1 and -1 per class; a single column for two classes."""

    state = State(classes=SortedClasses())
    columns = True

    classes: Array

    @property
    def outputs(self) -> int:
        """k: 1 for two classes."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def scale(self) -> Array:
        """Ones: the columns are already of order one."""
        return np.ones(self.outputs)

    @property
    def origin(self) -> Array:
        """Zeros: the columns are already around 0."""
        return np.zeros(self.outputs)

    def encode(self, y: Array, start: int) -> Array:
        """Return +1 and -1 of shape (rows, k); NaN for rows without a label."""
        absent = missing(y)
        if absent.any():
            found = np.full((len(y), self.outputs), np.nan)
            found[~absent] = self._encode(known_labels(y, absent), start)
            return found
        return self._encode(y, start)

    def _encode(self, y: Array, start: int) -> Array:
        codes = np.searchsorted(self.classes, y)
        codes = np.minimum(codes, len(self.classes) - 1)
        unknown = self.classes[codes] != y
        if np.any(unknown):
            at = int(np.flatnonzero(unknown)[0])
            label = np.asarray(y)[at : at + 1].tolist()[0]
            raise ValueError(
                f"y contains a class that is not known: {label!r} at row {start + at}"
                f"{closest(str(label), map(str, self.classes))}"
            )
        if self.outputs == 1:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        return np.where(codes[:, None] == np.arange(len(self.classes)), 1.0, -1.0)


def known_labels(y: Array, absent: Array) -> Array:
    """Return the known labels; integers that were stored with None become integers again."""
    y = np.asarray(y)
    if not absent.any():
        return y
    found = y[~absent]
    mixed = len({isinstance(label, str) for label in found}) > 1  # raises when classes are found
    return np.asarray(found.tolist()) if found.dtype.kind == "O" and not mixed else found


def merged(parts: Sequence[Array]) -> Array:
    """Return the classes in all parts, sorted.

    >>> merged([np.array([3, 1]), np.array([1, 2])])
    array([1, 2, 3])
    """
    check_one_kind(parts)
    return functools.reduce(np.union1d, parts[1:], np.unique(parts[0]))


def classes_of(source: RowSource) -> Array:
    """Task: return the classes of a shard, in a pass over y only."""
    found = [merged([known_labels(y, missing(y))]) for y in source.targets(ROWS)]
    if not found:
        raise ValueError("the source must have at least one row, got none")
    return merged(found)


@dataclass(frozen=True)
class Classes(RowKind):
    """Targets of a classification; ``known`` lists all classes if rows may not contain them."""

    known: ClassTargets | None = None
    classes = True
    summarize = staticmethod(classes_of)

    def check(self, y: object) -> Array:
        """Return one label per row; None and NaN mean no label."""
        labels = np.asarray(column_or_1d(y, warn=True))
        check_class_labels(labels)
        known = known_labels(labels, missing(labels))
        if known.dtype.kind == "O" and not any(isinstance(label, str) for label in known):
            known = np.asarray(known.tolist())  # among objects, scikit-learn knows only text
        if known.dtype.kind == "f":
            # scikit-learn casts to integers first, with a warning that nobody can act on.
            check_finite(known[:, None], what="y")
            if np.abs(known).max(initial=0.0) >= LARGEST_LABEL:
                raise ValueError(
                    f"class labels that are numbers must be below {LARGEST_LABEL:.0e} in size, got "
                    f"{np.abs(known).max():.3g}: for numbers to predict use KernelRegressor"
                )
        check_classification_targets(known)
        return labels

    def of_source(self, source: RowSource) -> Targets:
        """Return the targets of rows in one place, in a pass over y unless all are known."""
        return super().of_source(source) if self.known is None else self._several(self.known)

    def pooled(self, summaries: Sequence[Array]) -> ClassTargets:
        """Return the classes of all shards."""
        return self._several(self.known or ClassTargets(merged(summaries)))

    @staticmethod
    def _several(targets: ClassTargets) -> ClassTargets:
        if not len(targets.classes):
            raise ValueError("Input y contains NaN or None in every row: no row has a label")
        if len(targets.classes) < 2:
            raise ValueError(
                f"a classifier needs at least two classes, got one class: "
                f"{targets.classes.tolist()[0]!r}; in partial_fit, list all classes in classes="
            )
        if targets.classes.dtype.kind in "OU":
            warn_of_similar(map(str, targets.classes))
        return targets


# -- what is no label ---------------------------------------------------------------------------


def check_class_labels(y: object) -> None:
    """Raise ValueError if labels of classes are objects that cannot be compared.

    >>> check_class_labels(np.array([{"a": 1}, {"b": 2}], dtype=object))
    Traceback (most recent call last):
    ValueError: labels of classes must be text, numbers or booleans, got a dict in row 0: give \
every class a name
    """
    for row, value in enumerate(objects_in(np.asarray(y))):
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

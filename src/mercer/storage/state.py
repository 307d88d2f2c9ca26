"""Declared state: what every saved field of a class must be, and one function that checks it.

A class names its saved fields in ``state``. Axes of arrays have names: the sizes that are known are
passed to :func:`check_state`, and others are those of the first array that has the axis::

    state = State(knots=Numbers("d q", rule=INCREASING), values=Numbers("d q"))

What fields do not say each for itself, a class checks in ``check_restored(sizes)``. A field of a
data class whose annotation is that of a plain value (a number, text, a flag) need not be declared:
its type is checked when the object is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from mercer.contracts import Array
from mercer.validation import (
    check_array,
    check_choice,
    check_count,
    check_number,
    check_share,
)

#: Lengths of axes by name.
Sizes: TypeAlias = dict[str, int]
#: What must hold for values, in words and as a function of them.
Rule: TypeAlias = tuple[str, Callable[[Array], Any]]

ANY: Rule = ("", lambda values: True)
AT_LEAST_0: Rule = ("must be at least 0 in every column", lambda values: values >= 0)
NOT_NEGATIVE: Rule = ("must not be negative", lambda values: values >= 0)
INCREASING: Rule = ("must increase in every column", lambda values: np.diff(values) > 0)


@dataclass(frozen=True, kw_only=True)
class Field(ABC):
    """What a saved value must be.

    Parameters
    ----------
    label : str
        What messages call the value, if not by the name of the field.
    must : str
        The message in place of the one for the kind of field; it may contain ``{value}``,
        ``{kind}`` for the type of the value, and known sizes.
    optional : bool
        Whether the value may be None.
    """

    label: str = ""
    must: str = ""
    optional: bool = False

    def check(self, value: object, name: str, sizes: Sizes) -> None:
        """Raise TypeError or ValueError for an invalid value; lengths of new axes become known."""
        if value is None and self.optional:
            return
        try:
            self.check_value(value, self.label or name, sizes)
        except (TypeError, ValueError) as error:
            if not self.must:
                raise
            words = self.must.format(value=value, kind=type(value).__name__, **sizes)
            raise ValueError(words) from error

    @abstractmethod
    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Raise TypeError or ValueError unless the value is as declared."""


@runtime_checkable
class ChecksItself(Protocol):
    """An object whose fields must fit together in ways that they do not declare."""

    def check_restored(self, sizes: Sizes) -> None:
        """Raise TypeError or ValueError unless they do."""


class State(dict[str, Field]):
    """The saved fields of a class by name, and what each must be."""


def declared(cls: type) -> dict[str, Field | None]:
    """Return the saved fields of a class and its bases; those that are only named are None."""
    found: dict[str, Field | None] = {}
    for base in reversed(cls.__mro__):
        state = vars(base).get("state", State())
        found |= state if isinstance(state, State) else {name: found.get(name) for name in state}
    return found


def check_fields(value: object, fields: Mapping[str, Field | None], sizes: Sizes) -> None:
    """Raise TypeError or ValueError unless the attributes of an object are as declared."""
    for name, field in fields.items():
        if field is not None:
            field.check(getattr(value, name), name, sizes)


def check_state(value: object, **sizes: int) -> None:
    """Raise TypeError or ValueError unless a restored object is as its class declares.

    >>> class Points:
    ...     state = State(points=Numbers("m d"), weight=Numbers("m", rule=NOT_NEGATIVE))
    ...     points, weight = np.zeros((3, 2)), np.ones(2)
    >>> check_state(Points(), d=2)
    Traceback (most recent call last):
    ValueError: weight must have shape (3), got (2,)
    """
    check_fields(value, declared(type(value)), sizes)
    if isinstance(value, ChecksItself):
        value.check_restored(sizes)


@dataclass(frozen=True)
class Numbers(Field):
    """An array: its axes, or several choices of them as in ``"d | d r"``, and its numbers.

    An axis is a name, a number, or both, as in ``"levels+1"``.
    """

    axes: str
    kind: str = "f"
    finite: bool = True
    rule: Rule = ANY

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check shape, kind and values."""
        choices = [choice.split() for choice in self.axes.split("|")]
        ndim = value.ndim if isinstance(value, np.ndarray) else 0
        axes = next((choice for choice in choices if len(choice) == ndim), choices[-1])
        shape = tuple(_length(axis, sizes) for axis in axes)
        array = check_array(value, name, shape, self.kind, finite=self.finite)
        for axis, length in zip(axes, array.shape, strict=True):
            sizes.setdefault(axis, length)
        words, holds = self.rule
        if not np.all(holds(array)):
            raise ValueError(f"{name} {words}")


def _length(axis: str, sizes: Sizes) -> int | None:
    """Return the length of an axis; None if it is not known.

    >>> _length("5", {}), _length("m+1", {"m": 2}), _length("m", {})
    (5, 3, None)
    """
    name, _, more = axis.rpartition("+")
    if name:
        return sizes[name] + int(more)
    return int(axis) if axis.isdigit() else sizes.get(axis)


@dataclass(frozen=True)
class Levels(Field):
    """An array of distinct texts, along an axis."""

    axis: str

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the texts."""
        if not isinstance(value, np.ndarray):
            raise ValueError("levels must be text")
        check_levels(value)
        sizes.setdefault(self.axis, len(value))


def check_levels(*parts: Array) -> None:
    """Raise ValueError unless all levels are text, and distinct."""
    levels = np.concatenate(parts).tolist()
    if not all(isinstance(level, str) for level in levels):
        raise ValueError("levels must be text")
    if len(set(levels)) != len(levels):
        raise ValueError("levels must be distinct")


@dataclass(frozen=True)
class Count(Field):
    """An integer from ``least`` to ``most``."""

    least: int = 1
    most: int | None = None

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the integer."""
        count = check_count(value, name, minimum=self.least)
        if self.most is not None and count > self.most:
            raise ValueError(f"{name} must be at most {self.most}, got {value}")


@dataclass(frozen=True)
class Number(Field):
    """A finite number."""

    least: float = -np.inf
    above: float = -np.inf
    most: float = np.inf

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the number."""
        check_number(value, name, minimum=self.least, above=self.above, maximum=self.most)


@dataclass(frozen=True)
class Share(Field):
    """A number between 0 and 1."""

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the number."""
        check_share(value, name)


@dataclass(frozen=True)
class OneOf(Field):
    """One of several values."""

    options: Sequence[Any]

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the value."""
        if value not in self.options:
            check_choice(value, name, self.options)


#: Of blocks and their products.
PRECISION = OneOf(
    ("float32", "float64"), must="precision must be float32 or float64, got {value!r}"
)


@dataclass(frozen=True)
class Part(Field):
    """An object of a class; ``sizes`` names those that its own fields are checked with.

    None checks the class alone.
    """

    cls: type
    sizes: str | None = None

    def check(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the class, and then the fields."""
        super().check(value, name, sizes)
        if value is not None and self.sizes is not None:
            known = {axis: sizes[axis] for axis in self.sizes.split() if axis in sizes}
            check_state(value, **known)

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the class."""
        if not isinstance(value, self.cls):
            raise ValueError(f"{name} must be a {self.cls.__name__}, got {type(value).__name__}")


@dataclass(frozen=True)
class Each(Field):
    """A tuple or list, each item of which is such a field."""

    item: Field

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check every item."""
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{name} must be a list, got {type(value).__name__}")
        for item in value:
            self.item.check(item, name, sizes)

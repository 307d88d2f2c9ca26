"""From text to numbers: categories as indicators, as means of y, hashed, or in their order.

A level becomes an indicator, or the mean of y in its rows, shrunk, and with the fold of the row
itself left out (:mod:`~mercer.columns.target_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from mercer.columns.column_encoders import ColumnEncoder
from mercer.columns.column_statistics import BUCKETS
from mercer.columns.row_folds import DEALS, FOLDS, level_hashes
from mercer.columns.text_numbers import folded, number_in, truth_in
from mercer.contracts import Array
from mercer.rows.table import Coded, Column, as_text
from mercer.storage.state import (
    Count,
    Field,
    Levels,
    Number,
    Numbers,
    OneOf,
    Sizes,
    State,
    check_levels,
)

#: The most levels that are tried as alternatives, where they have no indicators.
ALTERNATIVES = 20


def evenly(levels: int) -> Array:
    """Return at most 20 places among so many, evenly, with the first and the last.

    >>> evenly(3), evenly(1000)[[0, 1, -1]]
    (array([0, 1, 2]), array([  0,  53, 999]))
    """
    if levels <= ALTERNATIVES:
        return np.arange(levels)
    return np.linspace(0, levels - 1, ALTERNATIVES).round().astype(np.intp)


#: Levels that one of these maps to the same value are the same, written with spaces, in capitals,
#: with a point, or as another word for true or false; the first that does counts.
FORMS: tuple[Callable[[str], object], ...] = (str.strip, folded, number_in, truth_in)


class OtherForms:
    """The places of levels that a fit does not know: ``l = l'`` where ``form(l) = form(l')``.

    A form of several places is of none.

    >>> forms = OtherForms({"a": 0, "A": 1, "b": 2, "1": 3})
    >>> [forms.place(level) for level in (" A", "B", "1.0", "a b")]
    [1, 2, 3, None]
    """

    def __init__(self, places: Mapping[str, int]) -> None:
        self._forms = []
        for form in FORMS:
            by_form: dict[object, set[int]] = {}
            for level, place in places.items():
                by_form.setdefault(form(level), set()).add(place)
            others = by_form.pop(None, set())
            if form is truth_in and others:  # yes and no beside other answers
                by_form = {}
            single = {key: min(found) for key, found in by_form.items() if len(found) == 1}
            self._forms.append((form, single))

    def place(self, level: str) -> int | None:
        """Return the place of a level that is written otherwise, None if it is unknown."""
        found = (known.get(form(level)) for form, known in self._forms)
        return next((place for place in found if place is not None), None)


class CategoryColumn(ColumnEncoder):
    """Base class for columns whose values are one of several levels."""

    def alternatives(self, column: Column) -> tuple[list[str], Array]:
        """Return levels that a row could have instead, and what they become, (levels, width)."""
        levels = np.sort(as_text(column).used().levels)
        levels = levels[evenly(len(levels))]
        codes = np.arange(len(levels))
        return levels.tolist(), self(Coded(codes, levels))

    def shares(self, means: Array, levels: int) -> Array:
        """Return the share of rows of each alternative, by the means of the new columns."""
        return np.full(levels, 1.0 / max(1, levels))


class LevelColumn(CategoryColumn):
    """Base class for columns with a known list of levels."""

    state: ClassVar[dict[str, Field]] = State(levels=Levels("levels"))
    levels: Array

    @cached_property
    def _places(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.levels.tolist())}

    def places(self, column: Column) -> Array:
        """Return the place of the level of each row; -1 for a gap, -2 for an unknown level."""
        column = as_text(column)
        places = [self._place(level) for level in column.levels.tolist()]
        return np.append(np.array(places, dtype=np.intp), -1)[column.codes]

    def _place(self, level: str) -> int:
        place = self._places.get(level)
        place = self._others.place(level) if place is None else place
        return -2 if place is None else place

    @cached_property
    def _others(self) -> OtherForms:
        return OtherForms(self._places)

    def unknown(self, column: Column) -> Array:
        """Return which rows have an unknown level."""
        return np.asarray(self.places(column) == -2)


@dataclass(frozen=True)
class OneHotColumn(LevelColumn):
    """An indicator per level; rare levels share one, which unknown levels get too."""

    state = State(rare=Levels("rare"))
    levels: Array  # the frequent ones
    rare: Array  # levels that share an indicator
    fill: int  # the place of the most frequent level, for gaps
    indicator: bool = False
    kind: ClassVar[str] = "category"

    @cached_property
    def _places(self) -> dict[str, int]:
        known = {level: place for place, level in enumerate(self.levels.tolist())}
        return known | dict.fromkeys(self.rare.tolist(), len(self.levels))

    def names(self, name: str) -> list[str]:
        """Return a name per indicator."""
        found = [f"{name}={level}" for level in self.levels]
        found += [f"{name}=(other)"] if len(self.rare) else []
        return found + ([f"{name} missing"] if self.indicator else [])

    def __call__(self, column: Column, folds: Array | None = None) -> Array:
        """Return the indicators."""
        places = self.places(column)
        width = len(self.levels) + bool(len(self.rare))
        gaps = places == -1
        places = np.where(gaps, self.fill, places)
        places = np.where(places == -2, len(self.levels), places)  # beyond the last without rare
        found = (places[:, None] == np.arange(width)).astype(np.float64)
        return np.column_stack([found, gaps]) if self.indicator else found

    def alternatives(self, column: Column) -> tuple[list[str], Array]:
        """Return indicators of levels, and of the rare ones together."""
        labels = [*self.levels.tolist(), *(["(other)"] if len(self.rare) else [])]
        at = evenly(len(labels))
        indicators = np.eye(len(labels), len(labels) + self.indicator)
        return [labels[place] for place in at], indicators[at]

    def shares(self, means: Array, levels: int) -> Array:
        """Return the means of the indicators."""
        found = np.maximum(means[evenly(len(self.levels) + bool(len(self.rare)))], 0.0)
        return found / found.sum() if found.sum() > 0 else super().shares(means, levels)

    def describe(self) -> str:
        """Return the words."""
        rare = f", {len(self.rare)} rare ones together" if len(self.rare) else ""
        return f"category of {len(self.levels) + len(self.rare)} levels: an indicator each{rare}"

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError unless levels are distinct and gaps become one of them."""
        check_levels(self.levels, self.rare)
        if not 0 <= self.fill < max(1, len(self.levels)):
            raise ValueError("fill must be the place of a level")


@dataclass(frozen=True)
class TargetColumn(LevelColumn):
    """The mean of y in the rows of a level, shrunk towards the mean of all levels.

    Rows that it was learned from get the mean of the other folds; ``deal`` says how rows are dealt
    to them, and ``kept`` which share of the differences between levels shrinking leaves, on
    average over rows.
    """

    state = State(
        prior=Numbers("k"),
        values=Numbers("levels+1 k"),
        by_fold=Numbers(f"{FOLDS} levels+1 k"),
        deal=OneOf(DEALS),
        kept=Number(least=0.0),
    )
    levels: Array
    values: Array  # (L + 1, k); the last is that of gaps
    by_fold: Array  # (folds, L + 1, k)
    prior: Array  # (k,), for unknown levels
    hashed: bool = False
    deal: str = "content"
    kept: float = 1.0
    kind: ClassVar[str] = "category"

    def names(self, name: str) -> list[str]:
        """Return a name per output."""
        outputs = self.values.shape[1]
        return [name] if outputs == 1 else [f"{name}:{output}" for output in range(outputs)]

    def places(self, column: Column) -> Array:
        """Return the place of the level, or bucket, of each row."""
        if not self.hashed:
            return super().places(column)
        column = as_text(column)
        numbers = level_hashes(column.levels) % np.uint64(BUCKETS)
        found = [self._places.get(str(number), -2) for number in numbers.tolist()]
        return np.append(np.array(found, dtype=np.intp), -1)[column.codes]

    def __call__(self, column: Column, folds: Array | None = None) -> Array:
        """Return the means."""
        places = self.places(column)
        size = len(self.levels)
        at = np.where(places == -1, size, np.maximum(places, 0))
        found = self.values[at] if folds is None else self.by_fold[folds, at]
        return np.where((places == -2)[:, None], self.prior, found)

    def alternatives(self, column: Column) -> tuple[list[str], Array]:
        """Return levels from the lowest to the highest mean of y; hashed ones are in the column."""
        if self.hashed:
            return super().alternatives(column)
        order = np.argsort(self.values[:-1, 0], kind="stable")
        order = order[evenly(len(order))]
        return self.levels[order].tolist(), self.values[order]

    def shifted(self, origin: Array) -> TargetColumn:
        """Return the means of y, if these are the means of ``y - origin``."""
        parts = {name: getattr(self, name) + origin for name in ("values", "by_fold", "prior")}
        return replace(self, **parts)

    def describe(self) -> str:
        """Return the words."""
        what = "buckets of levels" if self.hashed else "levels"
        shrunk = f", shrunk by {1 - self.kept:.0%}" if self.kept < 0.995 else ""
        return f"category of {len(self.levels):,} {what}: the mean of y in each{shrunk}"


@dataclass(frozen=True)
class HashColumn(CategoryColumn):
    """Levels hashed into a few columns, with a sign, so that y is not needed."""

    state = State(width=Count(most=2**16, must=f"width must be from 1 to {2**16}, got {{value}}"))
    width: int = 16
    kind: ClassVar[str] = "category"

    def names(self, name: str) -> list[str]:
        """Return a name per column."""
        return [f"{name}#{number}" for number in range(self.width)]

    def __call__(self, column: Column, folds: Array | None = None) -> Array:
        """Return +1 or -1 in the column of each level; zeros for gaps."""
        column = as_text(column)
        hashes = level_hashes(column.levels)
        table = np.zeros((len(hashes) + 1, self.width))
        at = (hashes % np.uint64(self.width)).astype(np.intp)
        table[np.arange(len(hashes)), at] = np.where(hashes >> np.uint64(31), 1.0, -1.0)
        return table[column.codes]

    def describe(self) -> str:
        """Return the words."""
        return f"category: levels hashed into {self.width} columns"


@dataclass(frozen=True)
class OrderedColumn(LevelColumn):
    """The place of a level in their order."""

    levels: Array
    fill: float
    indicator: bool = False
    kind: ClassVar[str] = "ordered category"

    def names(self, name: str) -> list[str]:
        """Return the column, and whether it is missing."""
        return [name, f"{name} missing"] if self.indicator else [name]

    def __call__(self, column: Column, folds: Array | None = None) -> Array:
        """Return the places."""
        places = self.places(column)
        filled = np.where(places < 0, self.fill, places)
        return np.column_stack([filled, places == -1]) if self.indicator else filled[:, None]

    def alternatives(self, column: Column) -> tuple[list[str], Array]:
        """Return levels in their order."""
        places = evenly(len(self.levels))
        return self.levels[places].tolist(), self(Coded(places, self.levels))

    def describe(self) -> str:
        """Return the words."""
        return f"ordered category: {' < '.join(map(str, self.levels[:4]))}" + (
            " < ..." if len(self.levels) > 4 else ""
        )

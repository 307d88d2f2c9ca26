"""What each column of a table means, decided from its sums, and the encoder that follows.

Text that reads as numbers or dates becomes numbers or dates. Other text is a category: an indicator
per level if there are few, the mean of y in each level if there are many. Columns without
information, and identifiers, are left out. A choice by name always wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import fdtrc

from mercer.columns.column_encoders import (
    ColumnEncoder,
    DateColumn,
    DroppedColumn,
    NumberColumn,
)
from mercer.columns.column_statistics import DateSums, LevelSums, NumberSums
from mercer.columns.level_encoders import HashColumn, OneHotColumn, OrderedColumn, TargetColumn
from mercer.columns.table_sums import TableSums
from mercer.columns.target_means import target_means
from mercer.columns.text_dates import is_ambiguous, parse_dates, preferred_format
from mercer.columns.text_numbers import NumberStyle, parse_numbers, preferred, styles_of
from mercer.contracts import Array
from mercer.rows.table import Coded
from mercer.validation import check_choice, closest, warn

#: Kinds that can be asked for by name; a list of levels asks for an ordered category.
KINDS = ("number", "category", "one_hot", "target", "hash", "ordered", "date", "drop")
#: An indicator column for gaps is added if they are at least this share of the rows.
MANY_GAPS = 0.01
#: Text is an identifier if this share of its values are distinct, among at least so many rows.
DISTINCT, ENOUGH = 0.9, 50
#: Whole numbers without relation to y: the probability of as much relation by chance.
BY_CHANCE = 0.001
BINS = 16
#: A level is rare if it has fewer rows than both this number and this share of all.
RARE, RARE_SHARE = 10, 0.01


@dataclass(frozen=True)
class Options:
    """What a user asks of the encoding; see :class:`~mercer.TableEncoder`."""

    types: Mapping[str, Any] = field(default_factory=dict)
    max_levels: int = 20
    min_frequency: float | str = "auto"
    smooth: float | str = "auto"
    arrays: bool = False  # rows of an array: numbers, whatever they look like


def learned_encoders(sums: TableSums, options: Options) -> dict[str, ColumnEncoder]:
    """Return an encoder for every column."""
    for name, kind in options.types.items():
        if name not in sums.columns:
            raise ValueError(
                f"columns must name columns of the table, got {name!r}"
                f"{closest(name, list(sums.columns))}"
            )
        if isinstance(kind, str):
            check_choice(kind, f"kind of column {name!r}:", KINDS)
        elif not (isinstance(kind, (list, tuple)) and all(isinstance(k, str) for k in kind)):
            raise TypeError(
                f"the kind of column {name!r} must be one of {', '.join(KINDS)}, or a list of "
                f"levels in their order, got {kind!r}"
            )
    found = {name: _Column(name, sums, options).encoder() for name in sums.columns}
    if all(isinstance(encoder, DroppedColumn) for encoder in found.values()):
        found |= _only_numbers(found, sums)
    return found


def _only_numbers(found: dict[str, ColumnEncoder], sums: TableSums) -> dict[str, ColumnEncoder]:
    """Return numbers that look like identifiers as numbers, for a table of nothing else."""
    return {
        name: NumberColumn(column.mean)
        for name, column in sums.columns.items()
        if isinstance(column, NumberSums) and found[name] == DroppedColumn(_identifier(name))
    }


def _identifier(name: str) -> str:
    """Return why numbers are left out."""
    return f"it looks like an identifier; keep it with columns={{{name!r}: 'number'}}"


class _Column:
    """One column, and how to encode it."""

    def __init__(self, name: str, sums: TableSums, options: Options) -> None:
        self.name, self.options = name, options
        self.asked = options.types.get(name)
        found = sums.columns[name]
        self.sums = found.sorted() if isinstance(found, LevelSums) else found
        self.sample, self.Y = sums.sample.columns[name], sums.Y
        present = self.sums.rows - self.sums.gaps
        self.present = present
        self.indicator = self.sums.gaps >= max(1.0, MANY_GAPS * self.sums.rows)

    def encoder(self) -> ColumnEncoder:
        """Return the encoder."""
        if self.asked == "drop":
            return DroppedColumn("as asked")
        if not self.present:
            return DroppedColumn("it has no values")
        if isinstance(self.sums, LevelSums):
            return self.of_text(self.sums)
        if isinstance(self.sums, DateSums):
            if self.asked == "number":  # days since 1970
                return DateColumn(0.0, self.sums.days.mean, indicator=self.indicator)
            if self.asked not in (None, "date"):
                raise self.misfit("dates")
            return self.of_dates(self.sums.days, self.sums.timed, None)
        return self.of_numbers(self.sums)

    # -- numbers -------------------------------------------------------------------------------

    def of_numbers(self, sums: NumberSums) -> ColumnEncoder:
        if self.asked not in (None, "number"):
            raise self.misfit("numbers")  # a category of numbers is read as text
        if self.asked is None and not self.options.arrays:
            if sums.constant and not self.indicator:
                return DroppedColumn("it is constant")
            if self.is_identifier(sums):
                return DroppedColumn(_identifier(self.name))
        return NumberColumn(sums.mean, self.indicator)

    def is_identifier(self, sums: NumberSums) -> bool:
        """Return whether whole numbers are all distinct, and consecutive or unrelated to y.

        In any order of the rows: those of shards have none.
        """
        if not sums.whole or sums.gaps or self.present < ENOUGH:
            return False
        values = np.asarray(self.sample)
        if len(np.unique(values)) < len(values):
            return False
        return sums.high - sums.low == sums.rows - 1 or not related(values, self.Y)

    # -- dates ---------------------------------------------------------------------------------

    def of_dates(self, days: NumberSums, timed: bool, format: Any) -> ColumnEncoder:
        span = days.high - days.low
        cycles = [
            *(["year"] if span > 60 else []),
            *(["week"] if span > 6 else []),
            *(["day"] if timed else []),
        ]
        elapsed = span > 0 and not (timed and days.high < 1)  # not for times of day alone
        if not cycles and not elapsed:
            if not self.indicator:
                return DroppedColumn("it is constant")
            elapsed = True
        return DateColumn(
            float(np.floor(days.low)), days.mean, tuple(cycles), elapsed, self.indicator, format
        )

    # -- text ----------------------------------------------------------------------------------

    def of_text(self, sums: LevelSums) -> ColumnEncoder:
        asked = self.asked
        if isinstance(asked, (list, tuple)):
            return self.ordered(sums, np.array(asked, dtype=object))
        if asked == "ordered" or (asked is None and sums.ordered):
            return self.ordered(sums, sums.levels)
        style, format = preferred(sums.styles), preferred_format(sums.formats)
        if asked == "number" or (asked is None and style is not None):
            if style is None and not sums.hashed:  # of declared categories
                style = preferred(styles_of(sums.levels))
            if style is None:
                raise self.misfit("text that is not all numbers")
            return self.numbers_in_text(sums, style)
        if asked == "date" or (asked is None and format is not None):
            if format is None:
                raise self.misfit("text that is not all dates")
            if is_ambiguous(sums.formats):
                warn(
                    f"the dates of column {self.name!r} could be day/month or month/day, and are "
                    f"read as {format.value}: write them as year-month-day if that is wrong"
                )
            days = self.dated(sums, parse_dates, format)
            return self.of_dates(days.days, days.timed, format)
        if asked is None:
            if len(sums.levels) == 1 and not self.indicator:
                return DroppedColumn("it is constant")
            if self.is_distinct(sums):
                return DroppedColumn(
                    f"nearly all values are distinct, as of an identifier or free text; keep it "
                    f"with columns={{{self.name!r}: 'category'}}"
                )
        return self.category(sums)

    def is_distinct(self, sums: LevelSums) -> bool:
        if self.present < ENOUGH:
            return False
        if not sums.hashed:
            return len(sums.levels) > DISTINCT * self.present
        assert isinstance(self.sample, Coded)
        codes = self.sample.codes[self.sample.codes >= 0]
        return len(np.unique(codes)) > DISTINCT * len(codes)

    def category(self, sums: LevelSums) -> ColumnEncoder:
        asked, options = self.asked, self.options
        if asked == "hash":
            return HashColumn()
        labelled = sums.sums[..., 1].sum() > 0 and sums.sums.shape[2] > 2
        many = sums.hashed or len(sums.levels) > options.max_levels
        if asked == "target" or (asked != "one_hot" and many and labelled):
            if not labelled:
                raise ValueError(
                    f"column {self.name!r} cannot be encoded by the mean of y without y: use "
                    f"'one_hot' or 'hash'"
                )
            means = target_means(sums.sums, options.smooth)
            return TargetColumn(sums.levels, *means, sums.hashed)
        if sums.hashed or (asked is None and many and not labelled):
            return HashColumn()
        weight = sums.sums[:, :-1, 0].sum(axis=0)
        least = options.min_frequency
        if isinstance(least, str):
            rare = weight < min(RARE, RARE_SHARE * weight.sum())
            if rare.sum() < 2:  # nothing to put together
                rare = np.zeros(len(weight), dtype=bool)
        else:
            rare = weight < (least if least >= 1 else least * sums.sums[..., 0].sum())
        most = np.argmax(weight)  # what gaps become, like the mode of SimpleImputer
        if rare.all():
            rare[most] = False
        frequent = sums.levels[~rare]
        fill = int(np.sum(~rare[:most]))
        return OneHotColumn(frequent, sums.levels[rare], fill, self.indicator)

    def ordered(self, sums: LevelSums, levels: Array) -> ColumnEncoder:
        known = set(levels.tolist())
        unknown = [level for level in sums.levels.tolist() if level not in known]
        if unknown:
            raise ValueError(
                f"the order of column {self.name!r} must have all of its levels, but lacks "
                f"{unknown[0]!r}"
            )
        place = {level: number for number, level in enumerate(levels.tolist())}
        at = np.array([place[level] for level in sums.levels.tolist()], dtype=float)
        weight = sums.sums[:, :-1, 0].sum(axis=0)
        return OrderedColumn(levels, float(weight @ at / weight.sum()), self.indicator)

    def numbers_in_text(self, sums: LevelSums, style: NumberStyle) -> ColumnEncoder:
        """Return numbers that are written as text; of hashed levels, a sample gives the mean."""
        assert isinstance(self.sample, Coded)
        if sums.hashed:
            levels = self.sample.used().values()
            levels = levels[[level is not None for level in levels]]
            found = NumberSums.of(parse_numbers(levels, style), np.ones(len(levels)))
        else:
            weight = sums.sums[:, :-1, 0].sum(axis=0)
            found = NumberSums.of(parse_numbers(sums.levels, style), weight)
        if found.constant and not self.indicator and self.asked is None:
            return DroppedColumn("it is constant")
        return NumberColumn(found.mean, self.indicator, style)

    def dated(self, sums: LevelSums, parse: Any, format: Any) -> DateSums:
        assert isinstance(self.sample, Coded)
        if sums.hashed:
            levels = self.sample.used().levels
            return DateSums.of(parse(levels, format), np.ones(len(levels)))
        return DateSums.of(parse(sums.levels, format), sums.sums[:, :-1, 0].sum(axis=0))

    def misfit(self, got: str) -> ValueError:
        return ValueError(
            f"column {self.name!r} cannot be read as {self.asked!r}, since it contains {got}"
        )


def related(values: Array, Y: Array) -> bool:
    """Return whether y differs between bins of the values by more than chance, by an F test.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(100.0)[:, None]
    >>> related(np.arange(100.0), y), related(rng.permutation(100), y)
    (True, False)
    """
    known = ~np.isnan(Y).any(axis=1) & ~np.isnan(values)
    values, Y = values[known], Y[known]
    n = len(values)
    bins = min(BINS, n // 5)
    if bins < 2:
        return True  # too few rows to tell
    at = np.empty(n, dtype=np.intp)
    at[np.argsort(values, kind="stable")] = np.arange(n) * bins // n
    count = np.bincount(at, minlength=bins)
    for y in Y.T:
        between = float(np.sum(np.bincount(at, y - y.mean(), bins) ** 2 / count))
        within = float(np.sum((y - y.mean()) ** 2)) - between
        if between <= 0:
            continue
        ratio = (between / (bins - 1)) / max(within / (n - bins), 1e-300)
        if fdtrc(bins - 1, n - bins, ratio) < BY_CHANCE / Y.shape[1]:
            return True
    return False

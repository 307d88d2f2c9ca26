"""What each column of a table means, decided from its sums, and the encoder that follows.

Text that reads as numbers or dates becomes numbers or dates. Other text is a category: an indicator
per level if there are few, the mean of y in each level if there are many. Columns without
information, and identifiers, are left out. A choice by name always wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.columns.column_encoders import (
    ColumnEncoder,
    DateColumn,
    DroppedColumn,
    NumberColumn,
)
from mercer.columns.column_statistics import DateSums, LevelSums, NumberSums
from mercer.columns.level_encoders import HashColumn, OneHotColumn, OrderedColumn
from mercer.columns.relation import related, without_effects
from mercer.columns.table_sums import TableSums
from mercer.columns.target_means import noise_ratio, target_means
from mercer.columns.text_dates import DateFormat, is_ambiguous, parse_dates, preferred_format
from mercer.columns.text_numbers import NumberStyle, preferred, read_numbers, styles_of
from mercer.contracts import Array
from mercer.rows.table import Coded
from mercer.validation import check_choice, warn

#: Kinds that can be asked for by name; a list of levels asks for an ordered category.
KINDS = ("number", "category", "one_hot", "target", "hash", "ordered", "date", "drop")
#: An indicator column for gaps is added if they are at least this share of the rows.
MANY_GAPS = 0.01
#: Text is an identifier if this share of its values are distinct, among at least so many rows.
DISTINCT, ENOUGH = 0.9, 50
#: A level is rare if it has fewer rows than this number, this share of all, this share of the rows
#: of a level on average, and than the ratio of the variances of y within and between levels: its
#: own mean then says less of it than the mean of all.
RARE, RARE_SHARE, RARE_LEVEL = 10, 0.01, 1 / 3
#: A category has indicators up to the first of these numbers of levels, and up to the second where
#: a level has so many rows on average. Only indicators show how several categories act together.
FEW_LEVELS, MORE_LEVELS, ENOUGH_ROWS = 20, 500, 5


@dataclass(frozen=True)
class Options:
    """What a user asks of the encoding; see :class:`~mercer.TableEncoder`."""

    types: Mapping[str, Any] = field(default_factory=dict)
    max_levels: int | str = "auto"
    min_frequency: float | str = "auto"
    smooth: float | str = "auto"
    arrays: bool = False  # rows of an array: numbers, whatever they look like


def learned_encoders(sums: TableSums, options: Options) -> dict[str, ColumnEncoder]:
    """Return an encoder for every column."""
    for name, kind in options.types.items():
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
        self.wanted = options.types.get(name)
        found = sums.columns[name]
        self.sums = found.sorted() if isinstance(found, LevelSums) else found
        self.sample, self.Y, self.deal = sums.sample.columns[name], sums.Y, sums.deal
        self.others = {key: one for key, one in sums.sample.columns.items() if key != name}
        self.present = self.sums.rows - self.sums.gaps
        self.indicator = self.sums.gaps >= max(1.0, MANY_GAPS * self.sums.rows)

    def encoder(self) -> ColumnEncoder:
        """Return the encoder."""
        if self.wanted == "drop":
            return DroppedColumn("as asked")
        if not self.present:
            return DroppedColumn("it has no values")
        if isinstance(self.sums, LevelSums):
            return self.of_text(self.sums)
        if isinstance(self.sums, DateSums):
            if self.wanted == "number":  # days since 1970
                return DateColumn(0.0, self.sums.days.mean, indicator=self.indicator)
            if self.wanted not in (None, "date"):
                raise self.misfit("dates")
            return self.of_dates(self.sums, None)
        return self.of_numbers(self.sums)

    # -- numbers -------------------------------------------------------------------------------

    def of_numbers(self, sums: NumberSums) -> ColumnEncoder:
        if self.wanted not in (None, "number"):
            raise self.misfit("numbers")  # a category of numbers is read as text
        if self.wanted is None and not self.options.arrays:
            if sums.constant and not self.indicator:
                return DroppedColumn("it is constant")
            if self.is_identifier(sums):
                return DroppedColumn(_identifier(self.name))
        return NumberColumn(sums.mean, self.indicator, binary=sums.binary)

    def is_identifier(self, sums: NumberSums) -> bool:
        """Return whether whole numbers are all distinct and unrelated to y."""
        if not sums.whole or sums.gaps or self.present < ENOUGH:
            return False
        values = np.asarray(self.sample)
        if len(np.unique(values)) < len(values):
            return False
        if not (related(values, self.Y) or related(values, without_effects(self.others, self.Y))):
            return True
        if sums.high - sums.low == sums.rows - 1:
            warn(
                f"column {self.name!r} counts the rows, and y changes with it, so it is kept: use "
                f"columns={{{self.name!r}: 'drop'}} if it only says in which order rows were stored"
            )
        return False

    # -- dates ---------------------------------------------------------------------------------

    def of_dates(self, sums: DateSums, format: DateFormat | None) -> ColumnEncoder:
        days, timed = sums.days, sums.timed
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
        wanted = self.wanted
        if isinstance(wanted, (list, tuple)):
            return self.ordered(sums, np.array(wanted, dtype=object))
        if wanted == "ordered" or (wanted is None and sums.ordered):
            return self.ordered(sums, sums.levels)
        style, format = preferred(sums.styles), preferred_format(sums.formats)
        if wanted == "number" or (wanted is None and style is not None):
            style = style or self.most_common_style()
            if style is None:
                raise self.misfit("text that is not all numbers")
            return self.numbers_in_text(sums, style)
        if wanted == "date" or (wanted is None and format is not None):
            if format is None:
                raise self.misfit("text that is not all dates")
            if is_ambiguous(sums.formats):
                orders = " or ".join(f.value for f in DateFormat if f in sums.formats)
                warn(
                    f"the dates of column {self.name!r} could be {orders}, and are read as "
                    f"{format.value}: write them as year-month-day if that is wrong"
                )
            levels, weight = self.known_levels(sums)
            return self.of_dates(DateSums.of(parse_dates(levels, format), weight), format)
        if wanted is None:
            if len(sums.levels) == 1 and not self.indicator:
                return DroppedColumn("it is constant")
            if self.is_distinct(sums):
                style = self.most_common_style(DISTINCT)
                if style is not None:
                    return self.numbers_in_text(sums, style)
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

    def most_common_style(self, share: float = 0.0) -> NumberStyle | None:
        """Return how most of the text is written that is a number, if that is such a share."""
        assert isinstance(self.sample, Coded)
        levels = self.sample.used().levels
        counts = Counter(style for level in levels for style in styles_of([level]))
        most = max(counts.values(), default=0)
        common = preferred(frozenset(style for style, count in counts.items() if count == most))
        return common if most > share * len(levels) else None

    def category(self, sums: LevelSums) -> ColumnEncoder:
        wanted, options = self.wanted, self.options
        if wanted == "hash":
            return HashColumn()
        labelled = sums.totals.shape[1] > 2 and sums.totals[:, 1].sum() > 0
        weight, least = sums.weight, options.min_frequency
        if isinstance(least, str):
            average = weight.sum() / max(1, len(weight))
            most = min(RARE, RARE_SHARE * weight.sum(), RARE_LEVEL * average)
            rare = weight < (min(most, noise_ratio(sums.totals)) if labelled else most)
            if rare.sum() < 2:  # nothing to put together
                rare = np.zeros(len(weight), dtype=bool)
        else:
            rare = weight < (least if least >= 1 else least * sums.totals[:, 0].sum())
        most_levels = options.max_levels
        if isinstance(most_levels, str):
            rows = max(weight.sum(), self.present)  # weight 2 is the row twice
            most_levels = max(FEW_LEVELS, min(MORE_LEVELS, int(rows / ENOUGH_ROWS)))
        many = sums.hashed or len(sums.levels) > most_levels
        if wanted == "target" or (wanted != "one_hot" and many and labelled):
            if not labelled:
                raise ValueError(
                    f"column {self.name!r} cannot be encoded by the mean of y without y: use "
                    f"'one_hot' or 'hash'"
                )
            return target_means(sums, self.deal, options.smooth)
        if sums.hashed or (wanted is None and many and not labelled):
            return HashColumn()
        mode = np.argmax(weight)  # what gaps become, like the mode of SimpleImputer
        if rare.all():
            rare[mode] = False
        frequent = sums.levels[~rare]
        fill = int(np.sum(~rare[:mode]))
        return OneHotColumn(frequent, sums.levels[rare], fill, self.indicator)

    def ordered(self, sums: LevelSums, levels: Array) -> ColumnEncoder:
        place = {level: number for number, level in enumerate(levels.tolist())}
        unknown = [level for level in sums.levels.tolist() if level not in place]
        if unknown:
            raise ValueError(
                f"the order of column {self.name!r} must have all of its levels, but lacks "
                f"{unknown[0]!r}"
            )
        at = np.array([place[level] for level in sums.levels.tolist()], dtype=float)
        weight = sums.weight
        return OrderedColumn(levels, float(weight @ at / weight.sum()), self.indicator)

    def numbers_in_text(self, sums: LevelSums, style: NumberStyle) -> ColumnEncoder:
        """Return numbers that are written as text; text that is no number is a gap."""
        levels, weight = self.known_levels(sums)
        values = read_numbers(levels.tolist(), style)
        found, odd = NumberSums.of(values, weight), np.isnan(values)
        if odd.any():
            warn(
                f"column {self.name!r} is read as numbers, and what is no number, such as "
                f"{levels[odd][0]!r}, as gaps: mend it, or keep all as text with "
                f"columns={{{self.name!r}: 'category'}}"
            )
        many = odd.any() and weight[odd].sum() >= MANY_GAPS * weight.sum()
        indicator = self.indicator or bool(many)
        if found.constant and not indicator and self.wanted is None:
            return DroppedColumn("it is constant")
        return NumberColumn(found.mean, indicator, style, found.binary)

    def known_levels(self, sums: LevelSums) -> tuple[Array, Array]:
        """Return the levels and their weights; where they are hashed, those of the sample."""
        if not sums.hashed:
            return sums.levels, sums.weight
        assert isinstance(self.sample, Coded)
        levels = self.sample.used().levels
        return levels, np.ones(len(levels))

    def misfit(self, got: str) -> ValueError:
        return ValueError(
            f"column {self.name!r} cannot be read as {self.wanted!r}, since it contains {got}"
        )

"""The encoding of a table: a map of every column, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.columns.column_encoders import ColumnEncoder, DroppedColumn, NumberColumn
from mercer.columns.level_encoders import TargetColumn
from mercer.columns.table_sums import with_text
from mercer.contracts import Array, RowSource
from mercer.rows.rowset import RowSet
from mercer.rows.table import Table, as_text, gaps_of
from mercer.storage.state import Each, Part, Sizes, State
from mercer.validation import check_count


@dataclass(frozen=True)
class Surprise:
    """How many values of a column are unknown or unreadable, and missing where none was before.

    >>> str(Surprise(2, 0, "such as 'x'", ("unknown", "taken as 'other'")) + Surprise(1, 1))
    "3 unknown values (such as 'x'), taken as 'other' and 1 missing values, filled"
    """

    unknown: int
    missing: int
    example: str = ""
    strange: tuple[str, str] = ("", "")

    def __add__(self, other: Surprise) -> Surprise:
        told = self if self.unknown else other
        return replace(
            told, unknown=self.unknown + other.unknown, missing=self.missing + other.missing
        )

    def __str__(self) -> str:
        what, became = self.strange
        words = [f"{self.unknown:,} {what} values ({self.example}), {became}"] * bool(self.unknown)
        words += [f"{self.missing:,} missing values, filled"] * bool(self.missing)
        return " and ".join(words)


@dataclass(frozen=True)
class TableEncoding:
    """``x -> (e_1(x_1), ..., e_d(x_d))``: a map of every column to one or more columns of numbers.

    Parameters
    ----------
    names : tuple of str
        The columns of the table.
    encoders : tuple of ColumnEncoder
        The map of each.
    text : tuple of str
        Columns that are read as text, whatever they contain.
    gaps : tuple of int
        How many values were missing in each column.

    Examples
    --------
    >>> encoding = TableEncoding(("size",), (NumberColumn(2.0, True),))
    >>> encoding(Table({"size": np.array([1.0, np.nan])}))
    array([[1., 0.],
           [2., 1.]])
    """

    state = State(
        names=Each(Part(str), must="names must be text"),
        gaps=Each(Part(int, must="there must be one count of gaps for every column")),
        encoders=Each(Part(ColumnEncoder, "", must="encoders must be encoders, got {kind}")),
        text=Each(Part(str), must="text must list some of the columns"),
    )
    names: tuple[str, ...]
    encoders: tuple[ColumnEncoder, ...]
    text: tuple[str, ...] = ()
    gaps: tuple[int, ...] = ()

    @cached_property
    def _parts(self) -> dict[str, ColumnEncoder]:
        return dict(zip(self.names, self.encoders, strict=True))

    @cached_property
    def feature_names(self) -> list[str]:
        """The names of the new columns."""
        return [new for name, encoder in self._parts.items() for new in encoder.names(name)]

    @cached_property
    def origins(self) -> Array:
        """The column of the table that each new column comes from."""
        widths = [len(encoder.names(name)) for name, encoder in self._parts.items()]
        return np.repeat(np.arange(len(self.names)), widths)

    @property
    def is_identity(self) -> bool:
        """Whether rows without gaps stay as they are."""
        return not self.text and all(
            isinstance(encoder, NumberColumn) and not encoder.indicator and encoder.style is None
            for encoder in self.encoders
        )

    @classmethod
    def as_given(cls, names: Sequence[str]) -> TableEncoding:
        """Return the encoding that takes numbers as they are, gaps too, by name."""
        return cls(tuple(names), (NumberColumn(np.nan),) * len(names))

    @property
    def dropped(self) -> dict[str, str]:
        """The columns that are left out, and why."""
        return {
            name: encoder.reason
            for name, encoder in self._parts.items()
            if isinstance(encoder, DroppedColumn)
        }

    @cached_property
    def needed(self) -> list[str]:
        """The columns that are not left out, which rows to predict must have."""
        return [name for name in self.names if name not in self.dropped]

    def named(self, table: Table) -> Table:
        """Return a table with the names of the fit, by place if its own are others."""
        if set(self.needed) <= set(table.columns):
            return table
        return Table(dict(zip(self.names, table.columns.values(), strict=True)), table.n_rows)

    def table(self, table: Table) -> Table:
        """Return the columns of the fit, as they were read then; others may be missing."""
        names = [name for name in self.names if name in table.columns or name in self.needed]
        return with_text(table.selected(names), [name for name in self.text if name in names])

    @property
    def deal(self) -> str | None:
        """How rows were dealt to folds of means of y; None without such columns."""
        deals = [encoder.deal for encoder in self.encoders if isinstance(encoder, TargetColumn)]
        return deals[0] if deals else None

    def renamed(self, names: Sequence[str]) -> TableEncoding:
        """Return the same map for columns of other names."""
        known = dict(zip(self.names, names, strict=True))
        return replace(self, names=tuple(names), text=tuple(known[name] for name in self.text))

    def __call__(self, table: Table, folds: Array | None = None) -> Array:
        """Return the new columns as float64; ``folds`` are those of rows of the fit."""
        table = self.table(table)
        out = np.empty((table.n_rows, len(self.feature_names)))
        at = 0
        for name, encoder in self._parts.items():
            if isinstance(encoder, DroppedColumn):
                continue
            values = encoder(table.columns[name], folds)
            out[:, at : at + values.shape[1]] = values
            at += values.shape[1]
        return out

    def shifted(self, origin: Array) -> TableEncoding:
        """Return the same map if it was learned from ``y - origin`` instead of y."""
        encoders = (
            encoder.shifted(origin) if isinstance(encoder, TargetColumn) else encoder
            for encoder in self.encoders
        )
        return replace(self, encoders=tuple(encoders))

    def surprises(self, table: Table) -> dict[str, Surprise]:
        """Return what the fit has not seen, by column."""
        table = self.table(table)
        found = {}
        for number, (name, encoder) in enumerate(self._parts.items()):
            if isinstance(encoder, DroppedColumn):
                continue
            column = table.columns[name]
            missing = 0 if self.gaps and self.gaps[number] else int(gaps_of(column).sum())
            unknown = np.flatnonzero(encoder.unknown(column))
            if len(unknown) or missing:
                example = "".join(f"such as {v!r}" for v in as_text(column[unknown[:1]]).values())
                found[name] = Surprise(len(unknown), missing, example, encoder.strange)
        return found

    def by_column(self, shares: Array) -> Array:
        """Return the sums of shares of the new columns by column of the table."""
        return np.bincount(self.origins, shares, len(self.names))

    def describe(self) -> list[tuple[str, str]]:
        """Return what became of each column, in words."""
        gaps = self.gaps or (0,) * len(self.names)
        return [
            (name, encoder.describe() + (f"; {count:,} gaps" if count else ""))
            for (name, encoder), count in zip(self._parts.items(), gaps, strict=True)
        ]

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError unless there is one map per column, and something is left."""
        if len(self.names) != len(set(self.names)) or len(self.names) != len(self.encoders):
            raise ValueError("there must be one encoder for every column")
        if self.gaps and len(self.gaps) != len(self.names):
            raise ValueError("there must be one count of gaps for every column")
        for count in self.gaps:
            check_count(count, "gaps", minimum=0)
        if not set(self.text) <= set(self.names):
            raise ValueError("text must list some of the columns")
        if not self.feature_names:
            raise ValueError("no column is left")


def is_in_order(rows: RowSource | RowSet, names: Sequence[str]) -> bool:
    """Return whether rows have these columns in this order, as far as theirs have names."""
    return rows.feature_names is None or list(rows.feature_names) == list(names)

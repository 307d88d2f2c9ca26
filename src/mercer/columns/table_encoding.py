"""The encoding of a table: a map of every column, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.columns.column_encoders import ColumnEncoder, DroppedColumn, NumberColumn
from mercer.columns.level_encoders import TargetColumn
from mercer.columns.row_folds import folds_of, row_hashes
from mercer.columns.table_sums import with_text
from mercer.contracts import Array
from mercer.rows.table import Table, gaps_of
from mercer.validation import check_count


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

    def table(self, table: Table) -> Table:
        """Return the columns of the fit, as they were read then; others may be missing."""
        names = [name for name in self.names if name in table.columns or name in self.needed]
        return with_text(table.selected(names), [name for name in self.text if name in names])

    def __call__(self, table: Table, training: bool = False) -> Array:
        """Return the new columns as float64; ``training`` leaves out the fold of each row."""
        table = self.table(table)
        folds = None
        if training and any(isinstance(encoder, TargetColumn) for encoder in self.encoders):
            folds = folds_of(row_hashes(table))
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

    def surprises(self, table: Table) -> dict[str, tuple[int, int]]:
        """Return how many values of each column are unknown, and missing where none was before."""
        table = self.table(table)
        found = {}
        for number, (name, encoder) in enumerate(self._parts.items()):
            if isinstance(encoder, DroppedColumn):
                continue
            column = table.columns[name]
            missing = 0 if self.gaps and self.gaps[number] else int(gaps_of(column).sum())
            unknown = encoder.unknown(column)
            if unknown or missing:
                found[name] = unknown, missing
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

    def check_state(self) -> None:
        """Raise ValueError unless there is a valid map per column."""
        if not all(isinstance(name, str) for name in self.names):
            raise ValueError("names must be text")
        if len(self.names) != len(set(self.names)) or len(self.names) != len(self.encoders):
            raise ValueError("there must be one encoder for every column")
        whole = all(isinstance(count, int) for count in self.gaps)
        if not whole or (self.gaps and len(self.gaps) != len(self.names)):
            raise ValueError("there must be one count of gaps for every column")
        for count in self.gaps:
            check_count(count, "gaps", minimum=0)
        for encoder in self.encoders:
            if not isinstance(encoder, ColumnEncoder):
                raise ValueError(f"encoders must be encoders, got {type(encoder).__name__}")
            encoder.check_state()
        if not set(self.text) <= set(self.names):
            raise ValueError("text must list some of the columns")
        if not self.feature_names:
            raise ValueError("no column is left")

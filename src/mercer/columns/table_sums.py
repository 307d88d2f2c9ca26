"""What is learned of a table: sums of every column, and a sample of rows, in one pass.

Some questions are no sums: whether whole numbers are an identifier, say. A sample answers them,
which adds over shards too: the rows with the smallest hashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.column_statistics import DateSums, LevelSums, NumberSums
from mercer.columns.row_folds import folds_of, row_hashes
from mercer.contracts import Array, RowBlock, Targets
from mercer.rows.dialect import decimal_of
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.table import Coded, Column, Table, as_text, gaps_of, kind_of_column
from mercer.validation import column_label

#: Rows of a block, and of the sample.
ROWS = 32_768
SAMPLE = 2000


@dataclass(frozen=True)
class TableSums:
    """The sums of all columns of some rows; ``sample`` has rows of the smallest hashes."""

    rows: int
    columns: dict[str, NumberSums | DateSums | LevelSums]
    sample: Table
    hashes: Array
    Y: Array  # encoded targets of the sample, NaN for rows without one

    @classmethod
    def of(
        cls,
        table: Table,
        weight: Array | None,
        Y: Array,
        start: int = 0,
        gaps: bool = True,
        sample: int = SAMPLE,
        decimal: str = ".",
    ) -> TableSums:
        """Return the sums of a block, and a sample of at most so many rows of it.

        Infinity is an error, and so are gaps unless they are allowed.
        """
        for number, column in enumerate(table.columns.values()):
            check_values(column, number, table.names, start, gaps)
        w = np.ones(table.n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
        hashes = row_hashes(table)
        folds = folds_of(hashes)
        columns: dict[str, NumberSums | DateSums | LevelSums] = {}
        for name, column in table.columns.items():
            if isinstance(column, Coded):
                columns[name] = LevelSums.of(column, w, folds, Y, decimal)
            elif column.dtype.kind == "M":
                columns[name] = DateSums.of(column, w)
            else:
                columns[name] = NumberSums.of(column, w)
        if not any(needs_sample(found) for found in columns.values()):
            sample = 0
        keep = smallest(hashes)[:sample]
        return cls(table.n_rows, columns, table[keep], hashes[keep], Y[keep])

    def __add__(self, other: TableSums) -> TableSums:
        hashes = np.concatenate([self.hashes, other.hashes])
        keep = smallest(hashes)
        return TableSums(
            self.rows + other.rows,
            {name: one + other.columns[name] for name, one in self.columns.items()},  # type: ignore[operator]
            Table.joined([self.sample, other.sample])[keep],
            hashes[keep],
            np.concatenate([self.Y, other.Y])[keep],
        )


def needs_sample(sums: NumberSums | DateSums | LevelSums) -> bool:
    """Return whether a sample helps to say what a column is: whole numbers, and text."""
    return isinstance(sums, LevelSums) or (isinstance(sums, NumberSums) and sums.whole)


def smallest(hashes: Array) -> Array:
    """Return the places of the smallest hashes, smallest first."""
    return np.argsort(hashes, kind="stable")[:SAMPLE]


def check_values(column: Column, number: int, names: list[str], start: int, gaps: bool) -> None:
    """Raise ValueError if a column has an infinite value, or a gap unless allowed."""
    kind, wrong, advice = "infinity", np.zeros(0, dtype=bool), "Replace it, or leave it empty"
    if kind_of_column(column) == "number":
        wrong = np.isinf(column)  # type: ignore[arg-type]
    if not gaps and not wrong.any():
        kind, wrong = "NaN", gaps_of(column)
        advice = "Fill the gap, or use missing='fill'"
    if wrong.any():
        at = start + int(np.flatnonzero(wrong)[0])
        label = column_label(number, None if names[number] == f"x{number}" else names)
        raise ValueError(
            f"Input X contains {kind} at row {at}, {label}: every value must be finite. {advice}"
        )


def as_table(X: Any, names: list[str] | None) -> Table:
    """Return the rows of a block as a table; columns of arrays without names are x0, x1, ..."""
    if isinstance(X, Table):
        return X
    X = np.asarray(X)
    names = names or [f"x{number}" for number in range(X.shape[1])]
    columns = X.astype(np.float64, copy=False).T
    return Table(dict(zip(names, columns, strict=True)), len(X))


def with_text(table: Table, names: Iterable[str]) -> Table:
    """Return a table in which some columns are read as text."""
    columns = dict(table.columns)
    for name in names:
        columns[name] = as_text(columns[name])
    return Table(columns, table.n_rows)


def sums_of_rows(
    rows: RowSet, targets: Targets, text: frozenset[str], gaps: bool = True
) -> TableSums:
    """Return the sums of all rows, from one pass; the columns in ``text`` are read as text."""
    found: TableSums = rows.sum(
        sums_of_shard, add_sums, targets, text, gaps, label="table", record="table"
    )
    return found


def add_sums(left: TableSums, right: TableSums) -> TableSums:
    """Add the sums of two shards."""
    return left + right


def sums_of_shard(shard: Shard, targets: Targets, text: frozenset[str], gaps: bool) -> TableSums:
    """Task: return the sums of a shard."""
    source = shard.source
    total: TableSums | None = None
    decimal = decimal_of(source)
    with shard.naming():
        for block in source.blocks(ROWS):
            table = with_text(as_table(block.X, source.feature_names), text)
            # Columns of an array are what they are, so no row of it has to leave its shard.
            sample = SAMPLE if isinstance(block.X, Table) else 0
            Y = encoded_targets(block, targets)
            part = TableSums.of(table, block.weight, Y, block.start, gaps, sample, decimal)
            total = part if total is None else total + part
            shard.report("table", block.start + block.n_rows)
    assert total is not None
    return total


def encoded_targets(block: RowBlock, targets: Targets) -> Array:
    """Return the targets of a block as numbers, NaN for rows without one."""
    if block.y is None:
        return np.full((block.n_rows, targets.outputs), np.nan)
    return targets.encode(block.y, block.start)

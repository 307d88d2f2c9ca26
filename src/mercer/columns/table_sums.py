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
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.table import Coded, Table, as_text, kind_of_column

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
        cls, table: Table, weight: Array | None, Y: Array, start: int = 0, sample: int = SAMPLE
    ) -> TableSums:
        """Return the sums of a block of rows, with a sample of at most so many."""
        w = np.ones(table.n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
        hashes = row_hashes(table)
        folds = folds_of(hashes)
        columns: dict[str, NumberSums | DateSums | LevelSums] = {}
        for name, column in table.columns.items():
            if isinstance(column, Coded):
                columns[name] = LevelSums.of(column, w, folds, Y)
            elif column.dtype.kind == "M":
                columns[name] = DateSums.of(column, w)
            else:
                check_no_infinity(column, name, start)
                columns[name] = NumberSums.of(column, w)
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


def smallest(hashes: Array) -> Array:
    """Return the places of the smallest hashes, smallest first."""
    return np.argsort(hashes, kind="stable")[:SAMPLE]


def check_no_infinity(values: Array, name: str, start: int) -> None:
    """Raise ValueError if a column has an infinite value, with its row."""
    infinite = np.isinf(values)
    if infinite.any():
        at = start + int(np.flatnonzero(infinite)[0])
        raise ValueError(
            f"columns must be finite, but column {name!r} contains infinity at row {at}: replace "
            f"it, or leave the value empty"
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


def sums_of_rows(rows: RowSet, targets: Targets, text: frozenset[str]) -> TableSums:
    """Return the sums of all rows, from one pass; the columns in ``text`` are read as text."""
    found: TableSums = rows.sum(
        sums_of_shard, add_sums, targets, text, label="columns", record="columns"
    )
    return found


def add_sums(left: TableSums, right: TableSums) -> TableSums:
    """Add the sums of two shards."""
    return left + right


def sums_of_shard(shard: Shard, targets: Targets, text: frozenset[str]) -> TableSums:
    """Task: return the sums of a shard."""
    source = shard.source
    total: TableSums | None = None
    with shard.naming():
        for block in source.blocks(ROWS):
            table = with_text(as_table(block.X, source.feature_names), text)
            # Columns of an array are what they are, so no row of it has to leave its shard.
            sample = SAMPLE if isinstance(block.X, Table) else 0
            Y = encoded_targets(block, targets)
            part = TableSums.of(table, block.weight, Y, block.start, sample)
            total = part if total is None else total + part
            shard.report("columns", block.start + block.n_rows)
    assert total is not None
    return total


def encoded_targets(block: RowBlock, targets: Targets) -> Array:
    """Return the targets of a block as numbers, NaN for rows without one."""
    if block.y is None:
        return np.full((block.n_rows, targets.outputs), np.nan)
    return targets.encode(block.y, block.start)


def kinds_of_rows(rows: RowSet) -> frozenset[str]:
    """Return the columns that are of different kinds in different shards, and so are text."""
    found: dict[str, set[str]] = {}
    for part in rows.map(kinds_of_shard, label="kinds", light=True):
        for name, kind in part.items():
            found.setdefault(name, set()).add(kind)
    return frozenset(name for name, kinds in found.items() if len(kinds) > 1)


def kinds_of_shard(shard: Shard) -> dict[str, str]:
    """Task: return the kind of every column of a shard: number, text or date."""
    source = shard.source
    first = next(iter(source.blocks(1)), None)
    if first is None or not isinstance(first.X, Table):
        return {}
    return {name: kind_of_column(column) for name, column in first.X.columns.items()}

"""What is learned of a table: sums of every column, and a sample of rows, in one pass.

Some questions are no sums: whether whole numbers are an identifier, say. A sample answers them,
which adds over shards too: the rows with the smallest hashes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.columns.column_statistics import DateSums, LevelSums, NumberSums
from mercer.columns.row_folds import DEALS, RowIdentity, repeats
from mercer.contracts import Array, RowBlock, Targets
from mercer.rows.dialect import decimal_of
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.table import Coded, Table, as_text, gaps_of
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
    paired: Array  # hashes of the rows of the sample with their targets
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
        identity: RowIdentity | None = None,
    ) -> TableSums:
        """Return the sums of a block, and a sample of at most so many rows of it.

        ``identity`` deals the rows to folds; by default they are all rows, with targets Y. Infinity
        is an error, and so are gaps unless they are allowed.
        """
        check_values(table, start, gaps)
        rows = identity or RowIdentity.of(table, Y, start + np.arange(table.n_rows))
        folds = np.stack([rows.folds(deal) for deal in DEALS])
        w = np.ones(table.n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
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
        keep = smallest(rows.hashes, rows.paired)[:sample]
        hashes, paired = rows.hashes[keep], rows.paired[keep]
        return cls(table.n_rows, columns, table[keep], hashes, paired, Y[keep])

    def __add__(self, other: TableSums) -> TableSums:
        hashes = np.concatenate([self.hashes, other.hashes])
        paired = np.concatenate([self.paired, other.paired])
        keep = smallest(hashes, paired)
        return TableSums(
            self.rows + other.rows,
            {name: operator.add(one, other.columns[name]) for name, one in self.columns.items()},
            Table.joined([self.sample, other.sample])[keep],
            hashes[keep],
            paired[keep],
            np.concatenate([self.Y, other.Y])[keep],
        )

    @property
    def deal(self) -> str:
        """How to deal rows to folds, by their content or by their number."""
        return "number" if repeats(self.paired) else "content"


def needs_sample(sums: NumberSums | DateSums | LevelSums) -> bool:
    """Return whether a sample helps to say what a column is: whole numbers, and text."""
    return isinstance(sums, LevelSums) or (isinstance(sums, NumberSums) and sums.whole)


def smallest(hashes: Array, paired: Array) -> Array:
    """Return the places of the smallest hashes, smallest first."""
    return np.lexsort((paired, hashes))[:SAMPLE]


def check_values(table: Table, start: int, gaps: bool) -> None:
    """Raise ValueError if a column has an infinite value, or a gap unless allowed."""
    for number, (name, column) in enumerate(table.columns.items()):
        kind, wrong, advice = "infinity", np.zeros(0, dtype=bool), "Replace it, or leave it empty"
        if not isinstance(column, Coded) and column.dtype.kind != "M":
            wrong = np.isinf(column)
        if not gaps and not wrong.any():
            kind, wrong = "NaN", gaps_of(column)
            advice = "Fill the gap, or use missing='fill'"
        if wrong.any():
            at = start + int(np.flatnonzero(wrong)[0])
            label = column_label(number, None if name == f"x{number}" else table.names)
            raise ValueError(
                f"Input X contains {kind} at row {at}, {label}: every value must be finite. "
                f"{advice}"
            )


def as_table(X: object, names: list[str] | None) -> Table:
    """Return the rows of a block as a table; columns of arrays without names are x0, x1, ..."""
    if isinstance(X, Table):
        return X
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
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
    """Return the sums of all rows, from one pass; the columns in ``text`` are read as text.

    In a ranking, y has a level for each query that says nothing of a column: it is centered by
    query first, as in the loss, which takes a pass over y.
    """
    means: Array | None = None
    if targets.pairs is not None:
        total = rows.sum(query_sums, np.add, targets, label="queries", record="means of queries")
        means = total[:, 1:] / np.maximum(total[:, :1], 1e-300)
    found: TableSums = rows.sum(
        sums_of_shard,
        operator.add,
        targets,
        rows.slices,
        means,
        text,
        gaps,
        label="table",
        record="table",
    )
    return found


def query_sums(shard: Shard, targets: Targets) -> Array:
    """Task: return the weight of each query, and its sums of y, of shape (queries, 1 + k)."""
    total = np.zeros((len(targets.pairs.weight), 1 + targets.outputs))
    with shard.naming():
        for block in shard.source.blocks(ROWS):
            w = np.ones(block.n_rows) if block.weight is None else block.weight
            Y = targets_of(block, targets)
            np.add.at(total, targets.codes(block), np.column_stack([w, w[:, None] * Y]))
    return total


def sums_of_shard(
    shard: Shard,
    targets: Targets,
    places: dict[int, slice],
    means: Array | None,
    text: frozenset[str],
    gaps: bool,
) -> TableSums:
    """Task: return the sums of a shard; ``means`` are those of y by query."""
    source = shard.source
    total: TableSums | None = None
    decimal, numbers = decimal_of(source), shard.row_numbers(places)
    with shard.naming():
        for block in source.blocks(ROWS):
            table = with_text(as_table(block.X, source.feature_names), text)
            # Columns of an array are what they are, so no row of it has to leave its shard.
            sample = SAMPLE if isinstance(block.X, Table) else 0
            Y = targets_of(block, targets)
            Y = Y if means is None else Y - means[targets.codes(block)]
            rows = identity_of(table, block, targets, numbers)
            about = (block.start, gaps, sample, decimal, rows)
            part = TableSums.of(table, block.weight, Y, *about)
            total = part if total is None else total + part
            shard.report("table", block.start + block.n_rows)
    assert total is not None
    return total


def targets_of(block: RowBlock, targets: Targets, encoded: bool = True) -> Array:
    """Return the targets of a block as numbers, encoded or as given; NaN for rows without one."""
    if block.y is None:
        return np.full((block.n_rows, targets.outputs), np.nan)
    return (targets.encode if encoded else targets.values)(block.y, block.start)


def identity_of(
    table: Table, block: RowBlock, targets: Targets, numbers: Sequence[int] | Array
) -> RowIdentity:
    """Return what tells the rows of a block apart; ``numbers`` are those of all rows of its shard.

    Encoded targets would not do: they are shifted by a mean that depends on the shards.
    """
    here = numbers[block.start : block.start + block.n_rows]
    return RowIdentity.of(table, targets_of(block, targets, encoded=False), here)

"""A sample of rows with their targets, brought to one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer.contracts import Array, Targets
from mercer.rows import ArraySource
from mercer.rows.labels import checked_blocks
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling import uniform_indices
from mercer.validation import check_finite, warn

#: Rows that are read at a time.
ROWS = 8192
#: The share of rows that are copies of others from which on there is a warning.
COPIES = 0.1


def sampled_rows(
    rows: RowSet, targets: Targets, size: int, rng: np.random.Generator
) -> tuple[RowSet, Targets]:
    """Return about ``size`` rows in one place, and their targets; whole queries in a ranking."""
    if rows.one_place and rows.n_rows <= size and isinstance(rows.items[0].source, ArraySource):
        return RowSet.in_one_place(rows.items[0].source), targets  # without its progress bar
    queries: Array | None = None
    chosen: dict[int, Array] = {}
    order: Array | None = None
    if targets.pairs is None:
        drawn = uniform_indices(rows.n_rows, size, rng)
        chosen = rows.split_indices(drawn)
        order = np.argsort(np.argsort(rows.places(drawn)))
    else:
        total = len(targets.pairs.weight)
        wanted = max(2, int(np.ceil(total * min(1.0, size / rows.n_rows))))
        queries = np.zeros(total, dtype=bool)
        queries[uniform_indices(total, wanted, rng)] = True
    parts = rows.map(rows_at, targets, chosen, queries, label="sample", record="sample of rows")
    parts = [part for part in parts if part[0].shape[0]]
    X, y, weight, query = (_stacked([part[at] for part in parts]) for at in range(4))
    source = ArraySource(X, y, weight, rows.feature_names)
    if order is not None:
        source = source.at(order)
    if query is not None:
        order = np.argsort(query, kind="stable")  # parts of a query may come from several shards
        source = source.at(order).with_queries(query[order])
    return RowSet.in_one_place(source), targets.within(source)


def rows_at(
    shard: Shard, targets: Targets, chosen: dict[int, Array], queries: Array | None
) -> tuple[Any, Any, Any, Any]:
    """Task: return X, y, weights and queries of the chosen rows of a shard."""
    source = shard.source
    wanted = chosen.get(shard.number, np.zeros(0, dtype=int))
    parts: list[tuple[Any, Any, Any, Any]] = []
    with shard.naming():
        for block in source.blocks(ROWS):
            if queries is None:
                low, high = np.searchsorted(wanted, [block.start, block.start + block.n_rows])
                at = wanted[low:high] - block.start
            else:
                at = np.flatnonzero(queries[targets.codes(block)])
            check_finite(block.X[at], rows=block.start + at, names=source.feature_names)
            parts.append(
                (
                    block.X[at],
                    None if block.y is None else block.y[at],
                    None if block.weight is None else block.weight[at],
                    None if block.query is None else block.query[at],
                )
            )
    return tuple(_stacked([part[i] for part in parts]) for i in range(4))


def warn_of_copies(rows: RowSet, targets: Targets) -> None:
    """Warn if rows of numbers, of which some column has many values, are there several times.

    Rows that are alike in x and in y by chance have columns of few values.
    """
    block, Y = next(iter(checked_blocks(rows.items[0].source, targets, ROWS, partial=True)))
    if hasattr(block.X, "tocsr"):
        return
    both = np.unique(np.column_stack([block.X, Y]), axis=0)
    most = max(len(np.unique(column)) for column in block.X.T)
    if len(both) <= (1 - COPIES) * block.n_rows and most >= len(both) / 2:
        warn(
            f"{block.n_rows - len(both):,} of {block.n_rows:,} rows are copies of others, with "
            f"their targets: rows that are held out or left out are then known to the fit, which "
            f"seems better than it is. Pass each row once, with its copies as sample_weight"
        )


def labelled_rows(rows: RowSet, targets: Targets) -> int:
    """Return how many rows have a label."""
    return int(rows.sum(labelled_of, add_counts, targets, label="labels", light=True))


def add_counts(left: int, right: int) -> int:
    """Add numbers of rows."""
    return left + right


def labelled_of(shard: Shard, targets: Targets) -> int:
    """Task: return how many rows of a shard have a label."""
    found = 0
    with shard.naming():
        for block, Y in checked_blocks(shard.source, targets, ROWS, partial=True):
            found += block.n_rows - int(np.isnan(Y).any(axis=1).sum())
    return found


def _stacked(parts: list[Any]) -> Any:
    """Return arrays or sparse matrices as one; None if there are none."""
    if not parts or parts[0] is None:
        return None
    if hasattr(parts[0], "tocsr"):
        return sparse.vstack(parts).tocsr()
    return np.concatenate(parts)

"""Remember which rows a model was fitted to, so that no others can be forgotten."""

from __future__ import annotations

from typing import Any

from mercer.contracts import Targets
from mercer.estimators.sharding import OpenedRows
from mercer.rows.checked import checked_blocks
from mercer.rows.shards import Shard
from mercer.storage.row_multiset import RowMultiset, row_fingerprints

#: Rows read at a time.
ROWS = 65_536


def rows_in(opened: OpenedRows, targets: Targets) -> RowMultiset:
    """Return the fingerprints of all rows, with their targets and weights."""
    parts = opened.rows.map(fingerprints_in, targets, label="fingerprints", record="fingerprints")
    return RowMultiset.union(RowMultiset(*part) for part in parts)


def fingerprints_in(shard: Shard, targets: Targets) -> tuple[Any, Any]:
    """Task: return the fingerprints of a shard's rows, and how often each occurs."""
    with shard.naming():
        blocks = checked_blocks(shard.source, targets, ROWS, partial=True)
        found = RowMultiset.union(
            RowMultiset.of(row_fingerprints(block.X, Y, block.weight)) for block, Y in blocks
        )
    return found.fingerprints, found.counts


def remembered_with(estimator: Any, opened: OpenedRows, sign: int) -> RowMultiset | None:
    """Return the rows of a model after adding or forgetting some; None if it remembers none.

    Raise ValueError if a row to forget is not in the model.
    """
    if not estimator.remember_rows:
        return None
    known: RowMultiset | None = getattr(estimator, "_remembered", None)
    if known is None:
        raise ValueError(
            "remember_rows=True must be set before the first rows, but this model does not know "
            "its rows: fit it again, or set remember_rows=False"
        )
    batch = rows_in(opened, estimator._targets)
    if sign > 0:
        return known + batch
    missing = known.missing(batch)
    if missing:
        raise ValueError(
            f"forget needs rows that were fitted and not yet forgotten, with the same targets and "
            f"weights: {missing:,} of the {batch.total:,} given are not in the model"
        )
    return known - batch

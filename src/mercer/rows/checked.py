"""Validated blocks of rows for a fit: finite X, nonnegative weights, encoded y."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.contracts import Array, RowBlock, RowSource, Targets
from mercer.rows.shards import Shard
from mercer.validation import check_finite, check_weight

#: Rows read at a time to see whether all have a label.
LOOKED_AT = 8192


def checked_blocks(
    source: RowSource, targets: Targets, rows: int, *, partial: bool = False
) -> Iterator[tuple[RowBlock, Array]]:
    """Yield blocks with their encoded targets; raise ValueError at the first invalid row.

    With ``partial`` some rows may have no label, and NaN for a target. All weights of a shard may
    be 0: whether those of all rows are is known from their sum.
    """
    for block in source.blocks(rows):
        check_finite(block.X, start=block.start, names=source.feature_names)
        if block.weight is not None:
            check_weight(block.weight, start=block.start)
        if block.y is None:
            raise ValueError(
                "fit needs targets, but the source has none: name the column (target=...)"
            )
        Y = targets.encode(block.y, block.start)
        if not partial and np.isnan(Y).any():
            at = block.start + int(np.flatnonzero(np.isnan(Y).any(axis=1))[0])
            raise ValueError(
                f"y has no label at row {at}, and unlabelled rows need moments: use "
                "basis='landmarks' or 'random_features' with solver='ridge', or drop these rows"
            )
        yield block, Y


def lacks_labels(source: RowSource, targets: Targets) -> bool:
    """Return whether some row has no label; reads up to the first such row."""
    blocks = checked_blocks(source, targets, LOOKED_AT, partial=True)
    return any(np.isnan(Y).any() for _, Y in blocks)


def labels_of(shard: Shard, targets: Targets) -> tuple[Array, Array]:
    """Task: return the encoded targets (n, k) and the weights (n,) of a shard."""
    source = shard.source
    with shard.naming():
        blocks = list(checked_blocks(source, targets, max(1, source.n_rows)))
    weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b, _ in blocks]
    return np.vstack([Y for _, Y in blocks]), np.concatenate(weights)

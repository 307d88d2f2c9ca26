"""Leverage scores of all rows of a source, block by block, through one dictionary."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, RowSource
from mercer.kernels.kernel import dense
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling.leverage import Dictionary
from mercer.validation import check_finite

#: Rows read at a time.
BLOCK = 2048


def scores_of_rows(source: RowSource | RowSet, dictionary: Dictionary) -> Array:
    """Return the score of every row; over shards, only scores leave a shard."""
    rows = source if isinstance(source, RowSet) else RowSet.in_one_place(source)
    numbers = dictionary.points.size + len(dictionary.probability)
    parts = rows.map(
        scores_of,
        rows.share(dictionary, "dictionary", numbers),
        label="leverage scores",
        record="leverage scores",
    )
    return np.concatenate(parts)


def scores_of(shard: Shard, dictionary: Dictionary) -> Array:
    """Task: return the leverage scores of the rows of a shard."""
    source, parts = shard.source, []
    with shard.naming():
        for block in source.blocks(BLOCK):
            check_finite(block.X, start=block.start, names=source.feature_names)
            parts.append(dictionary.scores(dense(block.X)))
            shard.report("leverage scores", block.start + block.n_rows)
    return np.concatenate(parts)

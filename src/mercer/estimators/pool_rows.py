"""Rows of a pool: what a labeller looks at, and what it leaves aside."""

from __future__ import annotations

import numpy as np

from mercer.columns import TableEncoder
from mercer.columns.column_encoders import DroppedColumn, NumberColumn
from mercer.contracts import Array, RowSource
from mercer.estimators.targets import RegressionTargets
from mercer.rows.pools import Pool
from mercer.rows.shards import Shard


def has_other_columns(columns: TableEncoder | None) -> bool:
    """Return whether a table has columns that are not numbers."""
    return columns is not None and not all(
        isinstance(encoder, (NumberColumn, DroppedColumn)) for encoder in columns.encoding_.encoders
    )


class NoTargets(RegressionTargets):
    """Targets that are not known, whatever a file may have."""

    def encode(self, y: Array, start: int) -> Array:
        """Return NaN for every row."""
        return np.full((len(y), 1), np.nan)


def pooled_shard(shard: Shard) -> Shard:
    """Task: return a shard whose labels are ignored."""
    return Shard(shard.number, shard.name, Pool(shard.source), shard.progress)


def nothing(source: RowSource) -> None:
    """Return None: a pool has no targets to summarize."""

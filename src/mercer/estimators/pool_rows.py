"""Rows of a pool: how a labeller opens them, what it looks at, and what it leaves aside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.columns import TableEncoder
from mercer.columns.column_encoders import DroppedColumn, NumberColumn
from mercer.contracts import Array, RowSource
from mercer.engines import as_engine
from mercer.estimators.inputs import check_features, takes_tables, validated_rows
from mercer.estimators.progress import progress_bar
from mercer.estimators.targets import RegressionTargets
from mercer.rows import ArraySource, open_rows
from mercer.rows.pools import Pool
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard, cut


def open_pool(labeller: Any, X: Any, y: Any) -> RowSource:
    """Return the pool of a labeller as a source; y may name a column that is not a feature."""
    if isinstance(X, RowSource):
        source = X
        if not takes_tables(labeller) and getattr(X, "raw", False):
            source = X.as_numbers()  # type: ignore[attr-defined]
    elif isinstance(X, (str, bytes)) or hasattr(X, "__fspath__"):
        target = y if isinstance(y, str) else None
        source = open_rows(X, target=target, raw=takes_tables(labeller))
    else:
        rows = validated_rows(labeller, X, reset=True)
        names = getattr(labeller, "feature_names_in_", None)
        return ArraySource(rows, feature_names=names)
    check_features(labeller, source, reset=True)
    return source


@contextmanager
def placed(labeller: Any, pool: RowSource) -> Iterator[RowSet]:
    """Yield the rows of a pool in one place, or over the shards of a labeller, on its engine."""
    with progress_bar(labeller.verbose) as progress:
        if labeller.shards is None and labeller.engine is None:
            yield RowSet.in_one_place(pool, progress)
            return
        engine = as_engine(labeller.engine)
        try:
            # Consecutive rows, so that the draws do not depend on the number of shards.
            shards = [
                replace(shard, source=shard.source.source)  # type: ignore[attr-defined]
                for shard in cut(Pool(pool), labeller.shards or 2 * engine.width)
            ]
            yield RowSet.over_shards(engine, shards, nothing)
        finally:
            if engine is not labeller.engine and hasattr(engine, "close"):
                engine.close()


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

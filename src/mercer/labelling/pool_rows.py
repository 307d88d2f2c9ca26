"""Rows of a pool: how a labeller opens them, what it looks at, and what it leaves aside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.contracts import Array, RowSource
from mercer.engines import as_engine
from mercer.engines.progress_bar import progress_bar
from mercer.opening.inputs import Features, InputOptions, features_of, validated_rows
from mercer.rows import ArraySource, open_rows
from mercer.rows.file_source import FileSource
from mercer.rows.pools import Pool
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard, cut
from mercer.targets.number_targets import RegressionTargets


def open_pool(options: InputOptions, X: Any, y: object) -> tuple[RowSource, Features]:
    """Return the pool of a labeller as a source; y may name a column that is not a feature."""
    if isinstance(X, RowSource):
        source = X
        if isinstance(X, FileSource) and X.raw and not options.tables:
            source = X.as_numbers()
    elif isinstance(X, (str, bytes)) or hasattr(X, "__fspath__"):
        target = y if isinstance(y, str) else None
        source = open_rows(X, target=target, raw=options.tables)
    else:
        rows, features = validated_rows(X, options)
        return ArraySource(rows, feature_names=features.names), features
    return source, features_of(source, options)


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
                replace(shard, source=shard.source.source)
                for shard in cut(Pool(pool), labeller.shards or 2 * engine.width)
                if isinstance(shard.source, Pool)
            ]
            yield RowSet.over_shards(engine, shards, nothing)
        finally:
            if engine is not labeller.engine and hasattr(engine, "close"):
                engine.close()


class NoTargets(RegressionTargets):
    """Targets that are not known, whatever a file may have."""

    def values(self, y: Array, start: int) -> Array:
        """Return NaN for every row."""
        return np.full((len(y), 1), np.nan)


def pooled_shard(shard: Shard) -> Shard:
    """Task: return a shard whose labels are ignored."""
    return Shard(shard.number, shard.name, Pool(shard.source), shard.progress)


def nothing(source: RowSource) -> None:
    """Return None: a pool has no targets to summarize."""

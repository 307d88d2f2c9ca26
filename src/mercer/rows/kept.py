"""Some of the rows of a source: those with a label, or with a weight."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.checks import check_indices
from mercer.rows.chunks import even_cuts
from mercer.rows.file_source import FileSource
from mercer.rows.shards import Shard
from mercer.validation import check_weight

#: Rows whose weights are read at a time.
ROWS = 65_536


class KeptSource:
    """The rows of a source at increasing ``indices``; blocks may be shorter than asked for.

    Parameters
    ----------
    source : RowSource
        All rows.
    indices : array
        The rows to keep, in increasing order.
    """

    def __init__(self, source: Any, indices: Array) -> None:
        self.source, self.indices = source, indices
        self.n_rows = len(indices)
        self.n_features: int = source.n_features
        self.feature_names: list[str] | None = source.feature_names
        self.has_target: bool = source.has_target
        self.has_query: bool = getattr(source, "has_query", False)
        self.label = str(getattr(source, "label", "the rows"))

    @property
    def resident_bytes(self) -> int:
        """Bytes of the source and of the row numbers."""
        return int(self.source.resident_bytes) + int(self.indices.nbytes)

    def _between(self, start: int, stop: int) -> Array:
        """Return the rows that are kept among ``start`` to ``stop``, counted from ``start``."""
        low, high = np.searchsorted(self.indices, [start, stop])
        return np.asarray(self.indices[low:high] - start)

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield the rows in order, at most ``rows`` at a time."""
        done = 0
        for block in self.source.blocks(rows):
            at = self._between(block.start, block.start + block.n_rows)
            if len(at):
                parts = (block.y, block.weight, block.query)
                chosen = [None if part is None else part[at] for part in parts]
                yield RowBlock(done, block.X[at], *chosen)
                done += len(at)

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        return self.source.take(self.indices[check_indices(indices, self.n_rows)])

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y."""
        start = 0
        for y in self.source.targets(rows):
            at = self._between(start, start + len(y))
            start += len(y)
            if len(at):
                yield y[at]

    def queries(self, rows: int) -> Iterator[tuple[Array, Array | None]]:
        """Yield queries and weights."""
        start = 0
        for query, weight in self.source.queries(rows):
            at = self._between(start, start + len(query))
            start += len(query)
            if len(at):
                yield query[at], None if weight is None else weight[at]

    def split(self, parts: int) -> list[RowSource]:
        """Split into sources of consecutive rows."""
        cuts = pairwise(even_cuts(self.n_rows, parts))
        return [KeptSource(self.source, self.indices[low:high]) for low, high in cuts]


def kept(source: RowSource, indices: Array) -> RowSource:
    """Return the rows of a source at increasing ``indices``."""
    return source.at(indices) if isinstance(source, ArraySource) else KeptSource(source, indices)


def with_weight(source: RowSource) -> RowSource:
    """Return the rows of a source whose weight is not 0: others are as if they were not there."""
    if isinstance(source, FileSource):
        found = list(source.weights(ROWS))
    else:
        found = [block.weight for block in source.blocks(ROWS)]
    weights: list[Array] = [part for part in found if part is not None]
    if not weights:
        return source
    weight = np.concatenate(weights)
    check_weight(weight)
    return source if weight.all() else kept(source, np.flatnonzero(weight))


def shard_with_weight(shard: Shard) -> Shard:
    """Task: return a shard without the rows of weight 0."""
    with shard.naming():
        source = with_weight(shard.source)
    return Shard(shard.number, shard.name, source, shard.progress, shard.origin)

"""Rows whose weights are all multiplied by a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.shards import Shard

#: Rows of a block.
ROWS = 65_536


class ReweightedSource:
    """The rows of a source that is read in blocks, with every weight multiplied by ``factor``.

    Parameters
    ----------
    source : RowSource
        The rows, with weights.
    factor : float
        A positive number.
    """

    def __init__(self, source: Any, factor: float) -> None:
        self.source, self.factor = source, factor
        self.n_rows: int = source.n_rows
        self.n_features: int = source.n_features
        self.feature_names: list[str] | None = source.feature_names
        self.has_target: bool = source.has_target
        self.has_query: bool = getattr(source, "has_query", False)
        self.label = str(getattr(source, "label", "the rows"))

    @property
    def resident_bytes(self) -> int:
        """Bytes of the source."""
        return int(self.source.resident_bytes)

    def _weighed(self, weight: Array | None) -> Array | None:
        return None if weight is None else weight * self.factor

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""
        for block in self.source.blocks(rows):
            yield replace(block, weight=self._weighed(block.weight))

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        rows: Rows = self.source.take(indices)
        return rows

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y."""
        yield from self.source.targets(rows)

    def queries(self, rows: int) -> Iterator[tuple[Array, Array | None]]:
        """Yield queries and weights."""
        for query, weight in self.source.queries(rows):
            yield query, self._weighed(weight)

    def split(self, parts: int) -> list[RowSource]:
        """Split into sources of consecutive rows."""
        return [ReweightedSource(part, self.factor) for part in self.source.split(parts)]


def weight_sums(shard: Shard) -> tuple[int, float]:
    """Task: return the number of rows of positive weight, and the sum of the weights.

    >>> weight_sums(Shard(0, "", ArraySource(np.zeros((3, 1)), weight=np.array([0.5, 0.0, 2.0]))))
    (2, 2.5)
    """
    count, total = 0, 0.0
    for block in shard.source.blocks(ROWS):
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        count, total = count + int(np.count_nonzero(weight > 0)), total + float(weight.sum())
    return count, total


def reweighted_shard(shard: Shard, factor: float) -> Shard:
    """Task: return a shard with every weight multiplied by ``factor``."""
    source: Any = shard.source
    if isinstance(source, ArraySource):
        found: Any = source.reweighted(factor)
    else:
        found = ReweightedSource(source, factor)
    return replace(shard, source=found)

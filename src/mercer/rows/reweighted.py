"""Rows whose weights are multiplied by a number, or by a number that depends on the label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any, Protocol

import numpy as np

from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.shards import Shard

#: Rows of a block.
ROWS = 65_536


class LabelFactors(Protocol):
    """What the weight of a row is multiplied by, given its label."""

    def of(self, y: Array) -> Array:
        """Return the factor of each row."""


class ReweightedSource:
    """The rows of a source that is read in blocks, with every weight multiplied by ``factor``.

    Parameters
    ----------
    source : RowSource
        The rows, with weights.
    factor : float or LabelFactors
        A positive number, or one for each label.
    """

    def __init__(self, source: Any, factor: float | LabelFactors) -> None:
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

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""
        for block in self.source.blocks(rows):
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            yield replace(block, weight=weight * factor_of(self.factor, block.y))

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        rows: Rows = self.source.take(indices)
        return rows

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y."""
        yield from self.source.targets(rows)

    def queries(self, rows: int) -> Iterator[tuple[Array, Array | None]]:
        """Yield queries and weights."""
        by_label = not isinstance(self.factor, (int, float))
        targets = self.source.targets(rows) if by_label else repeat(None)
        for (query, weight), y in zip(self.source.queries(rows), targets, strict=False):
            known = np.ones(len(query)) if weight is None else weight
            yield query, known * factor_of(self.factor, y)

    def split(self, parts: int) -> list[RowSource]:
        """Split into sources of consecutive rows."""
        return [ReweightedSource(part, self.factor) for part in self.source.split(parts)]


def factor_of(factor: float | LabelFactors, y: Array | None) -> float | Array:
    """Return what the weights of rows with these labels are multiplied by."""
    if isinstance(factor, (int, float)):
        return factor
    assert y is not None
    return factor.of(y)


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


def reweighted_shard(shard: Shard, factor: float | LabelFactors) -> Shard:
    """Task: return a shard with every weight multiplied by ``factor``."""
    source = shard.source
    if isinstance(source, ArraySource):
        y = next(iter(source.targets(max(1, source.n_rows))), None) if source.has_target else None
        found: RowSource = source.reweighted(factor_of(factor, y))
    else:
        found = ReweightedSource(source, factor)
    return replace(shard, source=found)

"""Steps on a source: some of its rows, other weights, or no labels, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, repeat
from typing import Any, Protocol

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


class Step:
    """A source that is made of another one: what a step does not change is passed on.

    Parameters
    ----------
    source : RowSource
        The rows before the step.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self.n_rows: int = source.n_rows
        self.n_features: int = source.n_features
        self.feature_names: list[str] | None = source.feature_names
        self.has_target: bool = source.has_target
        self.has_query: bool = getattr(source, "has_query", False)
        self.label = str(getattr(source, "label", "the rows"))

    @property
    def resident_bytes(self) -> int:
        """Bytes that the source itself holds."""
        return int(self.source.resident_bytes)

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        rows: Rows = self.source.take(indices)
        return rows

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y."""
        yield from self.source.targets(rows)

    def queries(self, rows: int) -> Iterator[tuple[Array, Array | None]]:
        """Yield queries and weights."""
        yield from self.source.queries(rows)


class KeptSource(Step):
    """The rows of a source at increasing ``indices``; blocks may be shorter than asked for.

    Parameters
    ----------
    source : RowSource
        All rows.
    indices : array
        The rows to keep, in increasing order.
    """

    def __init__(self, source: Any, indices: Array) -> None:
        super().__init__(source)
        self.indices, self.n_rows = indices, len(indices)

    @property
    def resident_bytes(self) -> int:
        """Bytes of the source and of the row numbers."""
        return super().resident_bytes + int(self.indices.nbytes)

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
        return super().take(self.indices[check_indices(indices, self.n_rows)])

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


class LabelFactors(Protocol):
    """What the weight of a row is multiplied by, given its label."""

    def of(self, y: Array) -> Array:
        """Return the factor of each row."""


class ReweightedSource(Step):
    """The rows of a source that is read in blocks, with every weight multiplied by ``factor``.

    Parameters
    ----------
    source : RowSource
        The rows, with weights.
    factor : float or LabelFactors
        A positive number, or one for each label.
    """

    def __init__(self, source: Any, factor: float | LabelFactors) -> None:
        super().__init__(source)
        self.factor = factor

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""
        for block in self.source.blocks(rows):
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            yield replace(block, weight=weight * factor_of(self.factor, block.y))

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


class Pool(Step):
    """The rows of a source, with 0 for every target; the labels of the source are ignored.

    >>> from mercer.rows import ArraySource
    >>> next(Pool(ArraySource(np.ones((2, 3)))).blocks(5)).y
    array([0., 0.])
    """

    def __init__(self, source: RowSource) -> None:
        super().__init__(source)
        self.has_target, self.has_query = True, False

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""
        for block in self.source.blocks(rows):
            yield replace(block, y=np.zeros(block.n_rows), weight=None, query=None)

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield zeros."""
        for start in range(0, self.n_rows, rows):
            yield np.zeros(min(rows, self.n_rows - start))

    def split(self, parts: int) -> list[RowSource]:
        """Split into parts of consecutive rows."""
        return [Pool(part) for part in self.source.split(parts)]

"""Unlabelled rows, for sums that need no y."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mercer.contracts import Array, RowBlock, Rows, RowSource


class Pool:
    """The rows of a source, with 0 for every target; the labels of the source are ignored.

    >>> from mercer.rows import ArraySource
    >>> next(Pool(ArraySource(np.ones((2, 3)))).blocks(5)).y
    array([0., 0.])
    """

    has_target = True

    def __init__(self, source: RowSource) -> None:
        self.source = source
        self.n_rows, self.n_features = source.n_rows, source.n_features
        self.feature_names = source.feature_names

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""
        for block in self.source.blocks(rows):
            yield replace(block, y=np.zeros(block.n_rows), weight=None, query=None)

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``."""
        return self.source.take(indices)

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield zeros."""
        for start in range(0, self.n_rows, rows):
            yield np.zeros(min(rows, self.n_rows - start))

    def split(self, parts: int) -> list[RowSource]:
        """Split into parts of consecutive rows."""
        return [Pool(part) for part in self.source.split(parts)]

    @property
    def resident_bytes(self) -> int:
        """Bytes that the source holds in memory."""
        return self.source.resident_bytes

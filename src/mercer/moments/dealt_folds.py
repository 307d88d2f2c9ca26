"""Which rows of a shard belong to which of the folds that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array, Reading, RowBlock, Targets
from mercer.moments.by_fold import dealt_blocks
from mercer.rows.shards import Shard
from mercer.sampling import Dealer


@dataclass(frozen=True)
class DealtFolds:
    """Folds to leave out: how the rows of a shard are dealt, and which folds.

    With ``starts``, the first row of each shard among all, every row is a fold. ``shards`` are the
    folds of whole shards. Both are by the number of a shard; without them its rows are dealt.
    """

    folds: int
    held_out: float | None
    seed: int
    numbers: Array  # (l,) the folds that are left out
    shards: dict[int, int] | None = None
    starts: dict[int, int] | None = None

    def places(self, shard: Shard, rows: int | None = None) -> Array:
        """Return for each row of a shard its place among ``numbers``, -1 if it always stays."""
        rows = shard.source.n_rows if rows is None else rows
        known = self._known(shard, 0, rows)
        if known is not None:
            return known
        dealer = Dealer(rows, self.folds, shard.seed(self.seed), self.held_out)
        return np.asarray(self._place[dealer.labels(0, rows)])

    def blocks(
        self, shard: Shard, targets: Targets, block_rows: int
    ) -> Iterator[tuple[RowBlock, Array, Array]]:
        """Yield blocks with their encoded targets and the places of their rows."""
        whole = self.shards is not None or self.starts is not None
        folds = 1 if whole else self.folds
        reading = Reading(block_rows, 1, folds, self.held_out)
        for block, Y, labels in dealt_blocks(shard, targets, reading, shard.seed(self.seed)):
            places = self._known(shard, block.start, block.n_rows)
            if places is None:
                assert labels is not None
                places = self._place[labels]
            yield block, Y, places

    def _known(self, shard: Shard, start: int, rows: int) -> Array | None:
        """Return the places of rows that are not dealt."""
        if self.starts is not None:
            return np.arange(rows) + (self.starts[shard.number] + start)
        if self.shards is not None:
            return np.full(rows, self._place[self.shards[shard.number]])
        return None

    @property
    def _place(self) -> Array:
        place = np.full(self.folds, -1, dtype=np.int16)
        place[self.numbers] = np.arange(len(self.numbers))
        return place

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

    ``shards`` are the folds of whole shards, by their numbers; None deals the rows of each.
    """

    folds: int
    held_out: float | None
    seed: int
    numbers: Array  # (l,) the folds that are left out
    shards: dict[int, int] | None = None

    def places(self, shard: Shard) -> Array:
        """Return for each row of a shard its place among ``numbers``, -1 if it always stays."""
        rows = shard.source.n_rows
        if self.shards is not None:
            return np.full(rows, self._place[self.shards[shard.number]])
        dealer = Dealer(rows, self.folds, shard.seed(self.seed), self.held_out)
        return np.asarray(self._place[dealer.labels(0, rows)])

    def blocks(
        self, shard: Shard, targets: Targets, block_rows: int
    ) -> Iterator[tuple[RowBlock, Array, Array]]:
        """Yield blocks with their encoded targets and the places of their rows."""
        reading = Reading(block_rows, 1, self.folds, self.held_out)
        for block, Y, labels in dealt_blocks(shard, targets, reading, shard.seed(self.seed)):
            if self.shards is not None or labels is None:
                labels = np.full(
                    block.n_rows, 0 if self.shards is None else self.shards[shard.number]
                )
            yield block, Y, self._place[labels]

    @property
    def _place(self) -> Array:
        place = np.full(self.folds, -1, dtype=np.int16)
        place[self.numbers] = np.arange(len(self.numbers))
        return place

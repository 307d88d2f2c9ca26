"""Which rows of a shard belong to which of the folds that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array, Reading, RowBlock, Targets
from mercer.moments.by_fold import dealt_blocks, folds_of_queries
from mercer.rows.shards import Shard
from mercer.sampling import Deal

#: Rows whose queries are read at a time.
ROWS = 65_536


@dataclass(frozen=True)
class DealtFolds:
    """Folds to leave out: how the rows of a shard are dealt, and which folds.

    With ``alone`` every row is a fold. ``shards`` are the folds of whole shards, by their number;
    without them rows are dealt.
    """

    folds: int
    held_out: float | None
    deal: Deal
    numbers: Array  # (l,) the folds that are left out
    shards: dict[int, int] | None = None
    alone: bool = False

    def places(self, shard: Shard, targets: Targets, rows: int | None = None) -> Array:
        """Return for each row of a shard its place among ``numbers``, -1 if it always stays."""
        rows = shard.source.n_rows if rows is None else rows
        known = self._known(shard, 0, rows)
        if known is not None:
            return known
        if targets.pairs is not None:  # whole queries are dealt, so their names are needed
            found = [places for *_, places in self.blocks(shard, targets, ROWS)]
            return np.concatenate(found)
        fold_of = self.deal.to_folds(shard, self.folds, self.held_out)
        return np.asarray(self._place[fold_of(0, rows)])

    def of_queries(self, targets: Targets) -> Array:
        """Return for each query its place among ``numbers``."""
        return np.asarray(self._place[folds_of_queries(targets, self.folds, self.held_out)])

    def blocks(
        self, shard: Shard, targets: Targets, block_rows: int
    ) -> Iterator[tuple[RowBlock, Array, Array]]:
        """Yield blocks with their encoded targets and the places of their rows."""
        whole = self.shards is not None or self.alone
        folds = 1 if whole else self.folds
        reading = Reading(block_rows, 1, folds, self.held_out)
        for block, Y, labels in dealt_blocks(shard, targets, reading, self.deal):
            places = self._known(shard, block.start, block.n_rows)
            if places is None:
                assert labels is not None
                places = self._place[labels]
            yield block, Y, places

    def _known(self, shard: Shard, start: int, rows: int) -> Array | None:
        """Return the places of rows that are not dealt."""
        if self.alone:
            return np.asarray(shard.row_numbers(self.deal.places)[start : start + rows])
        if self.shards is not None:
            return np.full(rows, self._place[self.shards[shard.number]])
        return None

    @property
    def _place(self) -> Array:
        place = np.full(self.folds, -1, dtype=np.int16)
        place[self.numbers] = np.arange(len(self.numbers))
        return place

"""Rows of a table as numbers: every block is encoded when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.columns.table_encoder import refuse_gaps
from mercer.columns.table_encoding import Surprise, TableEncoding, is_in_order
from mercer.columns.table_sums import as_table, identity_of
from mercer.contracts import Array, RowBlock, Rows, RowSource, Targets
from mercer.rows.arrays import ArraySource
from mercer.rows.file_source import FileSource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.steps import Step

#: Rows in memory that take at most this many bytes are encoded once, others in every pass.
EAGER_BYTES = 2**30
#: Rows read at a time where their folds are needed.
ROWS = 32_768


@dataclass(frozen=True)
class Deal:
    """Deals rows of a fit to the folds of the means of y that the encoding has without them.

    ``numbers`` are those of the rows among all of the fit.
    """

    encoding: TableEncoding
    targets: Targets
    numbers: Sequence[int] | Array

    def __call__(self, block: RowBlock) -> Array:
        """Return the fold of every row of a block."""
        table = self.encoding.table(as_table(block.X, list(self.encoding.names)))
        return identity_of(table, block, self.targets, self.numbers).folds(self.encoding.deal)


class EncodedSource(Step):
    """The rows of a source, encoded block by block.

    Parameters
    ----------
    source : RowSource
        Yields tables, or arrays of numbers with gaps.
    encoding : TableEncoding
        The map of the columns.
    deal : Deal or None
        The folds of the rows that the encoding was learned from; None for new rows.
    notes : list or None
        Collects what the fit has not seen, block by block.
    refuse : bool
        Whether gaps are errors.
    """

    def __init__(
        self,
        source: Any,
        encoding: TableEncoding,
        deal: Deal | None = None,
        notes: list[dict[str, Surprise]] | None = None,
        refuse: bool = False,
    ) -> None:
        super().__init__(source)
        self.encoding, self.deal = encoding, deal
        self.notes, self.refuse = notes, refuse
        self.n_features = len(encoding.feature_names)
        self.feature_names = encoding.feature_names

    @cached_property
    def _folds(self) -> Array | None:
        """The fold of every row, from a pass over the source."""
        if self.deal is None:
            return None
        return np.concatenate(
            [self.deal(block).astype(np.int8) for block in self.source.blocks(ROWS)]
        )

    def encoded(self, X: Rows, folds: Array | None = None) -> Array:
        """Return rows of the source as numbers."""
        given = self.source.feature_names or list(self.encoding.names)
        table = as_table(X, given)
        if self.notes is not None or self.refuse:
            surprises = self.encoding.surprises(table)
            if self.refuse:
                refuse_gaps(surprises)
            if self.notes is not None:
                self.notes.append(surprises)
        return self.encoding(table, folds)

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, encoded."""
        for block in self.source.blocks(rows):
            folds = None if self.deal is None else self.deal(block)
            yield replace(block, X=self.encoded(block.X, folds))

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, encoded."""
        folds = None if self._folds is None else self._folds[indices]
        return self.encoded(super().take(indices), folds)

    def split(self, parts: int) -> list[RowSource]:
        """Split into sources of consecutive rows."""
        found: list[RowSource] = []
        start = 0
        for part in self.source.split(parts):
            stop, deal = start + part.n_rows, self.deal
            if deal is not None:
                deal = replace(deal, numbers=deal.numbers[start:stop])
            found.append(EncodedSource(part, self.encoding, deal, self.notes, self.refuse))
            start = stop
        return found


def encoded_source(
    source: Any,
    encoding: TableEncoding,
    deal: Deal | None = None,
    notes: list[dict[str, Surprise]] | None = None,
    refuse: bool = False,
) -> RowSource:
    """Return the rows of a source as numbers: at once if they are in memory and not too many."""
    as_given = encoding.is_identity and not any(encoding.gaps) and notes is None
    if as_given and isinstance(source, FileSource) and is_in_order(source, encoding.names):
        return source.as_numbers()
    found = EncodedSource(source, encoding, deal, notes, refuse)
    if not isinstance(source, ArraySource) or 8 * found.n_rows * found.n_features > EAGER_BYTES:
        return found
    return source.with_rows(found.take(np.arange(found.n_rows)), encoding.feature_names)


def encoded_rows(rows: RowSet, encoding: TableEncoding, targets: Targets) -> RowSet:
    """Return all rows of a fit as numbers, each shard where it is."""
    names = encoding.feature_names
    return rows.derived(
        encoded_shard, encoding, targets, rows.slices, features=len(names), names=names
    )


def encoded_shard(
    shard: Shard, encoding: TableEncoding, targets: Targets, places: dict[int, slice]
) -> Shard:
    """Task: return a shard with its rows as numbers."""
    numbers = shard.row_numbers(places)
    deal = None if encoding.deal is None else Deal(encoding, targets, numbers)
    source = encoded_source(shard.source, encoding, deal)
    return Shard(shard.number, shard.name, source, shard.progress, shard.origin)

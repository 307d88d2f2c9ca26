"""Rows of a table as numbers: every block is encoded when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mercer.columns.table_encoder import refuse_gaps
from mercer.columns.table_encoding import TableEncoding
from mercer.columns.table_sums import as_table
from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard

#: Rows in memory that take at most this many bytes are encoded once, others in every pass.
EAGER_BYTES = 2**30


class EncodedSource:
    """The rows of a source, encoded block by block.

    Parameters
    ----------
    source : RowSource
        Yields tables, or arrays of numbers with gaps.
    encoding : TableEncoding
        The map of the columns.
    training : bool
        Whether the encoding was learned from these rows.
    notes : list or None
        Collects what the fit has not seen, block by block.
    refuse : bool
        Whether gaps are errors.
    """

    def __init__(
        self,
        source: Any,
        encoding: TableEncoding,
        training: bool = True,
        notes: list[Any] | None = None,
        refuse: bool = False,
    ) -> None:
        self.source, self.encoding, self.training = source, encoding, training
        self.notes, self.refuse = notes, refuse
        self.n_rows: int = source.n_rows
        self.n_features = len(encoding.feature_names)
        self.feature_names: list[str] | None = encoding.feature_names
        self.has_target: bool = source.has_target
        self.has_query: bool = getattr(source, "has_query", False)
        self.label = str(getattr(source, "label", "the rows"))

    @property
    def resident_bytes(self) -> int:
        """Bytes that the source itself holds."""
        return int(self.source.resident_bytes)

    def encoded(self, X: Any) -> Array:
        """Return rows of the source as numbers."""
        table = as_table(X, list(self.encoding.names))  # arrays have no names, or those of the fit
        if self.notes is not None or self.refuse:
            surprises = self.encoding.surprises(table)
            if self.refuse:
                refuse_gaps(surprises)
            if self.notes is not None:
                self.notes.append(surprises)
        return self.encoding(table, self.training)

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, encoded."""
        for block in self.source.blocks(rows):
            yield replace(block, X=self.encoded(block.X))

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, encoded."""
        return self.encoded(self.source.take(indices))

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y."""
        return self.source.targets(rows)  # type: ignore[no-any-return]

    def queries(self, rows: int) -> Iterator[tuple[Array, Array | None]]:
        """Yield queries and weights."""
        return self.source.queries(rows)  # type: ignore[no-any-return]

    def split(self, parts: int) -> list[RowSource]:
        """Split into sources of consecutive rows."""
        return [
            EncodedSource(part, self.encoding, self.training, self.notes, self.refuse)
            for part in self.source.split(parts)
        ]


def encoded_source(
    source: Any,
    encoding: TableEncoding,
    training: bool = True,
    notes: list[Any] | None = None,
    refuse: bool = False,
) -> RowSource:
    """Return the rows of a source as numbers: at once if they are in memory and not too many."""
    if encoding.is_identity and not any(encoding.gaps) and training and hasattr(source, "raw"):
        return source.as_numbers()  # type: ignore[no-any-return]
    found = EncodedSource(source, encoding, training, notes, refuse)
    if not isinstance(source, ArraySource) or 8 * found.n_rows * found.n_features > EAGER_BYTES:
        return found
    return source.with_rows(found.encoded(source.rows), encoding.feature_names)


def encoded_rows(rows: RowSet, encoding: TableEncoding) -> RowSet:
    """Return all rows as numbers, each shard where it is."""
    names = encoding.feature_names
    return rows.derived(encoded_shard, encoding, features=len(names), names=names)


def encoded_shard(shard: Shard, encoding: TableEncoding) -> Shard:
    """Task: return a shard with its rows as numbers."""
    source = encoded_source(shard.source, encoding)
    return Shard(shard.number, shard.name, source, shard.progress)

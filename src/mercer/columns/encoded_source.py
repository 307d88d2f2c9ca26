"""Rows of a table as numbers: every block is encoded when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mercer.columns.table_encoding import TableEncoding
from mercer.columns.table_sums import as_table
from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard

#: Rows in memory that take at most this many bytes are encoded once, others in every pass.
EAGER_BYTES = 2**30


@dataclass(frozen=True)
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
    """

    source: Any
    encoding: TableEncoding
    training: bool = True
    notes: list[Any] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.source.n_rows)

    @property
    def n_features(self) -> int:
        """The number of encoded columns."""
        return len(self.encoding.feature_names)

    @property
    def feature_names(self) -> list[str]:
        """The names of the encoded columns."""
        return self.encoding.feature_names

    @property
    def has_target(self) -> bool:
        """Whether rows have targets."""
        return bool(self.source.has_target)

    @property
    def has_query(self) -> bool:
        """Whether rows have queries."""
        return bool(getattr(self.source, "has_query", False))

    @property
    def label(self) -> str:
        """What the rows are, for messages."""
        return str(getattr(self.source, "label", "the rows"))

    @property
    def resident_bytes(self) -> int:
        """Bytes that the source itself holds."""
        return int(self.source.resident_bytes)

    def encoded(self, X: Any) -> Array:
        """Return rows of the source as numbers."""
        # Arrays have no names, or those of the fit: their columns are taken in order.
        table = as_table(X, list(self.encoding.names))
        if self.notes is not None:
            self.notes.append(self.encoding.surprises(table))
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
        return [replace(self, source=part) for part in self.source.split(parts)]


def encoded_source(
    source: Any, encoding: TableEncoding, training: bool = True, notes: list[Any] | None = None
) -> RowSource:
    """Return the rows of a source as numbers: at once if they are in memory and not too many."""
    if encoding.is_identity and not any(encoding.gaps) and training and hasattr(source, "raw"):
        return source.as_numbers()  # type: ignore[no-any-return]
    found = EncodedSource(source, encoding, training, notes)
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

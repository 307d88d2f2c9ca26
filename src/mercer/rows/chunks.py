"""Cut and join the pieces that a reader returns into blocks of the requested size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mercer.contracts import Array
from mercer.rows.table import Table


class Piece(NamedTuple):
    """Consecutive rows as they were read; parts that were not requested or are missing are None."""

    X: Any  # an array, a table or None
    y: Array | None
    weight: Array | None
    query: Array | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows in the piece."""
        return next((len(part) for part in self if part is not None), 0)

    def between(self, start: int, stop: int) -> Piece:
        """Return rows ``start`` to ``stop`` as views."""
        return Piece(*(None if part is None else part[start:stop] for part in self))


def rechunk(pieces: Iterable[Piece], rows: int) -> Iterator[Piece]:
    """Yield the same rows in pieces of exactly ``rows`` rows; only the last may have fewer.

    A block within one piece is a view of it. Other blocks are filled as pieces arrive, so that at
    most one block and one piece are in memory.

    >>> pieces = [Piece(None, np.arange(3), None), Piece(None, np.arange(3, 5), None)]
    >>> [piece.y.tolist() for piece in rechunk(pieces, 2)]
    [[0, 1], [2, 3], [4]]
    """
    block: Any = None  # an array that is filled, or a list of tables
    labels: list[Piece] = []
    filled = 0
    for piece in pieces:
        at, end = 0, piece.n_rows
        while at < end:
            part = piece.between(at, min(at + rows - filled, end))
            count = part.n_rows
            at += count
            if count == rows:
                yield part
                continue
            if isinstance(part.X, Table):
                block = [*(block or ()), part.X]
            elif part.X is not None:
                if block is None:
                    block = np.empty((rows, part.X.shape[1]), dtype=part.X.dtype)
                block[filled : filled + count] = part.X
            labels.append(part._replace(X=None))
            filled += count
            if filled == rows:
                yield _joined(block, labels, filled)
                block, labels, filled = None, [], 0
    if filled:
        yield _joined(block, labels, filled)


def even_cuts(n_rows: int, parts: int) -> list[int]:
    """Return ``parts + 1`` row numbers that cut ``n_rows`` rows into parts of nearly equal size.

    >>> even_cuts(10, 3)
    [0, 3, 6, 10]
    """
    return [n_rows * part // parts for part in range(parts + 1)]


def _joined(block: Any, labels: list[Piece], filled: int) -> Piece:
    """Combine a filled block with the labels of its pieces."""
    if isinstance(block, list):
        block = Table.joined(block)
    y = [piece.y for piece in labels if piece.y is not None]
    weight = [piece.weight for piece in labels if piece.weight is not None]
    query = [piece.query for piece in labels if piece.query is not None]
    return Piece(
        None if block is None else block[:filled],
        np.concatenate(y) if y else None,
        np.concatenate(weight) if weight else None,
        np.concatenate(query) if query else None,
    )

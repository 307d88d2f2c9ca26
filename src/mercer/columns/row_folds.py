"""Folds of rows for means of y: which rows a row learns nothing from.

A row's fold is a hash of its content, target included,

.. math:: \\text{fold}(i) = \\text{hash}(x_i, y_i) \\bmod F,

so that it is the same in any block, on any shard and in any order, and again when the row is
forgotten. Where rows repeat with their targets, as in a table of categories and classes, copies
would share a fold, and a level would never know them: there the fold is a hash of the number of
the row among all rows of the fit.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array
from mercer.rows.table import Coded, Column, Table
from mercer.storage.fingerprints import ODD, mixed

#: Folds of target statistics.
FOLDS = 5
#: How rows are dealt to them.
DEALS = ("content", "number")
#: Rows are dealt by number if more than this share of them repeat.
MANY_REPEATS = 0.05


def row_hashes(table: Table) -> Array:
    """Return a 64-bit hash of every row.

    >>> table = Table({"x": np.array([1.0, 2.0, 1.0]), "k": Coded.of(["a", "b", "a"])})
    >>> hashes = row_hashes(table)
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    found = np.zeros(table.n_rows, dtype=np.uint64)
    for column in table.columns.values():
        found = mixed(found * ODD + _bits(column))
    return found


def hashes_with(hashes: Array, Y: Array) -> Array:
    """Return hashes of rows with their targets, of shape (n, k).

    >>> found = hashes_with(np.zeros(3, dtype=np.uint64), np.array([[1.0], [1.0], [2.0]]))
    >>> bool(found[0] == found[1]), bool(found[0] == found[2])
    (True, False)
    """
    for y in Y.T:
        hashes = mixed(hashes * ODD + _bits(y))
    return hashes


def folds_of(hashes: Array) -> Array:
    """Return a fold for every hash."""
    return np.asarray(hashes % np.uint64(FOLDS), dtype=np.intp)


def repeats(hashes: Array) -> bool:
    """Return whether many of some rows, of these hashes, are there more than once."""
    _, counts = np.unique(hashes, return_counts=True)
    return bool(counts[counts > 1].sum() > MANY_REPEATS * len(hashes))


@dataclass(frozen=True)
class RowIdentity:
    """What tells rows apart: hashes of x, and of x with y, and the number among all rows."""

    hashes: Array
    paired: Array
    numbers: Array

    @classmethod
    def of(cls, table: Table, y: Array, numbers: Sequence[int] | Array) -> RowIdentity:
        """Return the identity of the rows of a table, with targets of shape (n, k) as given."""
        hashes = row_hashes(table)
        return cls(hashes, hashes_with(hashes, y), np.asarray(numbers))

    def folds(self, deal: str | None) -> Array:
        """Return the fold of every row, by content or by number."""
        if deal == "number":
            return folds_of(mixed(self.numbers.astype(np.uint64) * ODD + ODD))
        return folds_of(self.paired)


def level_hashes(levels: Array) -> Array:
    """Return a 32-bit hash of every level, the same in all processes."""
    return np.array([zlib.crc32(str(level).encode()) for level in levels], dtype=np.uint64)


def _bits(column: Column) -> Array:
    if isinstance(column, Coded):
        return np.append(level_hashes(column.levels), np.uint64(2**32))[column.codes]
    if column.dtype.kind == "M":
        return column.astype(np.int64).view(np.uint64)
    values = np.where(np.isnan(column), np.nan, column + 0.0)  # one kind of NaN, and no -0
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)

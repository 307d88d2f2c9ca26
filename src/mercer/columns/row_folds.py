"""Folds of rows by what they contain: ``fold(x) = hash(x) mod F``.

A row has the same fold in any block, on any shard and in any order, and again when it is forgotten;
equal rows are never in two folds.
"""

from __future__ import annotations

import zlib

import numpy as np

from mercer.contracts import Array
from mercer.rows.table import Coded, Column, Table

#: Folds of target statistics.
FOLDS = 5
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def row_hashes(table: Table) -> Array:
    """Return a 64-bit hash of every row.

    >>> table = Table({"x": np.array([1.0, 2.0, 1.0]), "k": Coded.of(["a", "b", "a"])})
    >>> hashes = row_hashes(table)
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    found = np.zeros(table.n_rows, dtype=np.uint64)
    for column in table.columns.values():
        found = _mixed(found * _ODD + _bits(column))
    return found


def folds_of(hashes: Array, folds: int = FOLDS) -> Array:
    """Return a fold for every hash."""
    return np.asarray(hashes % np.uint64(folds), dtype=np.intp)


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


def _mixed(values: Array) -> Array:
    """Return well-mixed bits: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014)."""
    values = (values ^ (values >> np.uint64(30))) * _MIX[0]
    values = (values ^ (values >> np.uint64(27))) * _MIX[1]
    return np.asarray(values ^ (values >> np.uint64(31)))

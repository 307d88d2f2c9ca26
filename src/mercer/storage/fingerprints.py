"""Fingerprints: hashes that identify rows, files and parameters, and which rows there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from mercer.contracts import Array, Rows
from mercer.storage.state import Numbers, Sizes, State

#: What bits are multiplied by before others are added.
ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def fingerprint(value: object) -> str:
    """Return the fingerprint of parameters, arrays, or nested structures of them.

    >>> fingerprint({"alpha": 0.1}) == fingerprint({"alpha": 0.1})
    True
    >>> fingerprint(np.zeros(2)) == fingerprint(np.zeros(3))
    False
    """
    found: str = joblib.hash(value)
    return found


def input_identity(rows: object) -> Any:
    """Return what identifies the input of a fit, for :func:`fingerprint`.

    Files are identified by name, size and modification time, Dask collections by their token, and
    everything else by its values. Text that is not a file is the name of a column.
    """
    if isinstance(rows, (str, Path)):
        path = Path(rows)
        if not path.exists():
            return str(rows)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    if isinstance(rows, (list, tuple)) and all(isinstance(part, (str, Path)) for part in rows):
        return [input_identity(part) for part in rows]
    return rows.__dask_tokenize__() if hasattr(rows, "__dask_tokenize__") else rows


def fingerprint_rows(blocks: Iterable[Rows]) -> str:
    """Return the fingerprint of rows in order, independent of their split into blocks.

    Numbers are compared by value, regardless of dtype, and sparse rows by their nonzeros.

    >>> X = np.arange(6.0).reshape(3, 2)
    >>> fingerprint_rows([X[:1], X[1:]]) == fingerprint_rows([X.astype(int)])
    True
    >>> fingerprint_rows([X[::-1]]) == fingerprint_rows([X])
    False
    """
    hashes = [hashlib.sha256() for _ in range(3)]
    for block in blocks:
        for one, part in zip(hashes, _row_parts(block), strict=False):
            one.update(part.data)
    return hashlib.sha256(b"".join(one.digest() for one in hashes)).hexdigest()


def _row_parts(X: Rows) -> list[Array]:
    """Return the arrays to hash: the values, and for sparse rows also their positions."""
    if not hasattr(X, "tocsr"):
        return [np.ascontiguousarray(X, dtype=np.float64) + 0.0]  # -0.0 is the same number
    X = X.tocsr().astype(np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    return [X.data, X.indices.astype(np.int64), np.diff(X.indptr).astype(np.int64)]


def fingerprint_texts(parts: Iterable[Iterable[str]]) -> str:
    """Return the fingerprint of texts in order, independent of their split into parts.

    >>> fingerprint_texts([["a", "b"], ["c"]]) == fingerprint_texts([["a", "b", "c"]])
    True
    >>> fingerprint_texts([["ab", ""]]) == fingerprint_texts([["a", "b"]])
    False
    """
    found = hashlib.sha256()
    for part in parts:
        found.update("".join(f"{len(text)}:{text}" for text in part).encode())
    return found.hexdigest()


def fingerprint_unordered(rows: Array) -> tuple[int, int]:
    """Return the number of dense rows and the sum of their hashes, independent of their order.

    >>> rows = np.random.default_rng(0).random((5, 2))
    >>> fingerprint_unordered(rows) == fingerprint_unordered(rows[::-1])
    True
    >>> fingerprint_unordered(rows) == fingerprint_unordered(rows[:, ::-1])
    False
    """
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0.0 and 0.0 are the same number
    odd = np.random.default_rng(0).integers(2**62, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    with np.errstate(over="ignore"):
        hashes = (bits * odd).sum(axis=1, dtype=np.uint64)
        hashes ^= hashes >> np.uint64(31)
        hashes *= ODD
        hashes ^= hashes >> np.uint64(29)
        return len(rows), int(hashes.sum(dtype=np.uint64))


# Rows by their 64-bit fingerprints.


def mixed(bits: Array) -> Array:
    """Return bits mixed by a bijection (the finalizer of SplitMix64; Steele et al., 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX[0]
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX[1]
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _vector(name: str, dtype: str) -> Numbers:
    return Numbers(
        name,
        kind="iu",
        rule=(f"must be {dtype}", lambda values: values.dtype == dtype),
        must=f"the {name} of rows must be a vector of {dtype}",
    )


@dataclass(frozen=True)
class RowMultiset:
    """Fingerprints in increasing order, and how often each occurs.

    Two different rows of n have the same fingerprint with a probability of about ``n^2 / 2^65``.

    Examples
    --------
    >>> X, y = np.arange(6.0).reshape(3, 2), np.zeros((3, 1))
    >>> rows = RowMultiset.of(row_fingerprints(X, y))
    >>> part = RowMultiset.of(row_fingerprints(X[:1], y[:1]))
    >>> rows.total, (rows - part).total, (rows - part).missing(part)
    (3, 2, 1)
    """

    state = State(fingerprints=_vector("fingerprints", "uint64"), counts=_vector("counts", "int64"))
    fingerprints: Array  # (u,) uint64
    counts: Array  # (u,) int64

    @classmethod
    def of(cls, fingerprints: Array) -> RowMultiset:
        """Count fingerprints."""
        return cls(*np.unique(np.asarray(fingerprints, dtype=np.uint64), return_counts=True))

    @classmethod
    def union(cls, parts: Iterable[RowMultiset]) -> RowMultiset:
        """Return the rows of all parts."""
        every = [cls.of(np.zeros(0)), *parts]
        distinct, where = np.unique(
            np.concatenate([part.fingerprints for part in every]), return_inverse=True
        )
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([part.counts for part in every]))
        return cls(distinct, counts)

    @property
    def total(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    def __add__(self, other: RowMultiset) -> RowMultiset:
        """Return the rows of both."""
        return RowMultiset.union([self, other])

    def __sub__(self, other: RowMultiset) -> RowMultiset:
        """Return the rows that are not in ``other``; all of ``other`` must be in ``self``."""
        if self.missing(other):
            raise ValueError(f"{self.missing(other)} rows to subtract are not there")
        counts = self.counts.copy()
        counts[np.searchsorted(self.fingerprints, other.fingerprints)] -= other.counts
        return RowMultiset(self.fingerprints[counts > 0], counts[counts > 0])

    def missing(self, other: RowMultiset) -> int:
        """Return how many rows of ``other`` are not in ``self``."""
        if not len(self.fingerprints):
            return other.total
        at = np.searchsorted(self.fingerprints, other.fingerprints)
        at = np.minimum(at, len(self.fingerprints) - 1)
        there = np.where(self.fingerprints[at] == other.fingerprints, self.counts[at], 0)
        return int(np.maximum(other.counts - there, 0).sum())

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError unless fingerprints increase, with a positive count each."""
        sorted_ = bool(np.all(self.fingerprints[1:] > self.fingerprints[:-1]))
        if len(self.fingerprints) != len(self.counts) or not sorted_ or np.any(self.counts < 1):
            raise ValueError("the fingerprints of rows must increase, with a positive count each")


def row_fingerprints(X: Rows, Y: Array, weight: Array | None = None) -> Array:
    """Return a 64-bit fingerprint of every row with its targets and weight.

    Numbers are compared by value, regardless of dtype, and zeros do not count, so that sparse rows
    have the fingerprints of dense ones. Rows of weight 0 have none.

    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones((2, 1))
    >>> found = row_fingerprints(X, y)
    >>> bool(found[0] == found[1]), bool(np.all(found == row_fingerprints(X.astype(int), y)))
    (False, True)
    >>> bool(np.any(found == row_fingerprints(X, y, np.array([2.0, 2.0]))))
    False
    """
    rows = X.shape[0]
    w = np.ones(rows) if weight is None else np.asarray(weight, dtype=np.float64)
    hashes = np.zeros(rows, dtype=np.uint64)
    with np.errstate(over="ignore"):
        if hasattr(X, "tocsr"):
            sparse: Any = X.tocsr(copy=True)
            sparse.sum_duplicates()
            coordinates = sparse.tocoo()
            np.add.at(hashes, coordinates.row, _hashed(coordinates.data, coordinates.col))
        else:
            for number in range(X.shape[1]):
                hashes += _hashed(X[:, number], number)
        hashes = mixed(hashes)
        for number in range(Y.shape[1]):
            hashes = mixed(hashes * ODD + _hashed(Y[:, number], number))
        hashes = mixed(hashes * ODD + _hashed(w, 0))
    return hashes[w > 0]


def _hashed(values: Array, column: object) -> Array:
    """Return hashes of numbers of a column; those of zeros are 0."""
    numbers = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # -0.0 is the same number
    numbers = np.where(np.isnan(numbers), np.nan, numbers)  # all gaps are equal
    place = np.asarray(column).astype(np.uint64) + np.uint64(1)
    hashes = mixed(mixed(numbers.view(np.uint64)) + place * ODD)
    return np.where(numbers == 0, np.uint64(0), hashes)

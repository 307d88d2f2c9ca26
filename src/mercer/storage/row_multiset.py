"""Which rows there are, and how often: a multiset of 64-bit fingerprints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.contracts import Array, Rows
from mercer.storage.fingerprints import ODD, mixed
from mercer.storage.state import Numbers, Sizes, State


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

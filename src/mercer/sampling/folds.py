"""Assign rows to folds at random, by their numbers among all rows of a fit.

The same rows in the same order are in the same folds in one place and over any shards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mercer.contracts import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from mercer.rows.shards import ShardMethods

#: Rows that are assigned at a time: so many labels are in memory, however many rows there are.
DEALT = 2**16


def fold_labels(
    rows: int, n_splits: int, rng: np.random.Generator, held_out: float | None = None
) -> Array:
    """Return a random fold for each of ``rows`` rows, in folds of nearly equal size.

    With ``held_out`` all folds but the first hold that share of the rows together, rounded at
    random so that the share is exact on average over many blocks; the first holds the others. With
    two folds and at least two rows, neither fold is empty.

    >>> sorted(fold_labels(5, 2, np.random.default_rng(0)).tolist())
    [0, 0, 0, 1, 1]
    >>> fold_labels(10, 2, np.random.default_rng(0), held_out=0.3).sum().item()
    3
    """
    if held_out is None:
        return rng.permutation(np.arange(rows) % n_splits)
    count = int(np.floor(held_out * rows + rng.random()))
    if rows > 1 and n_splits == 2:
        count = min(max(count, 1), rows - 1)
    labels = np.zeros(rows, dtype=np.intp)
    # A block that holds out fewer rows than there are folds may start at any of them.
    first = rng.integers(n_splits - 1) if n_splits > 2 else 0
    labels[:count] = 1 + (np.arange(count) + first) % (n_splits - 1)
    return rng.permutation(labels)


@dataclass(frozen=True)
class Dealer:
    """The fold of every row, the same in every pass, whatever the blocks and shards.

    >>> dealer = Dealer(n_rows=6, folds=3, seed=0)
    >>> whole = dealer.labels(0, 6)
    >>> sorted(whole.tolist()), bool(np.all(whole[2:5] == dealer.labels(2, 3)))
    ([0, 0, 1, 1, 2, 2], True)
    >>> bool(np.all(whole[[5, 0, 3]] == dealer.at(np.array([5, 0, 3]))))
    True
    """

    n_rows: int
    folds: int
    seed: int
    held_out: float | None = None

    def labels(self, start: int, count: int) -> Array:
        """Return the folds of ``count`` rows from ``start`` on."""
        first, last = start // DEALT, -(-(start + count) // DEALT)
        parts = [np.zeros(0, dtype=np.intp)]
        for number in range(first, last):
            rows = min(DEALT, self.n_rows - number * DEALT)
            rng = np.random.default_rng([self.seed, number])
            parts.append(fold_labels(rows, self.folds, rng, self.held_out))
        dealt = np.concatenate(parts)
        begin = start - first * DEALT
        return dealt[begin : begin + count]

    def at(self, numbers: Array) -> Array:
        """Return the folds of rows in any order."""
        found = np.empty(len(numbers), dtype=np.intp)
        chunk = numbers // DEALT
        for number in np.unique(chunk).tolist():
            at = np.flatnonzero(chunk == number)
            found[at] = self.labels(number * DEALT, DEALT)[numbers[at] - number * DEALT]
        return found


@dataclass(frozen=True)
class Deal:
    """How the rows of all shards are dealt: a seed, and where each shard's rows are among all."""

    seed: int
    places: Mapping[int, slice]

    def to_folds(
        self, shard: ShardMethods, folds: int, held_out: float | None = None
    ) -> Callable[[int, int], Array]:
        """Return a function with the folds of ``count`` rows of a shard from ``start`` on."""
        total = max(place.stop for place in self.places.values())
        dealer, numbers = Dealer(total, folds, self.seed, held_out), shard.row_numbers(self.places)
        if isinstance(numbers, range):
            return partial(_consecutive, dealer, numbers.start)
        known = dealer.at(numbers)
        return lambda start, count: known[start : start + count]


def _consecutive(dealer: Dealer, first: int, start: int, count: int) -> Array:
    return dealer.labels(first + start, count)

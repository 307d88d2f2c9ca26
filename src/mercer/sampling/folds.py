"""Assign rows to folds at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array

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
    """The fold of every row of a shard, the same in every pass, whatever the blocks.

    >>> dealer = Dealer(n_rows=6, folds=3, seed=0)
    >>> whole = dealer.labels(0, 6)
    >>> sorted(whole.tolist()), bool(np.all(whole[2:5] == dealer.labels(2, 3)))
    ([0, 0, 1, 1, 2, 2], True)
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

"""Rows to train on and rows to test on, whatever they are of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.scaffold import Array, data

#: Share of rows to train on, as in the paper.
TRAIN = 0.7


@dataclass(frozen=True)
class Split(data.Split):
    """The same, with y of the test rows without noise as ``level``, where it is known."""

    level: Array | None = None


def split(X: Array, y: Array, rng: np.random.Generator, level: Array | None = None) -> Split:
    """Draw 70 percent of the rows to train on; the others are to test on."""
    order = rng.permutation(len(X))
    cut = round(TRAIN * len(X))
    train, test = order[:cut], order[cut:]
    return Split(X[train], y[train], X[test], y[test], None if level is None else level[test])


def deal(n_rows: int, shards: int) -> Array:
    """Return the shard of each row: as even as can be; rows are in random order already.

    >>> deal(5, 2)
    array([0, 0, 0, 1, 1])
    """
    sizes = [len(part) for part in np.array_split(np.empty(n_rows), shards)]
    return np.repeat(np.arange(shards), sizes)

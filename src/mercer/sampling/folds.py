"""Assign rows to folds at random."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array


def fold_labels(
    rows: int, n_splits: int, rng: np.random.Generator, held_out: float | None = None
) -> Array:
    """Return a random fold for each of ``rows`` rows, in folds of nearly equal size.

    With ``held_out`` there are two folds, and the second holds that share of the rows, rounded at
    random so that the share is exact on average over many blocks. With at least two rows, neither
    fold is empty.

    >>> sorted(fold_labels(5, 2, np.random.default_rng(0)).tolist())
    [0, 0, 0, 1, 1]
    >>> fold_labels(10, 2, np.random.default_rng(0), held_out=0.3).sum().item()
    3
    """
    if held_out is None:
        return rng.permutation(np.arange(rows) % n_splits)
    count = int(np.floor(held_out * rows + rng.random()))
    if rows > 1:
        count = min(max(count, 1), rows - 1)
    return rng.permutation((np.arange(rows) < count).astype(np.intp))

"""Rows drawn uniformly, without replacement."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array


def uniform_indices(n_rows: int, size: int, rng: np.random.Generator) -> Array:
    """Draw ``size`` out of ``n_rows`` indices without replacement, in increasing order.

    If ``size`` is at least ``n_rows``, return all indices without using the generator.

    >>> uniform_indices(3, 5, np.random.default_rng(0))
    array([0, 1, 2])
    """
    if size >= n_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, size=size, replace=False, shuffle=False))


#: Up to this many rows, all of them are put in order.
ORDERED = 1_000_000


def random_order(n_rows: int, size: int, rng: np.random.Generator) -> Array:
    """Return the first ``size`` of all row indices in random order: more of them only continue it.

    >>> few, many = (random_order(100, size, np.random.default_rng(0)) for size in (5, 50))
    >>> bool(np.array_equal(few, many[:5])), len(set(many.tolist()))
    (True, 50)
    """
    if n_rows <= ORDERED:
        return np.asarray(rng.permutation(n_rows)[:size])
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < size:  # a row that comes again is passed over
        drawn = np.append(drawn, rng.integers(n_rows, size=size))
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn[:size]

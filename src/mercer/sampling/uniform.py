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

"""Landmarks by what they add: leverage scores, or randomly pivoted Cholesky."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel
from mercer.sampling.dictionaries import bless, recursive_dictionary
from mercer.sampling.leverage import Dictionary
from mercer.sampling.pivoted_cholesky import pivoted_cholesky

#: Rows that landmarks are chosen from, for each landmark, and at least.
POOL, LEAST = 20, 10_000

DICTIONARIES: dict[str, Callable[..., Dictionary]] = {
    "leverage": recursive_dictionary,
    "bless": bless,
}
#: Names of the ways to choose rows that look at the kernel.
BY_KERNEL = (*DICTIONARIES, "rpcholesky")


def pool_size(size: int) -> int:
    """Return of how many rows ``size`` landmarks are chosen."""
    return max(LEAST, POOL * size)


def chosen_rows(how: str, kernel: Kernel, X: Rows, size: int, rng: np.random.Generator) -> Array:
    """Return ``size`` rows of X, each once, in increasing order.

    "leverage" and "bless" draw them with probabilities proportional to approximate leverage scores,
    at a penalty that suits so many rows; "rpcholesky" takes the pivots of a Cholesky factor.
    """
    n = X.shape[0]
    if size >= n:
        return np.arange(n)
    if how == "rpcholesky":
        _, rows = pivoted_cholesky(kernel, X, size, rng)
        weights = np.ones(n)
    else:
        rows = np.zeros(0, dtype=np.intp)
        weights = DICTIONARIES[how](kernel, X, rng, size=size).scores(X)
    weights[rows] = 0.0
    left = size - len(rows)
    present = int(np.count_nonzero(weights))
    if present < left:  # scores that are all 0: the kernel has nothing left to tell
        weights = np.where(np.isin(np.arange(n), rows), 0.0, weights + 1e-300)
    if left:
        more = rng.choice(n, size=left, replace=False, p=weights / weights.sum())
        rows = np.r_[rows, more]
    return np.sort(rows)

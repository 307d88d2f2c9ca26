"""Choose landmarks by leverage scores or randomly pivoted Cholesky."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel
from mercer.sampling.dictionaries import bless, recursive_dictionary
from mercer.sampling.leverage import Dictionary
from mercer.sampling.pivoted_cholesky import pivoted_cholesky

#: Candidate rows per landmark, and the smallest number of candidates.
POOL, LEAST = 20, 10_000

DICTIONARIES: dict[str, Callable[..., Dictionary]] = {
    "leverage": recursive_dictionary,
    "bless": bless,
}
#: Names of the sampling methods that use the kernel.
BY_KERNEL = (*DICTIONARIES, "rpcholesky")


def pool_size(size: int) -> int:
    """Return the number of candidate rows for ``size`` landmarks."""
    return max(LEAST, POOL * size)


def chosen_rows(how: str, kernel: Kernel, X: Rows, size: int, rng: np.random.Generator) -> Array:
    """Return ``size`` rows of X, each once, in increasing order.

    "leverage" and "bless" draw rows with probabilities proportional to approximate leverage scores,
    at a penalty suited to that many rows; "rpcholesky" takes the pivots of a randomly pivoted
    Cholesky factor.
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
    if present < left:  # all remaining scores are 0
        weights = np.where(np.isin(np.arange(n), rows), 0.0, weights + 1e-300)
    if left:
        more = rng.choice(n, size=left, replace=False, p=weights / weights.sum())
        rows = np.r_[rows, more]
    return np.sort(rows)

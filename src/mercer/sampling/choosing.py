"""Choose landmarks by leverage scores or randomly pivoted Cholesky."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.contracts import Array, Rows, RowSource
from mercer.kernels import Kernel
from mercer.rows.rowset import RowSet
from mercer.sampling.dictionaries import bless, recursive_dictionary
from mercer.sampling.leverage import Dictionary
from mercer.sampling.pivoted_cholesky import pivoted_cholesky
from mercer.sampling.scored_rows import scores_of_rows

#: Candidate rows per landmark, and the smallest number of candidates.
POOL, LEAST = 20, 10_000

#: Makes a dictionary, by the name of the sampling method.
DICTIONARIES: dict[str, Callable[..., Dictionary]] = {
    "leverage": recursive_dictionary,
    "bless": bless,
}
#: Names of the sampling methods that use the kernel.
BY_KERNEL = (*DICTIONARIES, "rpcholesky")


def pool_size(size: int, candidates: int | str | None = None) -> int:
    """Return the number of uniform rows to look at for ``size`` landmarks.

    With ``candidates="all"`` these only make the dictionary, through which all rows are scored.
    """
    if candidates is None or isinstance(candidates, str):
        return max(LEAST, POOL * size)
    return candidates * size


def chosen_rows(
    how: str,
    kernel: Kernel,
    X: Rows,
    size: int,
    rng: np.random.Generator,
    alpha: float | None = None,
) -> Array:
    """Return ``size`` rows of X, each once, in increasing order.

    "leverage" and "bless" draw rows with probabilities proportional to approximate leverage scores,
    at the penalty alpha, or at one suited to that many rows; "rpcholesky" takes the pivots of a
    randomly pivoted Cholesky factor.
    """
    n = X.shape[0]
    if size >= n:
        return np.arange(n)
    if how == "rpcholesky":
        _, rows = pivoted_cholesky(kernel, X, size, rng)
        return drawn_by_weight(np.ones(n), size, rng, rows)
    return drawn_by_weight(_dictionary(how, kernel, X, size, rng, alpha).scores(X), size, rng)


def scores_of_all(
    how: str,
    kernel: Kernel,
    sample: Rows,
    at: Array,
    source: RowSource | RowSet,
    size: int,
    rng: np.random.Generator,
    alpha: float | None = None,
) -> Array:
    """Return approximate leverage scores of all rows of a source, by "leverage" or "bless".

    The dictionary is made from a uniform sample of P rows, the rows ``at``, at the penalty ``alpha
    P``; with the penalty ``alpha n`` it scores all n rows, block by block, in their shards. Rows
    that stand alone are scored as such whether they are in the dictionary or not.
    """
    dictionary = _dictionary(how, kernel, sample, size, rng, alpha)
    whole = dictionary.of_more_rows(source.n_rows / sample.shape[0])
    scores = scores_of_rows(source, whole)
    scores[at[whole.indices]] = whole.own_scores()
    return scores


def _dictionary(
    how: str, kernel: Kernel, X: Rows, size: int, rng: np.random.Generator, alpha: float | None
) -> Dictionary:
    penalty = {"size": size} if alpha is None else {"alpha": alpha}
    return DICTIONARIES[how](kernel, X, rng, **penalty)


def drawn_by_weight(
    weights: Array, size: int, rng: np.random.Generator, first: Array | None = None
) -> Array:
    """Return ``size`` rows in increasing order: the first ones, and others by their weights.

    Rows are drawn one after the other, and each only once: with probability proportional to the
    weights among those that are left.

    >>> drawn_by_weight(np.array([0.0, 1.0, 2.0]), 2, np.random.default_rng(0))
    array([1, 2])
    """
    n = len(weights)
    rows = np.zeros(0, dtype=np.intp) if first is None else first
    weights = np.array(weights, dtype=np.float64)
    weights[rows] = 0.0
    left = size - len(rows)
    present = int(np.count_nonzero(weights))
    if present < left:  # all remaining scores are 0
        weights = np.where(np.isin(np.arange(n), rows), 0.0, weights + 1e-300)
    if left:
        more = rng.choice(n, size=left, replace=False, p=weights / weights.sum())
        rows = np.r_[rows, more]
    return np.sort(rows)

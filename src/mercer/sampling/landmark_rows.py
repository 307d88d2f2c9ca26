"""Which rows become landmarks: uniform ones, by leverage scores, by pivots, or cluster centers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from mercer.contracts import Array, ReadableRows, Rows
from mercer.kernels import Kernel
from mercer.sampling.leverage import Dictionary, bless, recursive_dictionary, scores_of_rows
from mercer.sampling.pivoted_cholesky import pivoted_cholesky


def uniform_indices(n_rows: int, size: int, rng: np.random.Generator) -> Array:
    """Draw ``size`` out of ``n_rows`` indices without replacement, in increasing order.

    If ``size`` is at least ``n_rows``, return all indices without using the generator.

    >>> uniform_indices(3, 5, np.random.default_rng(0))
    array([0, 1, 2])
    """
    if size >= n_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, size=size, replace=False, shuffle=False))


def distinct_rows(X: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw at most ``size`` indices of rows, in increasing order; none is a copy of another.

    >>> len(distinct_rows(np.array([[1.0], [2.0], [1.0], [1.0]]), 3, np.random.default_rng(0)))
    2
    """
    order = rng.permutation(len(X))
    first = np.sort(np.unique(X[order], axis=0, return_index=True)[1])
    return np.sort(order[first[:size]])


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
    source: ReadableRows,
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


def kmeans_centers(X: Rows, size: int, rng: np.random.Generator) -> Array:
    """Return the centers of ``size`` clusters of X (Zhang, Tsang and Kwok, 2008).

    Mini-batches keep the cost linear in the number of rows. A single start is enough: landmarks
    only need to cover the rows, not to recover their clusters.
    """
    model = MiniBatchKMeans(
        n_clusters=size,
        n_init=1,
        init="random",
        batch_size=max(1024, 2 * size),
        max_iter=10,
        random_state=int(rng.integers(2**31 - 1)),
        # There may be fewer distinct rows than clusters: the whitener drops the duplicate centers.
        reassignment_ratio=0.0,
    ).fit(X)
    return np.asarray(model.cluster_centers_, dtype=np.float64)

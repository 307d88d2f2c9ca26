"""Ranking metrics: the pairwise error, and NDCG by query.

.. math:: \\text{error} = \\frac{\\sum_{y_i > y_j} w_i w_j [f_i \\le f_j]}
                              {\\sum_{y_i > y_j} w_i w_j}, \\qquad
          \\text{DCG@}k = \\sum_{r=1}^{k} \\frac{2^{y_{(r)}} - 1}{\\log_2(r + 1)}

Pairs are within a query; without queries, all rows are one query.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array
from mercer.validation import check_choice, check_count, check_finite, check_same_length

Gain = Literal["exponential", "linear", "auto"]


def pairwise_error(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of pairs that are in the wrong order or tied.

    .. math:: \\frac{\\sum_{y_i > y_j} w_i w_j [f_i \\le f_j]}{\\sum_{y_i > y_j} w_i w_j}

    over pairs of rows of the same query. Equal scores count as wrong. The cost is
    O(n log(n)^2), not O(n^2).

    Parameters
    ----------
    y : array of shape (n,)
        Real-valued relevance.
    scores : array of shape (n,)
        Predicted scores; higher ranks first.
    qid : array of shape (n,) or None
        The query of each row, of any type and in any order; None means a single query.
    sample_weight : array of shape (n,) or None
        Weights; a pair has the product of the weights of its rows.

    Returns
    -------
    error : float
        Between 0 and 1; nan if no two rows of a query differ in relevance.

    Examples
    --------
    >>> pairwise_error([1, 2, 3], [0.1, 0.3, 0.2])
    0.3333333333333333
    >>> pairwise_error([0, 1, 0, 1], [0, 1, 5, 6], qid=["a", "a", "b", "b"])
    0.0
    """
    y, scores = _numbers(y, "y"), _numbers(scores, "scores")
    check_same_length(len(y), scores, "scores")
    query = _codes(qid, len(y))
    weight = np.ones(len(y)) if sample_weight is None else _numbers(sample_weight, "sample_weight")
    check_same_length(len(y), weight, "sample_weight")
    wrong, pairs = _pair_weights(y, scores, query, weight)
    return float(wrong / pairs) if pairs > 0 else float("nan")


def ndcg(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    k: int | None = 10,
    *,
    gain: Gain = "exponential",
    undefined: Literal["skip", "one", "zero"] = "skip",
) -> float:
    """Return the mean NDCG@k over queries.

    .. math:: \\text{NDCG@}k = \\frac{\\text{DCG@}k}{\\max \\text{DCG@}k}, \\qquad
              \\text{DCG@}k = \\sum_{r=1}^{k} \\frac{g(y_{(r)})}{\\log_2(r + 1)}

    with the maximum over all orders. Tied scores share the mean of their gains g, as in McSherry
    and Najork (2008), *Computing information retrieval performance measures efficiently in the
    presence of tied scores*. A query with one row has the value 1 if the gain of that row is
    positive.

    Parameters
    ----------
    y : array of shape (n,)
        Nonnegative relevance.
    scores : array of shape (n,)
        Predicted scores; higher ranks first.
    qid : array of shape (n,) or None
        The query of each row; None means a single query.
    k : int or None
        The number of top ranks to use; None means all.
    gain : "exponential", "linear" or "auto"
        ``2^y - 1``, or y itself, which suits real-valued relevance; "auto" is "exponential" if y
        contains only integers below 50.
    undefined : "skip", "one" or "zero"
        The value of a query without any gain; "skip" omits it from the mean.

    Returns
    -------
    ndcg : float
        Between 0 and 1; nan if every query was skipped.

    Examples
    --------
    >>> ndcg([2, 0, 1], [3.0, 2.0, 1.0]) > 0.9
    True
    >>> ndcg([2, 0, 1], [3.0, 1.0, 2.0])
    1.0
    """
    values = ndcg_by_query(y, scores, qid, k, gain=gain)
    if check_choice(undefined, "undefined", ["skip", "one", "zero"]) == "skip":
        values = values[~np.isnan(values)]
    else:
        values = np.where(np.isnan(values), 1.0 if undefined == "one" else 0.0, values)
    return float(values.mean()) if len(values) else float("nan")


def ndcg_by_query(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    k: int | None = 10,
    *,
    gain: Gain = "exponential",
) -> Array:
    """Return NDCG@k of every query, in the order of sorted queries; nan if there is no gain."""
    y, scores = _numbers(y, "y"), _numbers(scores, "scores")
    check_same_length(len(y), scores, "scores")
    check_choice(gain, "gain", ["exponential", "linear", "auto"])
    if k is not None:
        check_count(k, "k")
    if np.any(y < 0):
        at = int(np.flatnonzero(y < 0)[0])
        raise ValueError(
            f"relevance must be at least 0 for NDCG, got {y[at]} at row {at}: shift y, or use "
            f"pairwise_error, which accepts any numbers"
        )
    query = _codes(qid, len(y))
    if gain == "auto":
        graded = bool(np.all(y == np.round(y))) and float(y.max(initial=0.0)) < 50
        gain = "exponential" if graded else "linear"
    with np.errstate(over="ignore"):  # checked below
        gains = np.exp2(y) - 1.0 if gain == "exponential" else y
    if not np.all(np.isfinite(gains)):
        raise ValueError(f"2^y overflows for y = {y.max()}: use gain='linear'")
    found = _dcg(gains, scores, query, k)
    best = _dcg(gains, gains, query, k)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(best > 0, found / best, np.nan))


def _dcg(gains: Array, scores: Array, query: Array, k: int | None) -> Array:
    """Return DCG@k of every query; rows with tied scores share their gains."""
    order = np.lexsort((-scores, query))
    gains, scores, query = gains[order], scores[order], query[order]
    first = np.r_[0, np.flatnonzero(np.diff(query)) + 1] if len(query) else np.zeros(0, int)
    sizes = np.diff(np.r_[first, len(query)])
    rank = np.arange(len(query)) - np.repeat(first, sizes)
    discount = 1.0 / np.log2(rank + 2.0)
    if k is not None:
        discount = np.where(rank < k, discount, 0.0)
    new = np.r_[True, (np.diff(query) != 0) | (np.diff(scores) != 0)] if len(query) else []
    tie = np.cumsum(new) - 1
    counts = np.bincount(tie)
    shared = np.bincount(tie, gains) / counts
    return np.bincount(query, discount * shared[tie], minlength=len(first))


def _pair_weights(y: Array, scores: Array, query: Array, weight: Array) -> tuple[float, float]:
    """Return the total weight of pairs in the wrong order, and of all pairs.

    Rows are sorted by query, y and score. For each row, the earlier rows of its query with a score
    at least as high are in the wrong order, except those with equal y (and then equal score).
    Scores of earlier queries count as higher, so that all of them are included and can be
    subtracted.
    """
    order = np.lexsort((scores, y, query))
    y, scores, query, weight = y[order], scores[order], query[order], weight[order]
    rank = np.unique(scores, return_inverse=True)[1].ravel()
    key = rank - query.astype(np.int64) * (int(rank.max(initial=0)) + 1)
    at_least = _earlier_at_least(key, weight)
    of_query = _earlier_in(query, weight)
    of_relevance = _earlier_in(_labels(query, y), weight)
    of_both = _earlier_in(_labels(query, y, scores), weight)
    before = np.cumsum(weight) - weight
    wrong = at_least - (before - of_query) - of_both
    return float(weight @ wrong), float(weight @ (of_query - of_relevance))


def _earlier_at_least(key: Array, weight: Array) -> Array:
    """Return, for every position, the weight of earlier positions with a key at least as large.

    Merge sort, level by level: the first half of each segment is counted for the second half.
    """
    n = len(key)
    total = np.zeros(n)
    position = np.arange(n)
    span = int(key.max(initial=0)) - int(key.min(initial=0)) + 1
    base = key - int(key.min(initial=0))
    width = 1
    while width < n:
        pair, later = position // (2 * width), (position // width) % 2 == 1
        order = np.argsort(base + pair * span, kind="stable")
        left, right = order[~later[order]], order[later[order]]
        keys = (base + pair * span)[left]
        heavier = np.r_[0.0, np.cumsum(weight[left])]
        ends = np.searchsorted(pair[left], pair[right], side="right")
        starts = np.searchsorted(keys, (base + pair * span)[right], side="left")
        starts = np.minimum(starts, ends)
        total[right] += heavier[ends] - heavier[starts]
        width *= 2
    return total


def _earlier_in(label: Array, weight: Array) -> Array:
    """Return, for every position, the weight of earlier ones with the same (sorted) label."""
    before = np.cumsum(weight) - weight
    first = np.r_[True, np.diff(label) != 0] if len(label) else np.zeros(0, bool)
    start = np.maximum.accumulate(np.where(first, np.arange(len(label)), 0))
    return np.asarray(before - before[start])


def _labels(*sorted_columns: Array) -> Array:
    """Return a number for each distinct row of columns that are sorted together."""
    new = np.zeros(len(sorted_columns[0]), dtype=bool)
    for column in sorted_columns:
        new[1:] |= np.diff(column) != 0
    return np.cumsum(new)


def _codes(qid: ArrayLike | None, n_rows: int) -> Array:
    """Return queries numbered from 0, in sorted order."""
    if qid is None:
        return np.zeros(n_rows, dtype=np.int64)
    queries = np.asarray(qid)
    check_same_length(n_rows, queries, "qid")
    return np.unique(queries, return_inverse=True)[1].ravel().astype(np.int64)


def _numbers(values: ArrayLike, name: str) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"{name} must be one number per row, got shape {found.shape}")
    check_finite(found[:, None], what=name)
    return found

"""What is measured on a test part, and how two methods are compared query by query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.learning_to_rank.data import Judged
from experiments.scaffold import Array
from mercer.metrics import ndcg, ndcg_by_query, pairwise_error

#: The ranks at which NDCG is taken; settings are chosen by the last.
RANKS = tuple(range(1, 11))
#: Samples of the bootstrap, and its seed.
SAMPLES, SEED = 10_000, 8


@dataclass(frozen=True)
class Measures:
    """How well one method orders the documents of one test part."""

    ndcg: tuple[float, ...]  # at each of RANKS
    pairwise_error: float
    letor: tuple[float, ...]  # at each of RANKS, as LETOR's script has it
    by_query: Array  # NDCG@10, nan where a query has no relevant document


def measure(rows: Judged, scores: Array) -> Measures:
    """Measure scores; queries without a relevant document are left out of NDCG."""
    return Measures(
        tuple(ndcg(rows.y, scores, rows.qid, k) for k in RANKS),
        pairwise_error(rows.y, scores, rows.qid),
        tuple(letor_ndcg(rows, scores, k) for k in RANKS),
        ndcg_by_query(rows.y, scores, rows.qid, RANKS[-1]),
    )


def letor_ndcg(rows: Judged, scores: Array, k: int) -> float:
    """Return NDCG@k by the conventions of LETOR 4.0's evaluation script.

    A query counts 0 if it has no relevant document, or fewer than k documents; the first two ranks
    have no discount, and rank r has ``1 / log2(r)``; equal scores keep the order of the rows.

    >>> rows = Judged(np.zeros((6, 1)), np.array([0, 2, 1, 0, 1, 0]), np.array([1, 1, 1, 2, 2, 2]))
    >>> letor_ndcg(rows, np.array([3.0, 2.0, 1.0, 1.0, 2.0, 3.0]), 2)
    0.875
    >>> letor_ndcg(rows, np.arange(6.0), 4)
    0.0
    """
    discount = 1.0 / np.maximum(np.log2(np.arange(1, k + 1)), 1.0)
    ends = np.cumsum(rows.sizes)[:-1]
    values = []
    for y, f in zip(np.split(rows.y, ends), np.split(scores, ends), strict=True):
        gains = np.exp2(y) - 1.0
        best = np.sort(gains)[::-1][:k]
        found = gains[np.argsort(-f, kind="stable")][:k]
        counts = len(y) >= k and best[0] > 0
        values.append(float(discount @ found / (discount @ best)) if counts else 0.0)
    return float(np.mean(values))


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences, with a 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    better: int  # queries on which the first method is better
    worse: int
    queries: int


def compare(first: Array, second: Array) -> Difference:
    """Compare two methods on the same queries; those without a value are left out.

    Queries are drawn with replacement; the fitted models are taken as they are.
    """
    difference = (first - second)[~np.isnan(first)]
    rng = np.random.default_rng(SEED)
    n = len(difference)
    counts = rng.multinomial(n, np.full(n, 1.0 / n), size=SAMPLES)
    low, high = np.quantile(counts @ difference / n, [0.025, 0.975])
    signs = np.sign(np.round(difference, 12))
    return Difference(
        float(difference.mean()),
        float(low),
        float(high),
        int(np.sum(signs > 0)),
        int(np.sum(signs < 0)),
        n,
    )

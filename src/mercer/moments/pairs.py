"""Pair weights: queries and the weight of their pairs.

.. math:: \\sum_{i,k \\in q} w_i w_k\\, (r_i - r_k)^2
          = 2\\, W_q \\sum_{i \\in q} w_i (r_i - \\bar r_q)^2

So the squared loss over all pairs equals that of single rows, centered by query, with weight ``w_i
v_q``: ``v_q`` is proportional to W_q if every pair has the same weight, and to 1 / W_q if every
query has. It is scaled so that the total weight of the rows is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer.contracts import Array

PairWeighting = Literal["pair", "query"]


@dataclass(frozen=True)
class QueryTotals:
    """The queries of some rows, with their total weights ``W_q`` and row counts.

    Totals can be added over blocks and shards, like moments.

    >>> parts = [QueryTotals.of(np.array(["b", "a", "b"])), QueryTotals.of(np.array(["c", "b"]))]
    >>> total = QueryTotals.pooled(parts)
    >>> total.values.tolist(), total.count.tolist(), total.places.tolist()
    (['a', 'b', 'c'], [1, 3, 1], [1, 2, 1])
    """

    values: Array  # (queries,) distinct, sorted
    weight: Array  # W_q
    count: Array  # rows
    places: Array  # how many of the pooled parts contain it

    @classmethod
    def of(cls, query: Array, weight: Array | None = None) -> QueryTotals:
        """Return the totals of a block."""
        values, codes, count = np.unique(query, return_inverse=True, return_counts=True)
        total = np.bincount(codes.ravel(), weight, minlength=len(values)).astype(np.float64)
        return cls(values, total, count, np.ones_like(count))

    @classmethod
    def of_blocks(cls, blocks: Iterable[tuple[Array, Array | None]]) -> QueryTotals:
        """Return the totals of many blocks."""
        found = cls.pooled([cls.of(*block) for block in blocks])
        return cls(found.values, found.weight, found.count, np.ones_like(found.count))

    @classmethod
    def pooled(cls, parts: Sequence[QueryTotals]) -> QueryTotals:
        """Add the totals of several parts."""
        kinds = {"text" if part.values.dtype.kind in "US" else "numbers" for part in parts}
        if len(kinds) > 1:
            raise ValueError("qid must have the same type everywhere, got both numbers and text")
        values, codes = np.unique(
            np.concatenate([part.values for part in parts]), return_inverse=True
        )
        codes = codes.ravel()

        def added(name: str) -> Array:
            return np.bincount(codes, np.concatenate([getattr(part, name) for part in parts]))

        return cls(values, added("weight"), added("count").astype(int), added("places").astype(int))

    def codes(self, query: Array) -> Array:
        """Return the number of each row's query."""
        found = np.minimum(np.searchsorted(self.values, query), len(self.values) - 1)
        unknown = self.values[found] != query
        if np.any(unknown):
            raise ValueError(
                f"query {np.asarray(query)[unknown][0]} is new since queries were counted: "
                f"rows must not change during a fit"
            )
        return np.asarray(found)


@dataclass(frozen=True)
class PairWeights:
    """The weight factor ``v_q`` of each query; queries are numbered from 0."""

    weight: Array  # W_q, of shape (queries,)
    factor: Array  # v_q
    mass: float  # total weight of the pairs, in an average of models

    @classmethod
    def of(cls, totals: QueryTotals, weighting: PairWeighting) -> PairWeights:
        """Return the weights of queries. Queries with a single row have no pairs and are ignored.

        >>> PairWeights.of(QueryTotals.of(np.array([0, 0, 0, 1, 1])), "query").factor.round(3)
        array([0.833, 1.25 ])
        """
        total, pairs = totals.weight, totals.count > 1
        share = np.zeros(len(total))
        share[pairs] = total[pairs] if weighting == "pair" else 1.0 / total[pairs]
        mass = float(share @ total)
        factor = share * (total[pairs].sum() / mass) if mass > 0 else share
        return cls(total, factor, mass)

    @classmethod
    def of_all_rows(cls) -> PairWeights:
        """Return the weights of one query with all rows of a source, which need not be read first.

        Its weight is not known before all rows are read, so every block is an incomplete part.
        """
        return cls(np.array([np.inf]), np.ones(1), np.inf)


def describe_queries(source: Any, rows: int) -> QueryTotals | None:
    """Return the totals of the queries of a source; None if it has no queries."""
    if not getattr(source, "has_query", False):
        return None
    return QueryTotals.of_blocks(source.queries(rows))

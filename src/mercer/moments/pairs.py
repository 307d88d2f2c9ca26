"""Queries and what their pairs count, from the query and the weight of every row.

.. math:: \\sum_{i,k \\in q} w_i w_k\\, (r_i - r_k)^2
          = 2\\, W_q \\sum_{i \\in q} w_i (r_i - \\bar r_q)^2

So the squared loss of all pairs is that of single rows, centered by query, with ``w_i v_q`` for a
weight: ``v_q`` is proportional to W_q where every pair counts the same, and to 1 / W_q where every
query does. It is scaled so that all rows together keep their weight.
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
    """The queries of some rows, with the weight and the number of rows of each.

    Totals add over blocks and shards, like moments.

    >>> parts = [QueryTotals.of(np.array(["b", "a", "b"])), QueryTotals.of(np.array(["c", "b"]))]
    >>> total = QueryTotals.pooled(parts)
    >>> total.values.tolist(), total.count.tolist(), total.places.tolist()
    (['a', 'b', 'c'], [1, 3, 1], [1, 2, 1])
    """

    values: Array  # (queries,) distinct, sorted
    weight: Array  # W_q
    count: Array  # rows
    places: Array  # in how many of the parts that were pooled

    @classmethod
    def of(cls, query: Array, weight: Array | None = None) -> QueryTotals:
        """Total the rows of a block."""
        values, codes, count = np.unique(query, return_inverse=True, return_counts=True)
        total = np.bincount(codes.ravel(), weight, minlength=len(values)).astype(np.float64)
        return cls(values, total, count, np.ones_like(count))

    @classmethod
    def of_blocks(cls, blocks: Iterable[tuple[Array, Array | None]]) -> QueryTotals:
        """Total the rows of many blocks: what is in one place, however it is read."""
        found = cls.pooled([cls.of(*block) for block in blocks])
        return cls(found.values, found.weight, found.count, np.ones_like(found.count))

    @classmethod
    def pooled(cls, parts: Sequence[QueryTotals]) -> QueryTotals:
        """Add the totals of parts."""
        kinds = {"text" if part.values.dtype.kind in "US" else "numbers" for part in parts}
        if len(kinds) > 1:
            raise ValueError("qid must be of one type everywhere, got numbers here and text there")
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
                f"query {np.asarray(query)[unknown][0]} was not there when queries were counted: "
                f"rows must not change while they are read"
            )
        return np.asarray(found)


@dataclass(frozen=True)
class PairWeights:
    """What a row of each query counts: queries are numbers from 0."""

    weight: Array  # W_q, of shape (queries,)
    factor: Array  # v_q
    mass: float  # what all pairs together count, in an average of models

    @classmethod
    def of(cls, totals: QueryTotals, weighting: PairWeighting) -> PairWeights:
        """Return the weights of queries. Those of a single row have no pairs, and no part.

        >>> PairWeights.of(QueryTotals.of(np.array([0, 0, 0, 1, 1])), "query").factor.round(3)
        array([0.833, 1.25 ])
        """
        total, pairs = totals.weight, totals.count > 1
        share = np.zeros(len(total))
        share[pairs] = total[pairs] if weighting == "pair" else 1.0 / total[pairs]
        mass = float(share @ total)
        factor = share * (total[pairs].sum() / mass) if mass > 0 else share
        return cls(total, factor, mass)


def describe_queries(source: Any, rows: int) -> QueryTotals | None:
    """Return the totals of a source's queries; None where it has none."""
    if not getattr(source, "has_query", False):
        return None
    return QueryTotals.of_blocks(source.queries(rows))

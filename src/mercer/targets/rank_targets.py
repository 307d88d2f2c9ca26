"""Targets of a ranking: relevance, compared within queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer.contracts import Array, RowBlock, RowSource
from mercer.moments import PairWeighting, PairWeights, QueryTotals
from mercer.moments.pairs import describe_queries
from mercer.storage.state import Count, OneOf, Sizes, State
from mercer.targets.number_targets import (
    ROWS,
    RegressionTargets,
    RowKind,
    TargetSummary,
    check_number_targets,
    real_numbers,
    without_infinity,
)


@dataclass(frozen=True)
class RankSummary:
    """A summary of the relevance and queries of a shard."""

    relevance: TargetSummary
    queries: QueryTotals | None

    @classmethod
    def of(cls, source: RowSource) -> RankSummary:
        """Summarize the rows of a shard."""
        return cls(TargetSummary.of(source), describe_queries(source, ROWS))


#: What is said of a file with more.
NO_QUERIES = "the targets of a ranker must have one column and no queries"


@dataclass(frozen=True)
class RankTargets(RegressionTargets):
    """Relevance, and the weights of the rows of each query.

    The mean over pairs is twice the mean over centered rows, so the problem over rows has half the
    penalty of the problem over pairs.
    """

    ranks = True
    alpha_factor = 2.0

    state = State(
        weighting=OneOf(["pair", "query"]),
        n_queries=Count(),
        n_single=Count(0),
        seed=Count(0),
        queries=OneOf([None], must=NO_QUERIES),
        pairs=OneOf([None], must=NO_QUERIES),
    )
    weighting: PairWeighting = "pair"
    by_query: bool = False
    n_queries: int = 1  # without queries, all rows are one query
    n_single: int = 0  # queries with a single row, which have no pairs
    seed: int = 0  # assigns queries to folds
    queries: QueryTotals | None = None  # only during a fit
    pairs: PairWeights | None = None

    def with_queries(self, queries: QueryTotals | None) -> Self:
        """Return the targets for rows with these queries; None are rows without."""
        if queries is None:
            return self
        pairs = PairWeights.of(queries, self.weighting)
        if not pairs.mass > 0:
            raise ValueError(
                f"ranking needs two rows of one query, but all {len(pairs.weight)} queries have a "
                f"single row: check qid, or omit it to rank all rows together"
            )
        return replace(
            self,
            by_query=True,
            n_queries=len(queries.values),
            n_single=int(np.sum(queries.count == 1)),
            queries=queries,
            pairs=pairs,
        )

    def has_intercept(self, wanted: bool) -> bool:
        """Return whether all rows are centered together; with queries, each query is centered."""
        return not self.by_query

    def codes(self, block: RowBlock) -> Array:
        """Return the query number of each row; without queries, all rows are one."""
        if self.queries is None:
            return super().codes(block)
        return self.queries.codes(np.asarray(block.query))

    def within(self, source: RowSource) -> Self:
        """Return the targets for a fit to only these rows, and only their pairs."""
        return self if self.queries is None else self.with_queries(describe_queries(source, ROWS))

    def pairs_within(self, source: RowSource) -> Self:
        """Return the targets of a shard whose pairs with other shards do not count.

        The rows of a query that are in the shard are a query of its own. A shard without pairs is
        allowed: its share is 0.
        """
        if self.queries is None:
            return replace(self, pairs=PairWeights.of_all_rows())
        queries = describe_queries(source, ROWS)
        assert queries is not None
        return replace(self, queries=queries, pairs=PairWeights.of(queries, self.weighting))

    def share(self, weight: float) -> float:
        """Return the total weight of all pairs: W^2 without queries."""
        if self.queries is None or self.pairs is None:
            return weight**2
        return self.pairs.mass

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError unless there is one column of relevance."""
        super().check_restored(sizes)
        if self.outputs != 1:
            raise ValueError(NO_QUERIES)

    def stored(self) -> Self:
        """Return the part that a fitted model stores, without query names."""
        return replace(self, queries=None, pairs=None)


@dataclass(frozen=True)
class Relevance(RowKind):
    """Targets of a ranking: relevance, compared within queries if there are any."""

    estimator: str
    weighting: PairWeighting
    seed: int
    ranks = True
    summarize = staticmethod(RankSummary.of)

    def check(self, y: object) -> Array:
        """Return one number per row."""
        check_number_targets(y)
        values = real_numbers(y, self.estimator)
        if values.ndim != 1:
            raise ValueError(f"relevance must be one number per row, got y of shape {values.shape}")
        return without_infinity(values)

    def pooled(self, summaries: Sequence[RankSummary]) -> RankTargets:
        """Compute scale and queries from the summaries of shards."""
        found = RegressionTargets.pooled([part.relevance for part in summaries], True)
        queries = [part.queries for part in summaries if part.queries is not None]
        targets = RankTargets(**vars(found), weighting=self.weighting, seed=self.seed)
        return targets.with_queries(QueryTotals.pooled(queries) if queries else None)

    def check_shards(self, summaries: Sequence[RankSummary], whole_queries: bool) -> None:
        """Raise ValueError if a query is split over shards but must be in one shard."""
        parts = [part.queries for part in summaries if part.queries is not None]
        if not (parts and whole_queries):
            return
        total = QueryTotals.pooled(parts)
        split = total.values[total.places > 1]
        if len(split):
            raise ValueError(
                f"rounds need every query in one shard, but {len(split)} have rows in several, the "
                f"first one {split[0]!s}: split between queries, or use combine='sum', which adds "
                f"the parts of a query exactly"
            )

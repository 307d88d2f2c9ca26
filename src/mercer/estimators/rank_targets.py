"""Targets of a ranking: relevance, compared within queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.contracts import Array, RowBlock, RowSource
from mercer.estimators.targets import ROWS, RegressionTargets, TargetSummary
from mercer.moments import PairWeighting, PairWeights, QueryTotals
from mercer.moments.pairs import describe_queries
from mercer.validation import check_choice, check_count, check_flag


@dataclass(frozen=True)
class RankSummary:
    """A summary of the relevance and queries of a shard."""

    relevance: TargetSummary
    queries: QueryTotals | None

    @classmethod
    def of(cls, source: RowSource) -> RankSummary:
        """Summarize the rows of a shard."""
        return cls(TargetSummary.of(source), describe_queries(source, ROWS))


@dataclass(frozen=True)
class RankTargets(RegressionTargets):
    """Relevance, and the weights of the rows of each query.

    The mean over pairs is twice the mean over centered rows, so the problem over rows has half the
    penalty of the problem over pairs.
    """

    ranks = True
    alpha_factor = 2.0

    weighting: PairWeighting = "pair"
    by_query: bool = False
    n_queries: int = 1  # without queries, all rows are one query
    n_single: int = 0  # queries with a single row, which have no pairs
    seed: int = 0  # assigns queries to folds
    queries: QueryTotals | None = None  # only during a fit
    pairs: PairWeights | None = None

    @classmethod
    def of_queries(cls, source: RowSource, weighting: Any, seed: int) -> RankTargets:
        """Compute scale and queries from a source."""
        found = RegressionTargets.of_source(source, True)
        return cls(**vars(found), weighting=weighting, seed=seed)._with(
            describe_queries(source, ROWS)
        )

    @classmethod
    def of_shards(cls, summaries: Sequence[RankSummary], weighting: Any, seed: int) -> RankTargets:
        """Compute scale and queries from the summaries of shards."""
        found = RegressionTargets.pooled([part.relevance for part in summaries], True)
        queries = [part.queries for part in summaries if part.queries is not None]
        return cls(**vars(found), weighting=weighting, seed=seed)._with(
            QueryTotals.pooled(queries) if queries else None
        )

    def _with(self, queries: QueryTotals | None) -> Self:
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

    def codes(self, block: RowBlock) -> Array:
        """Return the query number of each row; without queries, all rows are one."""
        if self.queries is None:
            return super().codes(block)
        return self.queries.codes(np.asarray(block.query))

    def within(self, source: RowSource) -> Self:
        """Return the targets for a fit to only these rows, and only their pairs."""
        return self if self.queries is None else self._with(describe_queries(source, ROWS))

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

    def check_state(self) -> None:
        """Raise ValueError for invalid query counts, and for query names, which are not stored."""
        super().check_state()
        check_choice(self.weighting, "weighting", ["pair", "query"])
        check_flag(self.by_query, "by_query")
        check_count(self.n_queries, "n_queries")
        check_count(self.n_single, "n_single", minimum=0)
        check_count(self.seed, "seed", minimum=0)
        if self.queries is not None or self.pairs is not None or self.outputs != 1:
            raise ValueError("the targets of a ranker must have one column and no queries")

    def stored(self) -> Self:
        """Return the part that a fitted model stores, without query names."""
        return replace(self, queries=None, pairs=None)

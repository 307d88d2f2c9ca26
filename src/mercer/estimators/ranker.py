"""Kernel least squares for the order of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.bases import BasisTransformer
from mercer.combine import Combination, Rounds
from mercer.contracts import Array, RowSource
from mercer.estimators.base import KernelEstimator
from mercer.estimators.rank_targets import RankSummary, RankTargets
from mercer.estimators.summary import Summary
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.metrics import ndcg, pairwise_error
from mercer.moments import QueryTotals
from mercer.result import Fit
from mercer.selection import Criterion
from mercer.solvers import BaseSolver
from mercer.sources import ArraySource
from mercer.validation import check_choice


class KernelRanker(KernelEstimator):
    """Pairwise least-squares ranking, linear in the rows.

    .. math:: \\min_f \\; \\frac1{W^2} \\sum_{i,k} w_i w_k
              \\big(y_i - y_k - (f(x_i) - f(x_k))\\big)^2 + \\alpha \\|f\\|_H^2

    over pairs of rows, of the same query where queries are given. Expanded, the sum over pairs is
    one over rows that are centered by query (:mod:`mercer.moments.queries`): without queries this
    is kernel ridge regression with an intercept at half of alpha, the constant dropped.

    Parameters
    ----------
    kernel, basis, alpha, alphas, solver, dtype, memory_limit, random_state, verbose
        As in :class:`KernelRegressor`; alpha counts against the mean over pairs.
    selection : "gcv", "kfold" or criterion object
        How alpha is chosen; folds are of whole queries.
    pair_weighting : "pair" or "query"
        Whether every pair counts the same, or every query.

    Attributes
    ----------
    alpha_, cv_results_, basis_, kernel_, coef_, fit_
        As in :class:`KernelRegressor`.
    n_queries_, n_skipped_queries_ : int
        Queries, and those of a single row, which have no pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.random((200, 2)), np.repeat(np.arange(20), 10)
    >>> y = X[:, 0] + 10 * rng.random(20)[qid]  # every query has a level of its own
    >>> model = KernelRanker(random_state=0).fit(X, y, qid)
    >>> model.score(X, y, qid) > 0.99
    True
    """

    # What the other estimators have as parameters, and a ranker does not.
    warm_start = False
    _ranks = True

    _targets: RankTargets

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        basis: str | BasisTransformer = "auto",
        alpha: float | str = "auto",
        *,
        alphas: Any = None,
        selection: str | Criterion = "gcv",
        solver: str | BaseSolver = "auto",
        pair_weighting: str = "pair",
        dtype: str = "auto",
        memory_limit: int | float | str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        shards: int | None = None,
        shuffle: bool = True,
        combine: str | Combination = "sum",
        rounds: int = 8,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.alpha = alpha
        self.alphas = alphas
        self.selection = selection
        self.solver = solver
        self.pair_weighting = pair_weighting
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose
        self.shards = shards
        self.shuffle = shuffle
        self.combine = combine
        self.rounds = rounds
        self.engine = engine
        self.checkpoint = checkpoint

    @property
    def fit_intercept(self) -> bool:  # type: ignore[override]
        """Whether rows are centered together; with queries they are centered one by one."""
        targets: RankTargets | None = getattr(self, "_targets", None)
        return targets is None or not targets.by_query

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        shard_labels: Any = None,
    ) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, data frame or sparse rows; without queries also a path or row source
            Rows of numbers.
        y : array of shape (n,)
            Relevance: real numbers, more is better.
        qid : array of shape (n,) or None
            The query of each row, of any type and in any order; None is one query.
        sample_weight : array of shape (n,) or None
            Weights, at least 0; a pair has the product of those of its rows.

        Returns
        -------
        self
        """
        return self._fit_rows(X, y, sample_weight, shard_labels, qid)

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: Any, shard_labels: Any, query: Any = None
    ) -> Self:
        check_choice(self.pair_weighting, "pair_weighting", ["pair", "query"])
        return super()._fit_rows(X, y, sample_weight, shard_labels, query)

    @property
    def n_queries_(self) -> int:
        """Queries; without any, all rows are one."""
        check_is_fitted(self, "fit_")
        return self._targets.n_queries

    @property
    def n_skipped_queries_(self) -> int:
        """Queries of a single row, which have no pairs."""
        check_is_fitted(self, "fit_")
        return self._targets.n_single

    def _ordered(self, source: RowSource) -> RowSource:
        """Put the rows of an array in the order of their queries."""
        if not (isinstance(source, ArraySource) and source.has_query):
            return source
        query, _ = next(iter(source.queries(max(1, source.n_rows))))
        order = np.argsort(query, kind="stable")
        kept = self.__dict__.pop("_present", None)
        self._present = order if kept is None else kept[order]
        return source.at(order)

    def _settings(self) -> dict[str, Any]:
        # The problem of rows has half the penalty of that of pairs.
        settings = super()._settings()
        for name in ("alpha", "alphas"):
            if settings[name] is not None:
                settings[name] = settings[name] / 2
        return settings

    def _adopt(self, found: Fit) -> None:
        super()._adopt(found)
        self.alpha_ = 2 * found.alpha
        if self.cv_results_ is not None:
            self.cv_results_["alpha"] = 2 * self.cv_results_["alpha"]

    def summary(self) -> Summary:
        """Say what was chosen and why: prints as text, shows as a table in notebooks."""
        check_is_fitted(self, "fit_")
        found = self.fit_
        alphas = None if found.alphas is None else 2 * found.alphas
        try:
            self.fit_ = replace(found, alpha=2 * found.alpha, alphas=alphas)
            return super().summary()
        finally:
            self.fit_ = found

    @property
    def partial_fit(self) -> Any:
        """Not for rankers."""
        raise AttributeError("a ranker is fitted to all rows at once")

    forget = partial_fit

    def _make_targets(self, source: RowSource) -> RankTargets:
        return self._checked(RankTargets.of_source(source, self.pair_weighting, self._seed()))

    def _target_summary(self) -> Any:
        return RankSummary.of

    def _pooled_targets(self, summaries: Sequence[RankSummary]) -> RankTargets:
        return self._checked(RankTargets.of_shards(summaries, self.pair_weighting, self._seed()))

    def _seed(self) -> int:
        """Return the seed that deals queries to folds: the same wherever their rows are."""
        return int(self.random_state) if isinstance(self.random_state, Integral) else 0

    def _checked(self, targets: RankTargets) -> RankTargets:
        """Refuse what cannot be centered by query."""
        if targets.pairs is None:
            return targets
        if isinstance(as_kernel(self.kernel), Precomputed):
            raise ValueError(
                "a precomputed kernel is not put in the order of queries: give rows, and a kernel"
            )
        return targets

    def _check_shards(self, summaries: Sequence[RankSummary], combination: Combination) -> None:
        parts = [part.queries for part in summaries if part.queries is not None]
        if not (parts and isinstance(combination, Rounds)):
            return
        total = QueryTotals.pooled(parts)
        split = total.values[total.places > 1]
        if len(split):
            raise ValueError(
                f"rounds keep every query in one shard, and {len(split)} have rows in several, the "
                f"first one {split[0]!s}: cut between queries, or use combine='sum', which adds "
                f"the parts of a query exactly"
            )

    def _check_targets(self, y: Any) -> Array:
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=self)
        if np.ndim(y) != 1:
            raise ValueError(f"relevance must be one number a row, got y of shape {np.shape(y)}")
        return np.asarray(y)

    def predict(self, X: Any) -> Array:
        """Return a score for every row, of shape (n,): more is better, within a query."""
        return np.asarray(self._decide(X)[:, 0] - self.intercept_[0])

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean NDCG@10 of queries; without queries, one minus the pairwise error.

        Gains are ``2^y - 1`` where y holds whole numbers, and y itself otherwise. Negative
        relevance has no NDCG: the pairwise error within queries takes its place.
        """
        scores, y = self.predict(X), np.asarray(y, dtype=float)
        if qid is None or np.any(y < 0):
            return 1.0 - pairwise_error(y, scores, qid, sample_weight)
        graded = bool(np.all(y == np.round(y))) and float(y.max(initial=0.0)) < 50
        return ndcg(y, scores, qid, gain="exponential" if graded else "linear")

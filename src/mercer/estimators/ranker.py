"""Kernel least squares for the order of rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer
from mercer.combine import Combination
from mercer.contracts import Array
from mercer.estimators.inputs import Given
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.rank_targets import RankTargets
from mercer.estimators.target_kinds import Relevance
from mercer.kernels import Kernel, as_kernel
from mercer.metrics import ndcg, pairwise_error
from mercer.selection import Criterion
from mercer.solvers import BaseSolver
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
    selection : "gcv", "kfold", "loo" or criterion object
        How alpha is chosen; folds are of whole queries, and "loo" leaves out one query at a time.
    pair_weighting : "pair" or "query"
        Whether every pair counts the same, or every query.
    shards, shuffle, combine, rounds, engine, checkpoint
        As in :class:`KernelRegressor`. Arrays are cut between queries; an average weighs shards by
        their pairs; rounds need every query in one shard, and "sum" is exact where it is not.

    Attributes
    ----------
    alpha_, cv_results_, basis_, kernel_, coef_, communication_, fit_
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
    fit_intercept = True

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

    def _intercept(self) -> bool:
        """Whether rows are centered together; with queries they are centered one by one."""
        targets: RankTargets | None = getattr(self, "_targets", None)
        return targets is None or not targets.by_query

    def _kind(self) -> Relevance:
        check_choice(self.pair_weighting, "pair_weighting", ["pair", "query"])
        # The seed that deals queries to folds: the same wherever their rows are.
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else 0
        pairwise = as_kernel(self.kernel).pairwise
        return Relevance(type(self).__name__, self.pair_weighting, seed, pairwise)

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
        X : array, data frame, sparse rows, path, row source, list of paths or Dask collection
            Rows of numbers, as in :meth:`KernelRegressor.fit`; also svmlight files, which have
            relevance and queries of their own.
        y : array of shape (n,), or the name of a column of a file
            Relevance: real numbers, more is better.
        qid : array of shape (n,), the name of a column of a file, or None
            The query of each row, of any type and in any order; None is one query.
        sample_weight : array of shape (n,), or the name of a column of a file
            Weights, at least 0; a pair has the product of those of its rows.
        shard_labels : array of shape (n,) or None
            Which shard each row of an array belongs to, instead of ``shards``.

        Returns
        -------
        self
        """
        given = Given(X, y, sample_weight, query=qid, shard_labels=shard_labels)
        return self._fit(given, self._kind())

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

    @property
    def partial_fit(self) -> Any:
        """Not for rankers."""
        raise AttributeError("a ranker is fitted to all rows at once")

    forget = partial_fit

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
        return ndcg(y, scores, qid, gain="auto")

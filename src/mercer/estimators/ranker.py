"""Pairwise kernel least-squares ranking."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer
from mercer.columns import TableEncoder
from mercer.combine import Combination
from mercer.contracts import Array, RandomState, Targets
from mercer.estimators.calibrating import preferences_of
from mercer.estimators.fitted import Fitted
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.predicting import by_partition
from mercer.explain.explaining import explain, explained_score
from mercer.inference.preferences import PreferenceMap
from mercer.kernels import Kernel
from mercer.leaving_out import LeaveOut
from mercer.metrics import ndcg, pairwise_error
from mercer.moments import PairWeighting
from mercer.opening.fit_input import FitInput
from mercer.result import Fit
from mercer.rows.given_arrays import refuse_masked
from mercer.search import MetricSearch
from mercer.selection import Criterion
from mercer.solvers import BaseSolver
from mercer.targets.rank_targets import RankTargets, Relevance
from mercer.validation import check_choice


class KernelRanker(KernelEstimator):
    """Pairwise least-squares ranking, with a cost linear in the number of rows.

    .. math:: \\min_f \\; \\frac1{W^2} \\sum_{i,k} w_i w_k
              \\big(y_i - y_k - (f(x_i) - f(x_k))\\big)^2 + \\alpha \\|f\\|_H^2

    over pairs of rows, of the same query if queries are given. The sum over pairs equals a sum over
    rows centered by query (:mod:`mercer.moments.queries`): without queries, this is kernel ridge
    regression with an intercept at half of alpha, without the constant.

    Parameters
    ----------
    kernel, basis, alpha, metric, scale, columns, missing, unlabelled, alphas, solver, dtype,
    memory_limit, random_state, verbose
        As in :class:`KernelRegressor`; alpha is relative to the mean over pairs.
    selection : "auto", "gcv", "kfold", "loo" or criterion object
        How alpha is chosen; folds contain whole queries, and "auto" and "loo" leave out one query
        at a time.
    pair_weighting : "pair" or "query"
        Whether every pair or every query has the same weight.
    calibration : "auto" or None
        Whether to fit the map of :meth:`predict_preference` to pairs of rows that were left out.
    shards, shuffle, combine, rounds, engine, checkpoint
        As in :class:`KernelRegressor`. Arrays are split between queries. An average weights shards
        by their pairs. Rounds need every query in one shard, unless they only count pairs within
        shards (``NewtonRounds(pairs="within_shards")``); "sum" is exact even if queries are split.

    Attributes
    ----------
    alpha_, cv_results_, basis_, kernel_, dual_coef_, coef_, communication_, fit_
        As in :class:`KernelRegressor`.
    metric_, feature_importances_, search_results_
        As in :class:`KernelRegressor`.
    calibration_ : PreferenceMap or None
        The map from differences of scores to probabilities; None if it is off, or if the fit leaves
        no rows out.
    n_queries_, n_skipped_queries_ : int
        Number of queries, and of queries with a single row, which have no pairs.

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

    _targets: RankTargets
    calibration_: PreferenceMap | None

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "auto",
        basis: str | BasisTransformer = "auto",
        alpha: float | str = "auto",
        *,
        metric: str | Array | MetricSearch | None = "auto",
        scale: str | None = "auto",
        columns: str | Mapping[Any, str] | TableEncoder | None = "auto",
        missing: str = "fill",
        unlabelled: str = "drop",
        alphas: Sequence[float] | Array | None = None,
        selection: str | Criterion = "auto",
        solver: str | BaseSolver = "auto",
        pair_weighting: str = "pair",
        calibration: str | None = "auto",
        dtype: str = "auto",
        memory_limit: int | float | str = "auto",
        random_state: RandomState = None,
        verbose: int = 0,
        shards: int | None = None,
        shuffle: bool = True,
        combine: str | Combination = "sum",
        rounds: int = 8,
        engine: object = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.alpha = alpha
        self.metric = metric
        self.scale = scale
        self.columns = columns
        self.missing = missing
        self.unlabelled = unlabelled
        self.alphas = alphas
        self.selection = selection
        self.solver = solver
        self.pair_weighting = pair_weighting
        self.calibration = calibration
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

    def _leave_out(self) -> LeaveOut | None:
        return None if self.calibration is None else LeaveOut.for_scores()

    def _calibrated(self, found: Fit, targets: Targets) -> PreferenceMap | None:
        assert isinstance(targets, RankTargets)
        return preferences_of(found, targets, self.calibration)

    def _take(self, known: Fitted) -> None:
        super()._take(known)
        self.calibration_ = known.calibration

    def _probabilities(self) -> str:
        return self.calibration_.describe() if self.calibration_ else ""

    def _kind(self) -> Relevance:
        if self.calibration is not None:  # the other maps are those of classes
            check_choice(self.calibration, "calibration", ["auto"])
        # The seed that assigns queries to folds, the same in all shards.
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else 0
        weighting = cast(PairWeighting, self.pair_weighting)  # checked with the other parameters
        return Relevance(type(self).__name__, weighting, seed)

    def fit(  # type: ignore[override]
        self,
        X: object,
        y: object = None,
        qid: object = None,
        sample_weight: object = None,
        shard_labels: object = None,
    ) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, data frame, sparse rows, path, row source, list of paths or Dask collection
            Numeric rows, as in :meth:`KernelRegressor.fit`; also svmlight files, which contain
            relevance and queries.
        y : array of shape (n,), or the name of a column of a file
            Real-valued relevance; higher is better.
        qid : array of shape (n,), the name of a column of a file, or None
            The query of each row, of any type and in any order; None means a single query.
        sample_weight : array of shape (n,), or the name of a column of a file
            Nonnegative weights; a pair has the product of the weights of its rows.
        shard_labels : array of shape (n,) or None
            The shard of each row of an array, instead of ``shards``.

        Returns
        -------
        self
        """
        given = FitInput(X, y, sample_weight, query=qid, shard_labels=shard_labels)
        return self._fit(given, self._kind())

    @property
    def n_queries_(self) -> int:
        """Number of queries; without queries, all rows are one query."""
        check_is_fitted(self, "fit_")
        return self._targets.n_queries

    @property
    def n_skipped_queries_(self) -> int:
        """Number of queries with a single row, which have no pairs."""
        check_is_fitted(self, "fit_")
        return self._targets.n_single

    @property
    def partial_fit(self) -> Any:
        """Not available for rankers."""
        raise AttributeError("a ranker has no partial_fit: fit it to all rows at once")

    forget = partial_fit

    @by_partition
    def predict(self, X: object) -> Array:
        """Return a score for every row, of shape (n,); higher is better, within a query."""
        return np.asarray(self._decide(X)[:, 0] - self.intercept_[0])

    explain, _explained = explain, explained_score

    def predict_preference(self, X: object, Z: object) -> Array:
        """Return the probability that each row of X is above the row of Z at the same place.

        Both are rows of one query, and differ in relevance. The map of differences of scores was
        fitted to pairs that were left out (:mod:`mercer.inference.preferences`).

        Parameters
        ----------
        X, Z : arrays or data frames with the same number of rows

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self, "fit_")
        if self.calibration_ is None:
            raise AttributeError(
                "no pairs were left out of this fit, which probabilities of preferences need: fit "
                "it with calibration='auto' and without rounds, to rows with pairs of different "
                "relevance"
            )
        # Those of Dask collections would be subtracted by index, not by place.
        above, below = np.asarray(self.predict(X)), np.asarray(self.predict(Z))
        if len(above) != len(below):
            raise ValueError(
                f"X and Z must have the same number of rows, one for each pair, got {len(above)} "
                f"and {len(below)}"
            )
        return self.calibration_.probabilities(above - below)

    def score(
        self,
        X: object,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean NDCG@10 of queries; without queries, one minus the pairwise error.

        Gains are ``2^y - 1`` if y contains integers, and y itself otherwise. NDCG is not defined
        for negative relevance; one minus the pairwise error within queries is returned instead.
        """
        for name, given in (("y", y), ("qid", qid), ("sample_weight", sample_weight)):
            refuse_masked(given, name)
        scores, relevance = self.predict(X), np.asarray(y, dtype=float)
        if qid is None or np.any(relevance < 0):
            return 1.0 - pairwise_error(relevance, scores, qid, sample_weight)
        return ndcg(relevance, scores, qid, gain="auto")

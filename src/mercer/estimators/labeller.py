"""Choose which rows of a pool to label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer, as_basis, as_generator
from mercer.columns import TableEncoder, column_sums
from mercer.contracts import Array, RowSource
from mercer.engines import as_engine
from mercer.estimators.drawn_rows import remember
from mercer.estimators.encoding import asked_encoder, with_encoded_columns
from mercer.estimators.inputs import (
    check_features,
    takes_tables,
    unchanged_on_error,
    validated_rows,
)
from mercer.estimators.pool_dimension import PoolDimension
from mercer.estimators.pool_penalty import TargetFacts, facts_of_pilot, given_facts
from mercer.estimators.pool_rows import NoTargets, has_other_columns, nothing, pooled_shard
from mercer.estimators.pool_scores import PoolScores, score_pool
from mercer.estimators.progress import progress_bar
from mercer.estimators.regressor import KernelRegressor
from mercer.estimators.targets import RegressionTargets
from mercer.kernels import InMetric, Kernel, Metric, as_kernel
from mercer.plan import parse_memory
from mercer.request import OneStream, Request
from mercer.result import Clock
from mercer.rows import ArraySource, open_rows
from mercer.rows.pools import Pool
from mercer.rows.rowset import RowSet
from mercer.rows.shards import cut
from mercer.selection import LeaveOneOut
from mercer.validation import LARGEST, check_choice, check_count, check_number

#: Labels per effective dimension, if alpha is chosen automatically.
LABELS = 5


class ImportanceLabeller(BaseEstimator):
    """Draw rows of a pool to label, by their leverage scores (CRED).

    .. math:: c_j = \\| (\\Sigma_N + \\alpha)^{-1/2} \\varphi(x_j) \\|^2
              + \\frac{\\rho_j}{\\alpha + \\rho_j / N}, \\qquad
              q_j = \\frac{c_j + \\bar c}{2 \\sum_k c_k}

    Here phi projects the kernel on the span of the basis, and ``rho_j = K(x_j, x_j) -
    ||phi(x_j)||^2`` is what it misses: large for a row that no landmark is near, which would
    otherwise be drawn less often than the crowd. Random features, where phi is the whole feature
    vector, have no rho (Murata and Suzuki, 2021, *Gradient Descent in RKHS with Importance
    Labeling*). If every row is a landmark, c is exact.

    Rows are drawn independently with probabilities q and have weight ``1 / (N q_j)`` each, so that
    weighted sums over them are unbiased for sums over the pool. A row drawn twice is labelled once
    and counts twice. Always fit with the weights: without them, the fit is for a different
    distribution than the pool, which introduces bias if the model is misspecified.

    Parameters
    ----------
    kernel, basis, columns, missing, dtype, memory_limit, random_state, verbose
        As in :class:`KernelRegressor`. There is no y, so categories of many levels are hashed.
        Numbers are not scaled; a table with text or dates becomes columns without a common unit,
        which are centered and divided by their standard deviations unless the bandwidth is a
        number.
    alpha : float, "auto" or "theory"
        The penalty of the leverage scores. "auto" chooses the one with an effective dimension (the
        mean of c) of one fifth of the budget. "theory" is lambda_* of definition 4.2 of the paper
        (:mod:`mercer.estimators.pool_penalty`), up to constants, for ``r``, ``noise`` and
        ``radius``, or for a labelled pilot (see :meth:`fit`).
    budget : int
        Number of draws in the first round.
    r, noise, radius : float or None
        For ``alpha="theory"`` without a pilot: the smoothness of the target, in (0, 1] (1/2 means a
        finite norm), the variance of the noise in y, and the norm of the target in the space of the
        kernel, in units in which y has unit variance.
    shards : int or None
        Number of shards of the pool; the drawn rows are the same for any number.
    engine : None, dask.distributed.Client, cluster or address
        Where shards are processed.

    Attributes
    ----------
    indices_ : array
        Rows of the pool to label, of all rounds, in increasing order.
    sample_weight_ : array
        The weight of each row in ``indices_``.
    count_ : array
        How often each row was drawn.
    probability_ : array of shape (N,)
        q, the probability of each row.
    n_draws_ : int
        Number of draws in all rounds.
    alpha_, effective_dimension_ : float
        The penalty, and the mean of c, which is ``trace(Sigma (Sigma + alpha)^-1)`` or, with
        landmarks, an estimate of that trace for the exact kernel.
    effective_sample_size_ : float
        ``(sum w)^2 / sum w^2``: the equivalent number of rows with equal weight.
    columns_ : TableEncoder or None
        What became of the columns of a table; None if rows were used as they are.
    seconds_ : dict
        Wall time by stage.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ImportanceLabeller, KernelRegressor, RandomFeatures
    >>> rng = np.random.default_rng(0)
    >>> pool = rng.standard_normal((2000, 2))
    >>> labeller = ImportanceLabeller(basis=RandomFeatures(200), budget=100, random_state=0)
    >>> labeller = labeller.fit(pool)
    >>> chosen = labeller.indices_
    >>> y = np.sin(pool[chosen, 0])  # a person's work
    >>> model = KernelRegressor(random_state=0).fit(pool[chosen], y, labeller.sample_weight_)
    """

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        basis: str | BasisTransformer = "auto",
        alpha: float | str = "auto",
        budget: int = 100,
        *,
        r: float | None = None,
        noise: float | None = None,
        radius: float | None = None,
        columns: str | Mapping[str, Any] | TableEncoder | None = "auto",
        missing: str = "fill",
        dtype: str = "auto",
        memory_limit: int | float | str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        shards: int | None = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.alpha = alpha
        self.budget = budget
        self.r = r
        self.noise = noise
        self.radius = radius
        self.columns = columns
        self.missing = missing
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose
        self.shards = shards
        self.engine = engine

    def fit(self, X: Any, y: Any = None, pilot: tuple[Any, Any] | None = None) -> Self:
        """Compute the scores of a pool and draw the first round.

        Parameters
        ----------
        X : array, data frame, sparse rows, path or row source
            The pool; files are read in blocks, twice, or three times if landmarks miss enough of it
            to change the automatic alpha.
        y : name of a column, or anything
            A column of a file that is not a feature; labels are not used.
        pilot : (X, y) or None
            Rows with labels that are numbers, for ``alpha="theory"``: a fit to them estimates the
            noise and the radius, and with at least 320 rows r.

        Returns
        -------
        self
        """
        self._check()
        if pilot is not None and self.alpha != "theory":
            raise ValueError(f"a pilot is for alpha='theory', got alpha={self.alpha!r}")
        with unchanged_on_error(self):
            self._facts = self._target_facts(pilot)
            rng = as_generator(self.random_state)
            # Seed before any other draw, so that scoring does not change which rows are drawn.
            draws = np.random.default_rng(int(rng.integers(2**62)))
            source = self._pool(X, y)
            if self.budget > source.n_rows:
                raise ValueError(
                    f"budget must be at most the {source.n_rows} rows of the pool, got "
                    f"{self.budget}: to label all rows, no labeller is needed"
                )
            found = self._scored(source, rng)
            total = float(found.scores.sum())
            if not total > 0:
                raise ValueError(
                    "no row has a positive score: the basis is 0 at all rows; check the kernel "
                    "and the scale of the columns"
                )
            mean = total / source.n_rows
            self.probability_ = (found.scores + mean) / (2 * total)
            self.probability_ /= self.probability_.sum()
            self.alpha_ = found.alpha
            self.effective_dimension_ = found.effective_dimension
            self.basis_, self.seconds_ = found.basis, found.seconds
            self.kernel_ = found.basis.kernel_
            self.n_draws_ = 0
            self._drawn = np.zeros(source.n_rows, dtype=np.int64)
            self._rng = draws
            self._drawn_from = source if isinstance(source, ArraySource) else None
            self.select(self.budget)
        return self

    def select(self, budget: int | None = None) -> Array:
        """Draw another round; return the new rows to label.

        Rows that were drawn before are not returned again: their labels are known, and only their
        weights increase. ``indices_`` and ``sample_weight_`` cover all rounds.
        """
        check_is_fitted(self, "probability_")
        number = check_count(self.budget if budget is None else budget, "budget")
        chosen = np.searchsorted(np.cumsum(self.probability_), self._rng.random(number))
        chosen = np.minimum(chosen, len(self.probability_) - 1)
        new = np.unique(chosen)
        new = new[self._drawn[new] == 0]
        self._drawn = self._drawn + np.bincount(chosen, minlength=len(self._drawn))
        self.n_draws_ += number
        self.indices_ = np.flatnonzero(self._drawn)
        self.count_ = self._drawn[self.indices_]
        pool = len(self.probability_)
        self.sample_weight_ = self.count_ / (pool * self.probability_[self.indices_])
        if self._drawn_from is not None and len(self.indices_) < pool:
            remember(self._drawn_from.take(self.indices_))
        return np.asarray(new)

    @property
    def effective_sample_size_(self) -> float:
        """``(sum w)^2 / sum w^2``."""
        check_is_fitted(self, "sample_weight_")
        return float(self.sample_weight_.sum() ** 2 / np.sum(self.sample_weight_**2))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_drawn_from": None}  # the pool is not pickled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = as_kernel(self.kernel).accepts_sparse
        tables = takes_tables(self)
        tags.input_tags.string = tags.input_tags.categorical = tables
        tags.input_tags.allow_nan = tables and self.missing == "fill"
        return tags

    def _check(self) -> None:
        """Validate the parameters."""
        if isinstance(self.alpha, str):
            if self.alpha not in ("auto", "theory"):
                raise ValueError(
                    f"alpha must be a positive number, 'auto' or 'theory', got {self.alpha!r}"
                )
        else:
            check_number(self.alpha, "alpha", above=0.0, maximum=LARGEST)
        check_count(self.budget, "budget")
        asked_encoder(self)
        check_choice(self.dtype, "dtype", ["auto", "float32", "float64"])
        parse_memory(self.memory_limit)
        if self.shards is not None:
            check_count(self.shards, "shards")
        if as_kernel(self.kernel).pairwise:
            raise ValueError(
                "a precomputed kernel has no rows to draw: pass rows and another kernel"
            )
        if not (isinstance(self.basis, str) and self.basis == "auto"):
            as_basis(self.basis)

    def _pool(self, X: Any, y: Any) -> RowSource:
        if isinstance(X, RowSource):
            source = X
            if not takes_tables(self) and getattr(X, "raw", False):
                source = X.as_numbers()  # type: ignore[attr-defined]
        elif isinstance(X, (str, bytes)) or hasattr(X, "__fspath__"):
            target = y if isinstance(y, str) else None
            source = open_rows(X, target=target, raw=takes_tables(self))
        else:
            rows = validated_rows(self, X, reset=True)
            names = getattr(self, "feature_names_in_", None)
            return ArraySource(rows, feature_names=names)
        check_features(self, source, reset=True)
        return source

    def _scored(self, pool: RowSource, rng: np.random.Generator) -> PoolScores:
        with progress_bar(self.verbose) as progress:
            if self.shards is None and self.engine is None:
                return self._scored_rows(RowSet.in_one_place(pool, progress), rng)
            engine = as_engine(self.engine)
            try:
                # Consecutive rows, so that the draws do not depend on the number of shards.
                shards = [
                    replace(shard, source=shard.source.source)  # type: ignore[attr-defined]
                    for shard in cut(Pool(pool), self.shards or 2 * engine.width)
                ]
                return self._scored_rows(RowSet.over_shards(engine, shards, nothing), rng)
            finally:
                if engine is not self.engine and hasattr(engine, "close"):
                    engine.close()

    def _scored_rows(self, rows: RowSet, rng: np.random.Generator) -> PoolScores:
        """Encode the columns, and score the rows by the kernel."""
        seed = getattr(self.basis, "random_state", None)
        kernel, clock = as_kernel(self.kernel), Clock()
        with clock.stage("columns"):
            no_targets = NoTargets(np.zeros(1), np.ones(1), False)
            rows = with_encoded_columns(self, rows, no_targets, first=True)
            if has_other_columns(self.columns_) and kernel.may_scale and not kernel.has_units:
                kernel = InMetric(kernel, Metric(column_sums(rows).scaling(), None))
        request = Request(
            RegressionTargets(np.zeros(1), np.ones(1), False),
            kernel=kernel,
            basis=self.basis,
            criterion=LeaveOneOut(),  # scoring needs a second pass over the rows
            intercept=False,
            dtype=self.dtype,
            memory_limit=self.memory_limit,
            needs_sums=True,
            # A basis with a seed uses its own.
            seeds=OneStream(rng if seed is None else as_generator(seed)),
        )
        found = score_pool(rows.derived(pooled_shard), request, self._alpha)
        if has_other_columns(self.columns_):
            found = replace(found, seconds={**clock.seconds, **found.seconds})
        return found

    def _target_facts(self, pilot: tuple[Any, Any] | None) -> TargetFacts | None:
        """Return what ``alpha="theory"`` knows of the target."""
        if self.alpha != "theory":
            return None
        if pilot is None:
            return given_facts(self.r, self.noise, self.radius)
        kernel = clone(as_kernel(self.kernel))
        kernel.set_params(**dict.fromkeys(kernel.parameters_with("auto"), "median"))
        model = KernelRegressor(
            kernel, metric=None, scale=None, columns=self.columns, missing=self.missing
        )
        return facts_of_pilot(model.set_params(random_state=0), *pilot, self.r)

    def _alpha(self, pool: PoolDimension) -> float:
        """Return alpha, as given, by the effective dimension, or by theory."""
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        if self._facts is None:
            return pool.alpha_at(self.budget / LABELS)
        return self._facts.penalty(pool, self.budget)

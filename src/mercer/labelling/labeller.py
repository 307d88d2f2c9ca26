"""Choose which rows of a pool to label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer, as_basis, as_generator
from mercer.columns import TableEncoder, column_sums
from mercer.contracts import Array, RandomState, RowSource
from mercer.engines import as_engine
from mercer.engines.progress_bar import progress_bar
from mercer.kernels import InMetric, Kernel, Metric, as_kernel
from mercer.labelling.pool_draws import (
    Draws,
    LeverageDraws,
    VarianceDraws,
    Wanted,
    check_candidates,
    check_labelled,
    random_draws_of_pool,
)
from mercer.labelling.pool_penalty import facts_for
from mercer.labelling.pool_scores import PoolDimension, PoolScores, pool_request, score_pool
from mercer.opening.encoding import encoder_of, has_other_columns, with_learned_columns
from mercer.opening.inputs import (
    Features,
    InputOptions,
    features_of,
    unchanged_on_error,
    validated_rows,
)
from mercer.opening.weighing import remember
from mercer.plan import parse_memory
from mercer.result import Clock
from mercer.rows import ArraySource, open_rows
from mercer.rows.file_source import FileSource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard, cut
from mercer.rows.steps import Pool
from mercer.search import keeps_units
from mercer.targets.number_targets import RegressionTargets
from mercer.validation import LARGEST, check_choice, check_count, check_number

#: Labels per effective dimension, if alpha is chosen automatically.
LABELS = 5
#: Ways to draw rows, by name.
SAMPLINGS: dict[str, Callable[..., Draws]] = {
    "leverage": LeverageDraws.of_pool,
    "variance": VarianceDraws.of_pool,
    "random_variance": random_draws_of_pool,
}


class ImportanceLabeller(BaseEstimator):
    """Draw rows of a pool to label, by their leverage scores (CRED) or by their variance.

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

    ``sampling="variance"`` is uncertainty sampling instead: rows are taken one by one, each where a
    Gaussian process with covariance K is least certain given the set L of rows before,

    .. math:: v_L(x) = K(x, x) - k_L(x)' (K_{LL} + n \\alpha I)^{-1} k_L(x)

    with n the number of labels after the first round (:mod:`mercer.sampling.posterior_variance`).
    This depends on the rows alone, not on their labels, so that a round is asked for at once, and
    no row is drawn twice. Such rows are no sample of the pool: all weights are 1, and there are no
    probabilities. Of equal variances, the first row is taken.

    Parameters
    ----------
    kernel, basis, columns, missing, dtype, memory_limit, random_state, verbose
        As in :class:`KernelRegressor`. There is no y, so categories of many levels are hashed.
        Numbers are not scaled; a table with text or dates becomes columns without a common unit,
        which are centered and divided by their standard deviations unless each has a bandwidth in
        numbers.
    alpha : float, "auto" or "theory"
        The penalty of the leverage scores. "auto" chooses the one with an effective dimension (the
        mean of c) of one fifth of the budget. "theory" is lambda_* of definition 4.2 of the paper
        (:mod:`mercer.labelling.pool_penalty`), up to constants, for ``r``, ``noise`` and
        ``radius``, or for a labelled pilot (see :meth:`fit`).
    budget : int
        Number of draws in the first round.
    sampling : "leverage", "variance" or "random_variance"
        How rows are drawn: independently with the probabilities q, by the largest variance, or at
        random in proportion to the variance, which follows the pool more closely. The variance is
        that of the kernel itself, for any landmarks, or of the random features.
    candidates : int, "all" or None
        Of draws by variance: how many rows are looked at for each label, as in :class:`Landmarks`.
        They are drawn in proportion to c, and are all rows of a small pool. None means 20, at least
        10,000 in all. As many numbers as labels are kept for each of them, and fewer are looked at
        if that takes more than ``memory_limit``.
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
    probability_ : array of shape (N,) or None
        q, the probability of each row; None for draws by variance.
    variance_ : array or None
        For draws by variance, v of each row in ``indices_`` when it was drawn; with "variance", the
        larger, the earlier.
    n_pool_ : int
        N, the number of rows of the pool.
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
        sampling: str = "leverage",
        candidates: int | str | None = None,
        r: float | None = None,
        noise: float | None = None,
        radius: float | None = None,
        columns: str | Mapping[str, Any] | TableEncoder | None = "auto",
        missing: str = "fill",
        dtype: str = "auto",
        memory_limit: int | float | str = "auto",
        random_state: RandomState = None,
        verbose: int = 0,
        shards: int | None = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.alpha = alpha
        self.budget = budget
        self.sampling = sampling
        self.candidates = candidates
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

    def fit(
        self,
        X: Any,
        y: object = None,
        pilot: tuple[Any, Any] | None = None,
        labelled: ArrayLike | None = None,
    ) -> Self:
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
        labelled : array of int or None
            Numbers of rows of the pool that have a label already, for draws by variance: they are
            not drawn, and rows near them are less uncertain.

        Returns
        -------
        self
        """
        self._check()
        if pilot is not None and self.alpha != "theory":
            raise ValueError(f"a pilot is for alpha='theory', got alpha={self.alpha!r}")
        with unchanged_on_error(self):
            self._facts = None if self.alpha != "theory" else facts_for(self, pilot)
            rng = as_generator(self.random_state)
            # Seed before any other draw, so that scoring does not change which rows are drawn.
            draws = np.random.default_rng(int(rng.integers(2**62)))
            kernel, tables = as_kernel(self.kernel), self.columns is not None
            options = InputOptions(self, sparse=kernel.accepts_sparse, tables=tables)
            source, features = open_pool(options, X, y)
            self._take(features)
            if self.budget > source.n_rows:
                raise ValueError(
                    f"budget must be at most the {source.n_rows} rows of the pool, got "
                    f"{self.budget}: to label all rows, no labeller is needed"
                )
            known = check_labelled(self.sampling, self.budget, labelled, source.n_rows)
            wanted = Wanted(self.budget + len(known), known, self.candidates, self.memory_limit)
            with placed(self, source) as rows:
                found, self._draws = self._scored(rows, rng, wanted, draws)
            self.probability_, self.n_pool_ = self._draws.probability, source.n_rows
            self.alpha_ = found.alpha
            self.effective_dimension_ = found.effective_dimension
            self.basis_, self.seconds_ = found.basis, found.seconds
            self.kernel_ = found.basis.kernel_
            self.n_draws_ = 0
            self._drawn = np.zeros(source.n_rows, dtype=np.int64)
            self._rng = draws
            weighted = self.probability_ is not None
            self._drawn_from = source if weighted and isinstance(source, ArraySource) else None
            clock = Clock()
            with clock.stage("draws"):
                self.select(self.budget)
            if not weighted:  # otherwise it takes no time
                self.seconds_ = {**self.seconds_, **clock.seconds}
        return self

    def select(self, budget: int | None = None) -> Array:
        """Draw another round; return the new rows to label.

        Rows that were drawn before are not returned again: their labels are known, and only their
        weights increase. ``indices_`` and ``sample_weight_`` cover all rounds. Draws by variance
        go on as if they had not stopped: two rounds are the rows of one that is as long.
        """
        check_is_fitted(self, "n_pool_")
        number = check_count(self.budget if budget is None else budget, "budget")
        chosen, self._draws = self._draws.drawn(number, self._rng)
        new = np.unique(chosen)
        new = new[self._drawn[new] == 0]
        self._drawn = self._drawn + np.bincount(chosen, minlength=len(self._drawn))
        self.n_draws_ += number
        self.indices_ = np.flatnonzero(self._drawn)
        self.count_ = self._drawn[self.indices_]
        self.sample_weight_ = self._draws.weights(self.indices_, self.count_)
        self.variance_ = self._draws.variances(self.indices_)
        if self._drawn_from is not None and len(self.indices_) < self.n_pool_:
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
        tables = self.columns is not None
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
        check_choice(self.sampling, "sampling", list(SAMPLINGS))
        check_candidates(self.candidates, self.sampling)
        check_choice(self.missing, "missing", ["fill", "error"])
        encoder_of(self.columns)
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

    def _take(self, features: Features) -> None:
        """Set the columns of the pool."""
        self.n_features_in_ = features.number
        if features.names is not None:
            self.feature_names_in_ = np.array(features.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _scored(
        self, rows: RowSet, rng: np.random.Generator, wanted: Wanted, draws: np.random.Generator
    ) -> tuple[PoolScores, Draws]:
        """Encode the columns, score the rows by the kernel, and get ready to draw."""
        kernel, clock = as_kernel(self.kernel), Clock()
        with clock.stage("columns"):
            no_targets = NoTargets(np.zeros(1), np.ones(1), False)
            encoder = encoder_of(self.columns, self.missing)
            rows, self.columns_ = with_learned_columns(rows, encoder, no_targets)
            if has_other_columns(self.columns_) and not keeps_units(kernel, encoded=True):
                kernel = InMetric(kernel, Metric(column_sums(rows).scaling(), None))
        rows = rows.derived(pooled_shard)
        request = pool_request(self, kernel, rng)
        found = score_pool(rows, request, lambda pool: self._alpha(pool, wanted.labels))
        if has_other_columns(self.columns_):
            found = replace(found, seconds={**clock.seconds, **found.seconds})
        return found, SAMPLINGS[self.sampling](found, rows, wanted, draws)

    def _alpha(self, pool: PoolDimension, labels: int) -> float:
        """Return alpha, as given, by the effective dimension, or by theory."""
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        if self._facts is None:
            return pool.alpha_at(labels / LABELS)
        return self._facts.penalty(pool, labels)


def open_pool(options: InputOptions, X: Any, y: object) -> tuple[RowSource, Features]:
    """Return the pool of a labeller as a source; y may name a column that is not a feature."""
    if isinstance(X, RowSource):
        source = X
        if isinstance(X, FileSource) and X.raw and not options.tables:
            source = X.as_numbers()
    elif isinstance(X, (str, bytes)) or hasattr(X, "__fspath__"):
        target = y if isinstance(y, str) else None
        source = open_rows(X, target=target, raw=options.tables)
    else:
        rows, features = validated_rows(X, options)
        return ArraySource(rows, feature_names=features.names), features
    return source, features_of(source, options)


@contextmanager
def placed(labeller: ImportanceLabeller, pool: RowSource) -> Iterator[RowSet]:
    """Yield the rows of a pool in one place, or over the shards of a labeller, on its engine."""
    with progress_bar(labeller.verbose) as progress:
        if labeller.shards is None and labeller.engine is None:
            yield RowSet.in_one_place(pool, progress)
            return
        engine = as_engine(labeller.engine)
        try:
            # Consecutive rows, so that the draws do not depend on the number of shards.
            shards = [
                replace(shard, source=shard.source.source)
                for shard in cut(Pool(pool), labeller.shards or 2 * engine.width)
                if isinstance(shard.source, Pool)
            ]
            yield RowSet.over_shards(engine, shards, nothing)
        finally:
            if engine is not labeller.engine and hasattr(engine, "close"):
                engine.close()


class NoTargets(RegressionTargets):
    """Targets that are not known, whatever a file may have."""

    def values(self, y: Array, start: int) -> Array:
        """Return NaN for every row."""
        return np.full((len(y), 1), np.nan)


def pooled_shard(shard: Shard) -> Shard:
    """Task: return a shard whose labels are ignored."""
    return Shard(shard.number, shard.name, Pool(shard.source), shard.progress)


def nothing(source: RowSource) -> None:
    """Return None: a pool has no targets to summarize."""

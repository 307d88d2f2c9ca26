"""What the regressor and the classifier share: parameters, fitting, summing up."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer, as_basis, as_generator
from mercer.combine import Combination, ExactSum, as_combination
from mercer.contracts import Array, RowSource
from mercer.estimators.batches import Batches
from mercer.estimators.drawn_rows import warn_of_missing_weights
from mercer.estimators.predicting import Predictions
from mercer.estimators.progress import progress_bar
from mercer.estimators.resuming import fingerprint_of
from mercer.estimators.summary import Summary, summarize
from mercer.estimators.unlabelled import with_unlabelled
from mercer.fit import (
    effective_dimension,
    fit,
    resume,
)
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.result import Fit, Targets
from mercer.selection import Criterion, as_criterion, parse_memory, plan_fit
from mercer.solvers import (
    BaseSolver,
    CutOff,
    PreconditionedCG,
    as_solver,
)
from mercer.validation import (
    MercerWarning,
    check_alphas,
    check_choice,
    check_flag,
    check_number,
)

#: Parameters that are objects, and may be given by name.
_NAMED: dict[str, Callable[[Any], Any]] = {
    "kernel": as_kernel,
    "basis": as_basis,
    "solver": as_solver,
    "selection": as_criterion,
    "combine": as_combination,
}


class KernelEstimator(Predictions, Batches):
    """Least squares in a reproducing-kernel Hilbert space; see the regressor and the classifier."""

    _targets: Targets
    fit_: Fit

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        basis: str | BasisTransformer = "auto",
        alpha: float | str = "auto",
        *,
        alphas: Any = None,
        selection: str | Criterion = "gcv",
        solver: str | BaseSolver = "auto",
        fit_intercept: bool = True,
        dtype: str = "auto",
        memory_limit: int | float | str = "auto",
        random_state: Any = None,
        warm_start: bool = False,
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
        self.fit_intercept = fit_intercept
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.shards = shards
        self.shuffle = shuffle
        self.combine = combine
        self.rounds = rounds
        self.engine = engine
        self.checkpoint = checkpoint

    # -- what subclasses say -------------------------------------------------------------------

    def _make_targets(self, source: RowSource) -> Targets:
        raise TypeError(f"{type(self).__name__} does not define _make_targets()")

    def _ordered(self, source: RowSource) -> RowSource:
        """Return rows in the order that suits the targets."""
        return source

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        shard_labels: Any = None,
        X_unlabelled: Any = None,
    ) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, data frame, sparse rows, path, row source, list of paths or Dask collection
            Rows of numbers. A path (.npy, .npz, .csv, .tsv, .csv.gz, .parquet or a folder of
            Parquet files) or a source from :func:`mercer.open_rows` is read in blocks and never
            held whole. The files of a list, and the partitions of a Dask array or data frame, are
            shards.
        y : array of shape (n,) or (n, k), or the name of the target column of a file
            Targets. Rows where it is NaN (or None, among classes) have no label: they count for
            where rows are, and have no part in sums with y.
        sample_weight : array of shape (n,), or the name of a column of a file
            Weights, at least 0; weight 2 is the row twice.
        shard_labels : array of shape (n,) or None
            Which shard each row of an array belongs to, instead of ``shards``.
        X_unlabelled : array or data frame, or None
            Further rows without labels, where X is an array or a frame.

        Returns
        -------
        self
        """
        if X_unlabelled is not None:
            X, y, sample_weight = with_unlabelled(X, y, sample_weight, X_unlabelled)
            self._announced_unlabelled = True
        try:
            return self._fit_rows(X, y, sample_weight, shard_labels)
        finally:
            self.__dict__.pop("_announced_unlabelled", None)

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: Any, shard_labels: Any, query: Any = None
    ) -> Self:
        """Fit to rows, over shards or in one place."""
        settings = self._settings()
        warn_of_missing_weights(X, sample_weight)
        if self._is_sharded(X, shard_labels):
            with self._all_or_nothing():
                return self._fit_over_shards(X, y, sample_weight, shard_labels, settings, query)
        if not isinstance(as_combination(self.combine), ExactSum):
            raise ValueError(
                f"combine={self.combine!r} is for shards, and there are none: give shards="
            )
        with self._all_or_nothing():
            source = self._ordered(self._source(X, y, sample_weight, reset=True, query=query))
            fingerprint = fingerprint_of(self, source) if self.warm_start else None
            if fingerprint is not None and fingerprint == getattr(self, "_fitted_to", None):
                if isinstance(settings["solver"], PreconditionedCG):
                    return self._fit_source(source, settings, fixed_basis=False, previous=self.fit_)
                return self._go_on(settings)
            self._targets = self._make_targets(source)
            # Neither rows of queries nor rows without labels have a dual system.
            sums = self._targets.pairs is not None or self.__dict__.pop("_partial", False)
            self._fit_source(source, settings, fixed_basis=sums)
            self._fitted_to = fingerprint
            return self

    def _settings(self) -> dict[str, Any]:
        """Check every parameter that needs no data, before any work."""
        alpha: float | None = None
        if not (isinstance(self.alpha, str) and self.alpha == "auto"):
            if isinstance(self.alpha, str):
                raise ValueError(
                    f"alpha must be a number of at least 0, or 'auto', got {self.alpha!r}"
                )
            hint = "; alpha is lambda against the mean loss: scikit-learn's KernelRidge alpha / n"
            alpha = check_number(self.alpha, "alpha", minimum=0.0, hint=hint)
        kernel = as_kernel(self.kernel)
        check_choice(self.dtype, "dtype", ["auto", "float32", "float64"])
        check_flag(self.fit_intercept, "fit_intercept")
        check_flag(self.warm_start, "warm_start")
        check_number(
            int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, "verbose"
        )
        parse_memory(self.memory_limit)
        self._sharding()
        if not (isinstance(self.basis, str) and self.basis == "auto"):
            as_basis(self.basis)
        if isinstance(self.basis, BasisTransformer) and self.basis.kernel is not None:
            raise ValueError(
                f"the basis has a kernel of its own, {self.basis.kernel!r}: inside an estimator "
                f"give it as {type(self).__name__}(kernel=...) and leave the basis's at None"
            )
        solver, criterion = as_solver(self.solver), as_criterion(self.selection)
        if isinstance(solver, CutOff) and alpha is None and criterion.second_pass:
            raise ValueError(
                f"{criterion.label} has no shortcut for solver='cutoff', whose components depend "
                f"on every row: use selection='gcv' or 'kfold'"
            )
        return {
            "kernel": kernel,
            "solver": solver,
            "criterion": criterion,
            "alpha": alpha,
            "alphas": None if self.alphas is None else check_alphas(self.alphas),
        }

    def _fit_source(
        self,
        source: RowSource,
        settings: dict[str, Any],
        fixed_basis: bool,
        previous: Fit | None = None,
    ) -> Self:
        folds, held_out = self._pieces(settings)
        plan, settings["solver"] = plan_fit(
            source,
            settings["kernel"],
            self.basis,
            None if self.solver == "auto" else settings["solver"],
            open_alpha=settings["alpha"] is None,
            dtype=self.dtype,
            memory_limit=self.memory_limit,
            outputs=self._targets.outputs,
            folds=folds,
            held_out=held_out,
            second_pass=settings["criterion"].second_pass and settings["alpha"] is None,
            fixed_basis=fixed_basis,
        )
        seed = getattr(plan.basis, "random_state", None)
        rng = as_generator(self.random_state if seed is None else seed)
        with progress_bar(self.verbose) as progress:
            found = fit(
                source,
                self._targets,
                plan=plan,
                intercept=bool(self.fit_intercept),
                rng=rng,
                progress=progress,
                previous=previous,
                **settings,
            )
        present: Array | None = self.__dict__.pop("_present", None)
        if present is not None and getattr(found.basis, "indices_", None) is not None:
            # new rows of a precomputed kernel have a column for every row
            found.basis.indices_ = present[found.basis.indices_]
        return self._finish(found)

    def _go_on(self, settings: dict[str, Any]) -> Self:
        """Take more steps, or fewer, from where the last fit of the same rows stopped."""
        self.__dict__.pop("_present", None)  # the indices of the basis know it already
        with progress_bar(self.verbose) as progress:
            found = resume(
                self.fit_,
                settings["solver"],
                units=self._targets.scale**2,
                alpha=settings["alpha"],
                intercept=bool(self.fit_intercept),
                rng=as_generator(self.random_state),
                progress=progress,
            )
        return self._finish(found)

    def _adopt(self, found: Fit) -> None:
        """Take over what a fit found, as attributes."""
        self.fit_ = found
        self.basis_ = found.basis
        self.kernel_ = found.basis.kernel_
        self.alpha_ = found.alpha
        self.coef_, self.intercept_ = self._in_units(found.coefficients, found.intercept)
        self.n_iter_ = max(1, found.solution.steps)
        self.cv_results_ = None
        if found.scores is not None and found.alphas is not None:
            self.cv_results_ = {
                "alpha": found.alphas,
                "mean_squared_error": found.scores.mean,
                "criterion": as_criterion(self.selection).label,
            }
            for number, errors in enumerate(
                () if found.scores.by_fold is None else found.scores.by_fold
            ):
                self.cv_results_[f"split{number}_squared_error"] = errors

    def _finish(self, found: Fit) -> Self:
        if not self.warm_start:
            found.run = None  # it holds all steps and the matrix that they are made with
        self._adopt(found)
        told = self.__dict__.pop("_told_unlabelled", False)
        rows, labelled = (
            sum(getattr(fold, name) for fold in found.folds or ())
            for name in ("rows", "target_rows")
        )
        if labelled < rows and not told:  # files are read before this is known
            warnings.warn(
                f"{rows - labelled} of {rows} rows have no label: they count for where rows are, "
                f"not for y; drop them if that is not meant",
                MercerWarning,
                stacklevel=5,
            )
        if not found.solution.status.succeeded:
            warnings.warn(
                f"{found.solution.status.value}: {found.solution.reason}",
                MercerWarning,
                stacklevel=5,  # the line of the user's that called fit
            )
        if self.verbose > 1:
            print(self.summary())
        return self

    # -- what was found ------------------------------------------------------------------------

    @property
    def effective_dimension_(self) -> float:
        """``trace(A (A + alpha)^-1)``: how many parameters the fit really uses."""
        check_is_fitted(self, "fit_")
        found = self.fit_
        if found.path is not None:
            why = (
                "a fit by products forms no matrix to take it from"
                if found.plan.sample
                else "a fit that is regularized by its number of steps has none"
            )
            raise AttributeError(f"no effective dimension: {why}; solver='ridge' has one")
        if found.effective_dimension is None:
            self._check_sums()
            found.effective_dimension = effective_dimension(found, bool(self.fit_intercept))
        return found.effective_dimension

    def summary(self) -> Summary:
        """Say what was chosen and why: prints as text, shows as a table in notebooks."""
        check_is_fitted(self, "fit_")
        return summarize(
            type(self).__name__,
            self.fit_,
            as_criterion(self.selection).label,
            self._targets.outputs,
            self.fit_.alphas is not None,
        )

    # -- scikit-learn's contract ---------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__bandwidth`` works for a kernel given by its name, too.

        Where a parameter is refused, none is changed.
        """
        before = self.get_params(deep=False)
        for name, as_object in _NAMED.items():
            if name not in before:  # not a parameter of this estimator
                continue
            value = params.get(name, before[name])
            if isinstance(value, str) and any(key.startswith(f"{name}__") for key in params):
                if name == "basis" and value == "auto":
                    raise ValueError(
                        "basis='auto' has no parameters of its own: set basis='landmarks' or "
                        "basis='random_features' as well"
                    )
                params[name] = as_object(value)
            elif any(key.startswith(f"{name}__") for key in params):
                params[name] = clone(value)  # so that a refusal leaves the old one as it was
        try:
            super().set_params(**params)
        except (AttributeError, TypeError, ValueError):
            for name, value in before.items():
                setattr(self, name, value)
            raise
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.kernel, (str, Kernel)):
            kernel = as_kernel(self.kernel)
            tags.input_tags.sparse = kernel.accepts_sparse
            tags.input_tags.pairwise = isinstance(kernel, Precomputed)
        return tags

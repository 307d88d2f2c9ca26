"""What the regressor and the classifier share: parameters, fitting, predicting, summing up."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer, Landmarks, as_basis, as_generator
from mercer.combine import Combination, as_combination
from mercer.contracts import Array, RowSource
from mercer.engines import Lanes
from mercer.estimators.progress import progress_bar
from mercer.estimators.resuming import fingerprint_of
from mercer.estimators.sharding import ShardedFits
from mercer.estimators.steps import SolverSteps
from mercer.estimators.summary import Summary, summarize
from mercer.estimators.targets import RegressionTargets
from mercer.fit import (
    accumulate,
    effective_dimension,
    fit,
    refit,
    resume,
    unwhitened,
)
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.moments import Moments
from mercer.result import Fit, Targets
from mercer.selection import Criterion, as_criterion, make_plan, parse_memory, plan_fit
from mercer.solvers import (
    BaseSolver,
    CutOff,
    IterativeSolver,
    PreconditionedCG,
    as_solver,
)
from mercer.sources import ArraySource
from mercer.validation import (
    MercerWarning,
    check_alphas,
    check_choice,
    check_finite,
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

#: Columns of solutions that staged predictions evaluate the basis for at a time.
TOGETHER = 64


class KernelEstimator(SolverSteps, ShardedFits):
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

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, shard_labels: Any = None
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
            Targets.
        sample_weight : array of shape (n,), or the name of a column of a file
            Weights, at least 0; weight 2 is the row twice.
        shard_labels : array of shape (n,) or None
            Which shard each row of an array belongs to, instead of ``shards``.

        Returns
        -------
        self
        """
        settings = self._settings()
        if self._is_sharded(X, shard_labels):
            with self._all_or_nothing():
                return self._fit_over_shards(X, y, sample_weight, shard_labels, settings)
        with self._all_or_nothing():
            source = self._source(X, y, sample_weight, reset=True)
            fingerprint = fingerprint_of(self, source) if self.warm_start else None
            if fingerprint is not None and fingerprint == getattr(self, "_fitted_to", None):
                if isinstance(settings["solver"], PreconditionedCG):
                    return self._fit_source(source, settings, fixed_basis=False, previous=self.fit_)
                return self._go_on(settings)
            self._targets = self._make_targets(source)
            self._fit_source(source, settings, fixed_basis=False)
            self._fitted_to = fingerprint
            return self

    def _can_add(self) -> bool:
        """Whether the functions can stay while rows come and go."""
        if isinstance(as_solver(self.solver), PreconditionedCG):
            raise AttributeError(
                "partial_fit and forget need sums over rows, which solver='pcg' never forms: use "
                "solver='ridge'"
            )
        basis = as_basis(self.basis) if self.basis != "auto" else None
        if (basis is not None and basis.dual) or isinstance(as_kernel(self.kernel), Precomputed):
            raise AttributeError(
                "partial_fit and forget need functions that stay as rows come and go; the full "
                "kernel has one a row: use basis='landmarks' or basis='random_features'"
            )
        return True

    @available_if(_can_add)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model: moments add, so this equals one fit on all rows together.

        The first call chooses the basis from its rows (give a large first batch, or landmarks); it
        then stays. A model that was fitted by :meth:`fit` goes on likewise.
        """
        settings = self._settings()
        first = not hasattr(self, "fit_")
        with self._all_or_nothing():
            source = self._source(X, y, sample_weight, reset=first)
            if first:
                self._targets = self._make_targets(source)
                return self._fit_source(source, settings, fixed_basis=True)
            return self._combine(source, settings, sign=1)

    @available_if(_can_add)
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out of the model: moments subtract, as if it had never seen them.

        The rows must be ones that were fitted, with the same targets and weights. The basis stays;
        landmarks that were chosen among these rows remain landmarks.
        """
        check_is_fitted(self, "fit_")
        settings = self._settings()
        with self._all_or_nothing():
            source = self._source(X, y, sample_weight, reset=False)
            return self._combine(source, settings, sign=-1)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the model as it was where a fit is refused or interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

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
        if present is not None:  # new rows of a precomputed kernel have a column for every row
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

    def _combine(self, source: RowSource, settings: dict[str, Any], sign: int) -> Self:
        """Add or subtract the moments of a source and solve again."""
        self._check_sums()
        previous = self.fit_ if self.fit_.folds is not None else self._as_moments(settings)
        assert previous.folds is not None
        pieces, held_out = self._pieces(settings)
        chooser, instead = self._chooser(settings)
        if pieces > 1 and (pieces, held_out) != (len(previous.folds), previous.plan.held_out):
            kept = len(previous.folds)
            others = f"{kept}" if kept != pieces else f"{kept} of another size"
            raise ValueError(
                f"{chooser} needs sums kept in {pieces} pieces from the first rows on, and this "
                f"model keeps {others}: fit it again, or use {instead}"
            )
        if sign < 0 and len(previous.folds) > 1:
            raise ValueError(
                f"forget cannot tell which fold a row was dealt to: use {instead} from the first "
                f"rows on"
            )
        rng = as_generator(self.random_state)
        with progress_bar(self.verbose) as progress:
            batch = accumulate(
                source,
                self._targets,
                previous.basis,
                previous.plan,
                rng,
                progress,
            )
        folds = [
            old + new if sign > 0 else old - new
            for old, new in zip(previous.folds, batch, strict=True)
        ]
        if sum(fold.rows for fold in folds) <= 0:
            raise ValueError(
                f"forget would leave no rows: the model holds "
                f"{sum(fold.rows for fold in previous.folds)}, {source.n_rows} were given"
            )
        settings = {k: v for k, v in settings.items() if k != "kernel"}
        with progress_bar(self.verbose) as progress:
            found = refit(
                previous,
                folds,
                units=self._targets.scale**2,
                intercept=bool(self.fit_intercept),
                rng=rng,
                progress=progress,
                **settings,
            )
        self._fitted_to = None
        return self._finish(found)

    @staticmethod
    def _chooser(settings: dict[str, Any]) -> tuple[str, str]:
        """Return what looks at other rows to choose, and what to use that does not."""
        if isinstance(settings["solver"], IterativeSolver):
            return f"the rule '{settings['solver'].rule().label}'", "stop=StopAfter(steps)"
        return str(settings["criterion"].label), "selection='gcv' or a number for alpha"

    def _as_moments(self, settings: dict[str, Any]) -> Fit:
        """Return the fit of an automatic full kernel as one by moments: a function at every row."""
        exact = self.fit_
        assert exact.dual_rows is not None
        Y, weight = exact.dual_rows
        source = ArraySource(exact.basis.landmarks_, Y, weight)
        plan = make_plan(
            source,
            exact.basis.kernel_,
            Landmarks(sampling=exact.basis.landmarks_),
            dtype=self.dtype,
            memory_limit=self.memory_limit,
            outputs=Y.shape[1],
            folds=self._pieces(settings)[0],
            held_out=self._pieces(settings)[1],
        )
        rng = as_generator(self.random_state)
        basis = plan.basis.fit_source(
            source, exact.basis.kernel_, rng, plan.precision, plan.may_widen
        )
        encoded = RegressionTargets(np.zeros(Y.shape[1]), np.ones(Y.shape[1]), True)
        folds = accumulate(source, encoded, basis, plan, rng)
        return replace(exact, basis=basis, plan=plan, folds=folds)

    def _check_sums(self) -> None:
        """Refuse what needs sums over rows, where a model was saved without them."""
        if self.fit_.folds is None and self.fit_.dual_rows is None:
            if self.fit_.combination:
                raise AttributeError(
                    f"this model is an {self.fit_.combination}, and their sums over rows stayed "
                    f"with the shards: fit it with combine='sum'"
                    if self.fit_.combination.startswith("average")
                    else f"this model was found by {self.fit_.combination}, and sums over rows "
                    f"stayed with the shards: fit it with combine='sum'"
                )
            if self.fit_.plan.sample:
                raise AttributeError(
                    "this model was solved by products and has no sums over rows, which this "
                    "needs: fit it with solver='ridge'"
                )
            raise AttributeError(
                "this model was loaded from a file without its sums over rows, which this needs: "
                "save it with mercer.save(model, path, moments=True), or fit it again"
            )

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

    def _in_units(self, coefficients: Array, intercept: Array) -> tuple[Array, Array]:
        """Turn a solution for encoded targets into one in the units of y."""
        scale, origin = self._targets.scale, getattr(self._targets, "origin", 0.0)
        return coefficients * scale, intercept * scale + origin

    def _finish(self, found: Fit) -> Self:
        if not self.warm_start:
            found.run = None  # it holds all steps and the matrix that they are made with
        self._adopt(found)
        if not found.solution.status.succeeded:
            warnings.warn(
                f"{found.solution.status.value}: {found.solution.reason}",
                MercerWarning,
                stacklevel=3,
            )
        if self.verbose > 1:
            print(self.summary())
        return self

    # -- what was found ------------------------------------------------------------------------

    @property
    def moments_(self) -> Moments:
        """Moments of all rows seen: of graded functions, and of targets shifted and scaled.

        Not for the full kernel.
        """
        check_is_fitted(self, "fit_")
        self._check_sums()
        if self.fit_.folds is None:
            raise AttributeError("the full kernel is fitted from the kernel matrix, not moments")
        total = self.fit_.folds[0]
        for fold in self.fit_.folds[1:]:
            total = total + fold
        return total

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

    def _staged(self, X: Any) -> Iterator[Array]:
        """Yield f(x) for every row after each step."""
        values = self.path_.values
        if len(values) < self.best_step_:
            raise AttributeError(
                "the steps of this model were not kept: they take too much memory, it was solved "
                "by products, or it was loaded from a file"
            )
        found = unwhitened(self.fit_, values[: self.best_step_], bool(self.fit_intercept))
        while steps := list(islice(found, max(1, TOGETHER // self._targets.outputs))):
            solutions = [self._in_units(*step) for step in steps]
            coefficients, intercept = (np.hstack(part) for part in zip(*solutions, strict=True))
            yield from np.hsplit(self._decide(X, (coefficients, intercept)), len(steps))

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

    # -- predicting ----------------------------------------------------------------------------

    def _decide(self, X: Any, solution: tuple[Array, Array] | None = None) -> Array:
        """Return f(x) for every row: shape (n, k), in blocks; ``solution`` replaces the model's."""
        check_is_fitted(self, "fit_")
        if isinstance(X, (str, Path, RowSource)):
            source = self._prediction_source(X)
        else:
            names = getattr(self, "feature_names_in_", None)
            rows = self._validated_rows(X, reset=False)
            source = ArraySource(rows, feature_names=None if names is None else list(names))
        basis = self.basis_
        coefficients, intercept = (self.coef_, self.intercept_) if solution is None else solution
        evaluate, coefficients, width = basis.prediction(coefficients)
        out = np.empty((source.n_rows, coefficients.shape[1]))
        block_rows = max(1, min(4096, 2**22 // max(1, width)))

        def predict_block(buffers: list[Array], block: Any) -> None:
            check_finite(block.X, start=block.start, names=source.feature_names)
            if not buffers:
                shape = (min(block_rows, source.n_rows), width)
                buffers += [np.empty(shape, dtype=basis.precision_), np.empty(shape)]
            H = evaluate(block.X, buffers[0][: block.n_rows])
            if H.dtype != np.float64:
                # Coefficients may be large and cancel: the last product is worth float64.
                wide = buffers[1][: block.n_rows]
                wide[...] = H
                H = wide
            np.matmul(H, coefficients, out=out[block.start : block.start + block.n_rows])

        lanes = 1 if source.n_rows <= block_rows else None
        Lanes(list, lanes).run(source.blocks(block_rows), predict_block)
        out += intercept
        return out

    # -- scikit-learn's contract ---------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__bandwidth`` works for a kernel given by its name, too.

        Where a parameter is refused, none is changed.
        """
        before = self.get_params(deep=False)
        for name, as_object in _NAMED.items():
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

"""The base class of regressor, classifier and ranker: parameters, fitting, adding rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer, as_basis
from mercer.columns import TableEncoder
from mercer.combine import Combination, ExactSum
from mercer.contracts import Array, TargetKind, Targets
from mercer.estimators.asked import accepts_sparse, is_nonnegative, is_pairwise
from mercer.estimators.attributes import FittedAttributes, cv_results_of
from mercer.estimators.availability import can_add_rows, can_remove_rows
from mercer.estimators.batches import first_batch, with_fixed_size, with_rows
from mercer.estimators.by_theory import resolved
from mercer.estimators.copying import cloned, without_connection
from mercer.estimators.drawn_rows import warn_of_missing_weights
from mercer.estimators.fitted_parameters import check_unchanged, keep_parameters
from mercer.estimators.inputs import Given, takes_tables, unchanged_on_error
from mercer.estimators.locking import one_at_a_time
from mercer.estimators.parameters import request_of, with_objects
from mercer.estimators.predicting import in_units, values_of
from mercer.estimators.progress import progress_bar
from mercer.estimators.remembering import remembered_with, rows_in
from mercer.estimators.resuming import fingerprint_of
from mercer.estimators.searching import searched_kernel, with_record
from mercer.estimators.sharding import OpenedRows, is_sharded, opened_rows
from mercer.estimators.unlabelled import with_unlabelled
from mercer.estimators.weighing import warn_of_frequencies, with_alpha_times
from mercer.kernels import Kernel
from mercer.metric import SearchRecord
from mercer.refit import resume
from mercer.request import LeaveOut, Request
from mercer.result import Fit
from mercer.selection import Criterion
from mercer.solvers import BaseSolver, Ridge
from mercer.storage.row_multiset import RowMultiset
from mercer.validation import warn


class KernelEstimator(FittedAttributes):
    """Base class: ``min_f (1/W) sum_i w_i (f(x_i) - y_i)^2 + alpha ||f||^2`` in an RKHS.

    An estimator has three parts: the kind of its targets (:meth:`_kind`), its parameters
    (:meth:`_request`), and the rows, which :func:`~mercer.estimators.sharding.opened_rows` opens.
    """

    # Parameters that only classifiers, or only regressors, have.
    class_weight: Any = None
    calibration: str | None = None
    alpha_per_target: bool = False

    columns_: TableEncoder | None
    _fitted_to: str | None
    _notes: dict[str, str]  # what the command line says of a fit: its target, its test score
    _remembered: RowMultiset | None  # its rows, with remember_rows
    _seed: int | None  # of a fit over shards

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "auto",
        basis: str | BasisTransformer = "auto",
        alpha: Any = "auto",
        *,
        metric: Any = "auto",
        scale: str | None = "auto",
        columns: Any = "auto",
        missing: str = "fill",
        unlabelled: str = "drop",
        alphas: Any = None,
        selection: str | Criterion = "auto",
        solver: str | BaseSolver = "auto",
        fit_intercept: bool = True,
        weight_type: str = "frequency",
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
        remember_rows: bool = False,
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
        self.fit_intercept = fit_intercept
        self.weight_type = weight_type
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
        self.remember_rows = remember_rows

    # -- defined by subclasses -----------------------------------------------------------------

    def _kind(self) -> TargetKind:
        """Return the kind of the targets."""
        raise TypeError(f"{type(self).__name__} does not define _kind()")

    def _intercept(self) -> bool:
        """Return whether to fit an intercept."""
        return bool(self.fit_intercept)

    def _leave_out(self) -> LeaveOut | None:
        """Return how rows are left out after the fit; None if they are not."""
        return None

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
            Rows of numbers, or a table with text, dates and gaps (see ``columns``). A path (.npy,
            .npz, .csv, .tsv, .csv.gz, .parquet or a folder of Parquet files) or a source from
            :func:`mercer.open_rows` is read in blocks and never loaded as a whole. The files of a
            list, and the partitions of a Dask array or data frame, are shards.
        y : array of shape (n,) or (n, k), or the name of a column of a file or data frame
            Targets. Rows where y is missing (NaN or None) are left out, or, with
            ``unlabelled="use"``, count in sums over x only, not in sums with y.
        sample_weight : array of shape (n,), or the name of a column of a file
            Nonnegative weights; weight 2 is equivalent to repeating the row (``weight_type``).
        shard_labels : array of shape (n,) or None
            The shard of each row of an array, instead of ``shards``.
        X_unlabelled : array or data frame, or None
            Additional rows without labels, if X is an array or a data frame.

        Returns
        -------
        self
        """
        given = Given(X, y, sample_weight, shard_labels=shard_labels)
        if X_unlabelled is not None:
            given = Given(
                *with_unlabelled(X, y, sample_weight, X_unlabelled),
                shard_labels=shard_labels,
                expects_unlabelled=True,
            )
        return self._fit(given, self._kind())

    @one_at_a_time
    def _fit(self, given: Given, kind: TargetKind, *, needs_sums: bool = False) -> Self:
        """Fit to rows, in one place or over shards."""
        asked = self._request(kind)
        warn_of_missing_weights(given.X, given.weight)
        warn_of_frequencies(self, given, asked)
        combination: Combination = asked.combination
        if needs_sums:  # later rows add to these, however a fit would combine its shards
            combination, given = ExactSum(), first_batch(self, given)
        sharded = is_sharded(self, given)
        if sharded:
            combination.check_request(asked)
        elif combination.depends_on_shards:
            raise ValueError(
                f"combine={self.combine!r} needs shards, but there are none: set shards="
            )
        with (
            unchanged_on_error(self),
            progress_bar(self.verbose) as progress,
            opened_rows(self, kind, given, progress=progress) as opened,
        ):
            fingerprint = None
            if self.warm_start and not combination.depends_on_shards:
                fingerprint = fingerprint_of(self, opened.rows, opened.present)
            previous: Fit | None = None
            if fingerprint is not None and fingerprint == getattr(self, "_fitted_to", None):
                previous = self.fit_
            targets = opened.targets if previous is None else self._targets
            self._take_targets(targets)
            full = asked.asked_basis() is not None and as_basis(self.basis).dual
            # There is no dual system for queries, unlabelled rows or shards.
            sums = (needs_sums or targets.pairs is not None or opened.unlabelled) or (
                sharded and not full
            )
            request = replace(
                with_alpha_times(self._request(targets), opened.alpha_ratio),
                seeds=opened.seeds,
                memory_limit=opened.memory_limit,
                needs_sums=sums,
                progress=progress,
                previous=previous,
            )
            if sharded and request.solver is None:
                request = replace(request, solver=Ridge())
            record: SearchRecord | None = None
            if previous is None:
                kernel, record = searched_kernel(self, opened.rows, request)
                request = resolved(replace(request, kernel=kernel), opened.rows)
            solver = request.solver
            if previous is not None and solver is not None and solver.regularized_by_steps:
                return self._finish(resume(previous, request), opened, renumber=False)
            request = with_fixed_size(request) if needs_sums else request
            request = replace(request, leave_out=None if needs_sums else self._leave_out())
            found = with_record(combination.fit(opened.rows, request), record, previous)
            self._finish(found, opened, renumber=previous is None)
            self._fitted_to, self._seed = fingerprint, getattr(opened.seeds, "seed", None)
            self._remembered = rows_in(opened, targets) if self.remember_rows else None
            keep_parameters(self)
            return self

    def _request(self, targets: Any) -> Request:
        """Validate all parameters that need no data, and return them as a Request."""
        return replace(request_of(self, targets), intercept=self._intercept())

    def _take_targets(self, targets: Targets) -> None:
        """Set the attributes derived from y."""
        self._targets = targets

    def _adopt(self, found: Fit) -> None:
        """Set the fitted attributes."""
        factor = getattr(self._targets, "alpha_factor", 1.0)
        self.fit_ = found
        self._notes = {}
        self.basis_ = found.basis
        self.kernel_ = found.basis.kernel_
        self.alpha_ = factor * found.alpha
        self.coef_, self.intercept_ = in_units(self._targets, found.coefficients, found.intercept)
        self.n_iter_ = max(1, found.solution.steps)
        self.cv_results_ = cv_results_of(found, factor, self.selection)

    def _finish(self, found: Fit, opened: OpenedRows, renumber: bool = True) -> Self:
        """Set the fitted attributes, and warn about problems."""
        if not self.warm_start:
            found.run = None  # it holds all steps and the matrix
        if renumber and opened.present is not None:
            indices = getattr(found.basis, "indices_", None)
            if indices is not None:  # predictions with a precomputed kernel have one column per row
                found.basis.indices_ = opened.present[indices]
        self._adopt(found)
        if not found.solution.status.succeeded:
            warn(f"{found.solution.status.value}: {found.solution.reason}")
        if self.verbose > 1:
            print(self.summary())
        return self

    # -- adding and removing rows --------------------------------------------------------------

    @available_if(can_add_rows)
    @one_at_a_time
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the model. Moments add up, so this equals one fit to all rows.

        The first call chooses the basis from its rows (use a large first batch, or pass landmarks);
        later calls keep it. Rows can also be added to a model fitted by :meth:`fit`. Threads that
        add rows to one model wait for each other.
        """
        given = Given(X, y, sample_weight)
        if not hasattr(self, "fit_"):
            return self._fit(given, self._kind(), needs_sums=True)
        return self._with_rows(given, sign=1)

    @available_if(can_remove_rows)
    @one_at_a_time
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove rows from the model by subtracting their moments.

        The rows must have been fitted before, with the same targets and weights. Rows that cannot
        have been are refused, and with ``remember_rows=True`` all that were not; the model then
        stays as it is. The basis does not change: landmarks chosen from these rows remain.
        """
        check_is_fitted(self, "fit_")
        return self._with_rows(Given(X, y, sample_weight), sign=-1)

    def _with_rows(self, given: Given, sign: int) -> Self:
        """Add or subtract the moments of rows, and solve again."""
        check_unchanged(self)
        kind, request = self._kind(), self._request(self._targets)
        with (
            unchanged_on_error(self),
            progress_bar(self.verbose) as progress,
            opened_rows(self, kind, given, targets=self._targets, progress=progress) as opened,
        ):
            request = replace(request, seeds=opened.seeds, progress=progress)
            remembered = remembered_with(self, opened, sign)
            found = with_rows(self.fit_, opened, request, sign)
            self._fitted_to, self._remembered = None, remembered
            return self._finish(found, opened, renumber=False)

    def _decide(self, X: Any) -> Array:
        """Return f(x) for every row, of shape (n, k), computed in blocks."""
        return values_of(self, X)

    # -- scikit-learn's contract ---------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__bandwidth`` also works for a kernel given by name.

        If a parameter is invalid, none is changed.
        """
        before = self.get_params(deep=False)
        params = with_objects(before, params)
        try:
            super().set_params(**params)
        except (AttributeError, TypeError, ValueError):
            for name, value in before.items():
                setattr(self, name, value)
            raise
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.kernel, (str, Kernel)) or callable(self.kernel):
            tags.input_tags.sparse = accepts_sparse(self.kernel)
            tags.input_tags.pairwise = is_pairwise(self.kernel)
            tags.input_tags.positive_only = is_nonnegative(self.kernel)
            tables = takes_tables(self)
            tags.input_tags.string = tags.input_tags.categorical = tables
            tags.input_tags.allow_nan = tables and self.missing == "fill"
        return tags

    def __sklearn_clone__(self) -> Any:
        """Copy everything except the engine, which is shared."""
        return cloned(self)

    def __getstate__(self) -> dict[str, Any]:
        return without_connection(dict(super().__getstate__()))

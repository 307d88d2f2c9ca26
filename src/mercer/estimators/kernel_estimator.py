"""The base class of regressor, classifier and ranker: parameters, fitting, adding rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.columns import TableEncoder
from mercer.contracts import Array, TargetKind, Targets
from mercer.estimators.adding_rows import can_add_rows, can_remove_rows, with_given
from mercer.estimators.fitted import Fitted, FittedAttributes
from mercer.estimators.fitting import fitted
from mercer.estimators.parameters import PARAMETERS, Values, problem_of, with_objects
from mercer.estimators.predicting import values_of
from mercer.kernels import Kernel
from mercer.leaving_out import LeaveOut
from mercer.opening.fit_input import FitInput, with_unlabelled
from mercer.opening.inputs import unchanged_on_error
from mercer.opening.opened_rows import stored_engine
from mercer.request import Problem
from mercer.result import Fit
from mercer.validation import warn

Self_ = TypeVar("Self_")
Found = TypeVar("Found")
Args = ParamSpec("Args")

# Locks are not part of an estimator's state: copies and pickles have none until they need one.
_LOCKS: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_GUARD = threading.Lock()


def lock_of(estimator: object) -> threading.RLock:
    """Return the lock of an estimator, made when first asked for.

    >>> from sklearn.base import BaseEstimator, clone
    >>> model = BaseEstimator()
    >>> lock_of(model) is lock_of(model), lock_of(model) is lock_of(clone(model))
    (True, False)
    """
    with _GUARD:
        return _LOCKS.setdefault(estimator, threading.RLock())


def one_at_a_time(
    method: Callable[Concatenate[Self_, Args], Found],
) -> Callable[Concatenate[Self_, Args], Found]:
    """Let other threads wait while a method changes an estimator."""

    @wraps(method)
    def locked(self: Self_, /, *args: Args.args, **kwargs: Args.kwargs) -> Found:
        with lock_of(self):
            return method(self, *args, **kwargs)

    return locked


class KernelEstimator(FittedAttributes):
    """Base class: ``min_f (1/W) sum_i w_i (f(x_i) - y_i)^2 + alpha ||f||^2`` in an RKHS.

    A subclass defines the kind of its targets (:meth:`_kind`), and stores its parameters, of which
    :mod:`mercer.estimators.parameters` has a table. :mod:`mercer.estimators.fitting` reads how a
    fit goes on from there.
    """

    kernel: str | Kernel | Callable[..., Any]
    columns: str | Mapping[Any, str] | TableEncoder | None
    missing: str
    verbose: int
    engine: object

    # -- defined by subclasses -----------------------------------------------------------------

    def _kind(self) -> TargetKind:
        """Return the kind of the targets."""
        raise TypeError(f"{type(self).__name__} does not define _kind()")

    def _problem(self, values: Values, ranks: bool = False) -> Problem:
        """Return what is solved; raise an error for parameters that do not go together."""
        return problem_of(self, values, ranks)

    def _calibrated(self, found: Fit, targets: Targets) -> Any:
        """Return the map of scores of a fit, by its left-out rows; None if there is none."""
        return None

    def _leave_out(self) -> LeaveOut | None:
        """Return how rows are left out after the fit; None if they are not."""
        return None

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        shard_labels: object = None,
        X_unlabelled: object = None,
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
        given = FitInput(X, y, sample_weight, shard_labels=shard_labels)
        if X_unlabelled is not None:
            given = FitInput(
                *with_unlabelled(X, y, sample_weight, X_unlabelled),
                shard_labels=shard_labels,
                expects_unlabelled=True,
            )
        return self._fit(given, self._kind())

    @one_at_a_time
    def _fit(self, given: FitInput, kind: TargetKind, *, needs_sums: bool = False) -> Self:
        """Fit to rows, in one place or over shards."""
        return self._finish(fitted(self, given, kind, needs_sums))

    def _finish(self, known: Fitted) -> Self:
        """Set the fitted attributes, and warn about problems."""
        solution = known.fit.solution
        with unchanged_on_error(self):  # warnings may be errors
            self._take(known)
            if not solution.status.succeeded:
                warn(f"{solution.status.value}: {solution.reason}")
            if self.verbose > 1:
                print(self.summary())
        return self

    # -- adding and removing rows --------------------------------------------------------------

    @available_if(can_add_rows)
    @one_at_a_time
    def partial_fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Add rows to the model. Moments add up, so this equals one fit to all rows.

        The first call chooses the basis from its rows (use a large first batch, or pass landmarks);
        later calls keep it. Rows can also be added to a model fitted by :meth:`fit`. Threads that
        add rows to one model wait for each other.
        """
        given = FitInput(X, y, sample_weight)
        if not hasattr(self, "fit_"):
            return self._fit(given, self._kind(), needs_sums=True)
        return self._finish(with_given(self, given, self._kind(), sign=1))

    @available_if(can_remove_rows)
    @one_at_a_time
    def forget(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Remove rows from the model by subtracting their moments.

        The rows must have been fitted before, with the same targets and weights. Rows that cannot
        have been are refused, and with ``remember_rows=True`` all that were not; the model then
        stays as it is. The basis does not change: landmarks chosen from these rows remain.
        """
        check_is_fitted(self, "fit_")
        given = FitInput(X, y, sample_weight)
        return self._finish(with_given(self, given, self._kind(), sign=-1))

    def _decide(self, X: object) -> Array:
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
            kernel = PARAMETERS["kernel"].read(self.kernel, "kernel")
            pairwise = kernel is not None and kernel.pairwise
            tags.input_tags.sparse = kernel is None or kernel.accepts_sparse
            tags.input_tags.pairwise = pairwise
            tags.input_tags.positive_only = kernel is not None and kernel.nonnegative
            tables = self.columns is not None and not pairwise
            tags.input_tags.string = tags.input_tags.categorical = tables
            tags.input_tags.allow_nan = tables and self.missing == "fill"
        return tags

    def __sklearn_clone__(self) -> Any:
        """Copy everything except the engine: a connection, which is shared."""
        if self.engine is None:
            return BaseEstimator.__sklearn_clone__(self)
        plain = self.get_params(deep=False)
        bare = type(self)(**{**plain, "engine": None})
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(bare, name, getattr(self, name))
        found = BaseEstimator.__sklearn_clone__(bare)
        found.engine = self.engine
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with an engine as its address."""
        state: dict[str, Any] = dict(super().__getstate__())
        return {**state, "engine": stored_engine(state["engine"])} if "engine" in state else state

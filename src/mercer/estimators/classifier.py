"""Kernel least-squares classification."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer
from mercer.columns import TableEncoder
from mercer.combine import Combination
from mercer.contracts import Array, RandomState, Targets
from mercer.estimators.adding_rows import can_add_rows, with_given
from mercer.estimators.calibrating import Calibration, calibration_by, calibration_of
from mercer.estimators.fitted import Fitted
from mercer.estimators.kernel_estimator import KernelEstimator, one_at_a_time
from mercer.estimators.planning import plan
from mercer.estimators.predicting import by_partition, staged_values
from mercer.explain.explaining import explain, explained_class
from mercer.inference.probability_map import by_class
from mercer.kernels import Kernel
from mercer.leaving_out import LeaveOut
from mercer.opening.fit_input import FitInput
from mercer.result import Fit
from mercer.search import MetricSearch
from mercer.selection import Criterion
from mercer.solvers import BaseSolver
from mercer.targets.class_targets import Classes, ClassTargets


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """Kernel least-squares classification.

    .. math:: \\min_{f_1 .. f_k} \\; \\frac1W \\sum_i \\sum_c w_i (f_c(x_i) - y_{ic})^2
              + \\alpha \\sum_c \\|f_c\\|_H^2, \\qquad y_{ic} = \\pm 1

    The most probable class is predicted; two classes need only one function. All classes
    share one factorization, so many classes cost little more than two. Probabilities are scores
    that are mapped so as to have the least log loss on rows left out of the fit: no rows have to be
    held out for them.

    Parameters
    ----------
    kernel, basis, alpha, metric, scale, columns, missing, unlabelled, alphas, selection, solver,
    fit_intercept, weight_type, dtype, memory_limit, random_state, warm_start, verbose, shards,
    shuffle, combine, rounds, engine, checkpoint, remember_rows
        As in :class:`KernelRegressor`.
    class_weight : None, "balanced" or dict
        Weights of classes, which multiply ``sample_weight``, as in scikit-learn: by class, with 1
        for those a dict does not name, or in inverse proportion to the weight of each class.
        Probabilities are then those of the weighted rows (:doc:`/howto/probabilities`).
    calibration : "auto", "power", "temperature", "sigmoid", "platt" or None
        The map of scores to probabilities (:mod:`mercer.inference.calibration`). "power" has a
        slope of the score and one of the logarithm of ``(1 + f) / 2``, "temperature" the first of
        them, "sigmoid" (or "platt") the first and an offset for each class; "auto" is "power", with
        offsets if they clearly help. None takes scores as least-squares estimates of probabilities.

    Attributes
    ----------
    classes_ : array of shape (k,)
        Class labels, sorted.
    calibration_ : Calibration or None
        The map, and how good its probabilities are on rows that were left out; None if it is off,
        if the fit has no such rows, and after rows were added or forgotten
        (:meth:`calibrate` fits a new one).
    alpha_, cv_results_, effective_dimension_, basis_, kernel_, dual_coef_, coef_, intercept_
        As in :class:`KernelRegressor`; ``coef_`` has two dimensions.
    moments_, fit_
        As in :class:`KernelRegressor`.
    metric_, feature_importances_, search_results_
        As in :class:`KernelRegressor`; errors are those of the targets of +1 and -1.
    communication_
        For a fit over shards, as in :class:`KernelRegressor`.
    path_, best_step_, validation_curve_
        For iterative solvers, as in :class:`KernelRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier().fit(X, y).score(X, y) > 0.95
    True
    """

    _targets: ClassTargets
    calibration_: Calibration | None

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
        fit_intercept: bool = True,
        weight_type: str = "frequency",
        class_weight: str | Mapping[Any, float] | None = None,
        calibration: str | None = "auto",
        dtype: str = "auto",
        memory_limit: int | float | str = "auto",
        random_state: RandomState = None,
        warm_start: bool = False,
        verbose: int = 0,
        shards: int | None = None,
        shuffle: bool = True,
        combine: str | Combination = "sum",
        rounds: int = 8,
        engine: object = None,
        checkpoint: str | os.PathLike[str] | None = None,
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
        self.class_weight = class_weight
        self.calibration = calibration

    def _kind(self) -> Classes:
        return Classes()

    def _leave_out(self) -> LeaveOut | None:
        return None if self.calibration is None else LeaveOut.for_scores()

    def _calibrated(self, found: Fit, targets: Targets) -> Calibration | None:
        return calibration_of(found, self.calibration)

    def _take(self, known: Fitted) -> None:
        super()._take(known)
        self.classes_, self.calibration_ = self._targets.classes, known.calibration

    @available_if(can_add_rows)
    @one_at_a_time
    def partial_fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Add rows to the model. Moments add up, so this equals one fit to all rows.

        ``classes`` lists all classes on the first call, in case its rows do not contain all of
        them.
        """
        known = None if classes is None else ClassTargets(np.unique(classes))
        given = FitInput(X, y, sample_weight)
        if not hasattr(self, "fit_"):
            return self._fit(given, Classes(known), needs_sums=True)
        if known is not None and not np.array_equal(known.classes, self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()}, got "
                f"{known.classes.tolist()}"
            )
        return self._finish(with_given(self, given, self._kind(), sign=1))

    plan = plan
    explain, _explained = explain, explained_class

    def _probabilities(self) -> str:
        known = self.calibration_
        return known.describe() if known else "least squares, not calibrated: see calibrate(X, y)"

    @by_partition
    def decision_function(self, X: object) -> Array:
        """Return f(x), of shape (n,) for two classes and (n, k) for more."""
        return self._one_column(self._decide(X))

    def staged_decision_function(self, X: object) -> Iterator[Array]:
        """Yield f(x) after each step of an iterative solver, ending with the model itself."""
        for values in staged_values(self, X):
            yield self._one_column(values)

    @by_partition
    def predict(self, X: object) -> Array:
        """Return the most probable class: of the largest f_c(x), unless the map has offsets."""
        return self._largest(self._decide(X))

    def staged_predict(self, X: object) -> Iterator[Array]:
        """Yield the predicted classes after each step, ending with the model itself."""
        for values in staged_values(self, X):
            yield self._largest(values)

    def _one_column(self, values: Array) -> Array:
        return values[:, 0] if len(self.classes_) == 2 else values

    def _largest(self, values: Array) -> Array:
        known = self.calibration_
        scores = by_class(values) if known is None else known.map.logits(values)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    @by_partition
    def predict_proba(self, X: object) -> Array:
        """Return the probability of each class, of shape (n, k).

        They are those of the map in ``calibration_``, which was fitted to scores of rows that were
        left out (:mod:`mercer.inference.calibration`). Without it they are least-squares estimates:
        the best f_c for the square loss is ``2 P(c | x) - 1``, so ``(1 + f_c(x)) / 2``, projected
        onto the probability simplex, is consistent, but not calibrated for small samples.
        """
        values = self._decide(X)
        if self.calibration_ is not None:
            return self.calibration_.map.probabilities(values)
        return project_to_simplex((1.0 + by_class(values)) / 2.0)

    @by_partition
    def predict_log_proba(self, X: object) -> Array:
        """Return the logarithms of the probabilities, of shape (n, k)."""
        return self._log_probabilities(self._decide(X))

    def _log_probabilities(self, values: Array) -> Array:
        if self.calibration_ is not None:
            return self.calibration_.map.log_probabilities(values)
        with np.errstate(divide="ignore"):  # projections have zeros
            return np.asarray(np.log(project_to_simplex((1.0 + by_class(values)) / 2.0)))

    @one_at_a_time
    def calibrate(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Fit the map of probabilities to rows that the model has not seen; f does not change.

        For a model without a map of its own (after :meth:`partial_fit` or :meth:`forget`, from
        rounds, or with ``calibration=None``), and for rows of another population:
        probabilities are those among these rows. ``calibration`` names the map; None is "auto".

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. Weights of classes do not count.

        Returns
        -------
        self
        """
        check_is_fitted(self, "fit_")
        given = FitInput(X, y, sample_weight)
        self.calibration_ = calibration_by(self, given)
        return self


def project_to_simplex(values: Array) -> Array:
    """Return the nearest probability vector to each row, which preserves the order of entries.

    >>> project_to_simplex(np.array([[0.2, 0.3, 0.5], [1.5, 0.1, -0.6]])).round(3)
    array([[0.2, 0.3, 0.5],
           [1. , 0. , 0. ]])
    """
    values = values - values.max(axis=1, keepdims=True)  # changes only the rounding
    falling = -np.sort(-values, axis=1)
    excess = np.cumsum(falling, axis=1) - 1.0
    counts = np.arange(1, values.shape[1] + 1)
    last = np.count_nonzero(falling - excess / counts > 0, axis=1) - 1
    level = excess[np.arange(len(values)), last] / (last + 1)
    return np.asarray(np.maximum(values - level[:, None], 0.0))

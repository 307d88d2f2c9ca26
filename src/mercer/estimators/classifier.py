"""Kernel least-squares classification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from mercer.contracts import Array, Targets
from mercer.estimators.batches import can_add_rows
from mercer.estimators.explaining import explain, explained_class
from mercer.estimators.inputs import Given
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.locking import one_at_a_time
from mercer.estimators.planning import plan
from mercer.estimators.predicting import staged_values
from mercer.estimators.target_kinds import Classes
from mercer.estimators.targets import ClassTargets


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """Kernel least-squares classification.

    .. math:: \\min_{f_1 .. f_k} \\; \\frac1W \\sum_i \\sum_c w_i (f_c(x_i) - y_{ic})^2
              + \\alpha \\sum_c \\|f_c\\|_H^2, \\qquad y_{ic} = \\pm 1

    The class with the largest f_c is predicted; two classes need only one function. All classes
    share one factorization, so many classes cost little more than two. The parameters are those of
    :class:`KernelRegressor`.

    Attributes
    ----------
    classes_ : array of shape (k,)
        Class labels, sorted.
    alpha_, cv_results_, effective_dimension_, basis_, kernel_, coef_, intercept_, moments_, fit_
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

    def _kind(self) -> Classes:
        return Classes()

    def _take_targets(self, targets: Targets) -> None:
        super()._take_targets(targets)
        self.classes_ = self._targets.classes

    @available_if(can_add_rows)
    @one_at_a_time
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        """Add rows to the model. Moments add up, so this equals one fit to all rows.

        ``classes`` lists all classes on the first call, in case its rows do not contain all of
        them.
        """
        known = None if classes is None else ClassTargets(np.unique(classes))
        given = Given(X, y, sample_weight)
        if not hasattr(self, "fit_"):
            return self._fit(given, Classes(known), needs_sums=True)
        if known is not None and not np.array_equal(known.classes, self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()}, got "
                f"{known.classes.tolist()}"
            )
        return self._with_rows(given, sign=1)

    plan = plan
    explain, _explained = explain, explained_class

    def decision_function(self, X: Any) -> Array:
        """Return f(x), of shape (n,) for two classes and (n, k) for more."""
        return self._one_column(self._decide(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield f(x) after each step of an iterative solver, ending with the model itself."""
        for values in staged_values(self, X):
            yield self._one_column(values)

    def predict(self, X: Any) -> Array:
        """Return the class with the largest f_c(x)."""
        return self._largest(self._decide(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predicted classes after each step, ending with the model itself."""
        for values in staged_values(self, X):
            yield self._largest(values)

    def _one_column(self, values: Array) -> Array:
        return values[:, 0] if len(self.classes_) == 2 else values

    def _largest(self, values: Array) -> Array:
        codes = (values[:, 0] > 0).astype(int) if len(self.classes_) == 2 else values.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Array:
        """Return least-squares estimates of the class probabilities.

        The best f_c for the square loss is ``2 P(c | x) - 1``, so ``(1 + f_c(x)) / 2`` estimates
        P(c | x). The vector is projected onto the probability simplex (nonnegative, sum 1). These
        estimates are consistent but not calibrated for small samples: if probabilities matter, wrap
        the model in scikit-learn's ``CalibratedClassifierCV``.
        """
        values = self._decide(X)
        if len(self.classes_) == 2:
            values = np.hstack([-values, values])
        return project_to_simplex((1.0 + values) / 2.0)


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

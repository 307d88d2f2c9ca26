"""Kernel least squares for numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.contracts import Array
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.predicting import staged_values
from mercer.estimators.target_kinds import Numbers
from mercer.estimators.targets import RegressionTargets


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Kernel ridge regression, exact or approximate.

    .. math:: \\min_f \\; \\frac1W \\sum_i w_i (f(x_i) - y_i)^2 + \\alpha \\|f\\|_H^2

    over functions in the span of a basis, plus a constant without penalty. With all defaults the
    bandwidth is the median distance between rows, the basis is the full kernel for up to 2000 rows
    and 2000 landmarks above, and alpha is chosen by generalized cross-validation.

    Parameters
    ----------
    kernel : str or Kernel
        "gaussian", "laplacian_l1", "laplacian_l2", "matern", "polynomial", "linear", "arc_cosine",
        "periodic_spline", "sobolev", "precomputed", or an object of :mod:`mercer.kernels`.
    basis : str or basis object
        "auto", "full", "landmarks", "random_features", or an object of :mod:`mercer.bases`.
    alpha : float or "auto"
        Penalty against the *mean* loss; scikit-learn's ``KernelRidge(alpha=a)`` is ``alpha=a/n``
        here. "auto" chooses it from ``alphas`` by ``selection``; where the number of steps
        regularizes, it is 0.
    alphas : array or None
        The path for ``alpha="auto"``; None takes 20 values from the spectrum of the data.
    selection : "gcv", "kfold", "loo" or criterion object
        How alpha is chosen: generalized cross-validation or K-fold from the one pass of the fit,
        or leave-one-out from a second.
    solver : str or solver object
        "auto" takes "ridge", a direct solve, or "pcg", the same problem by products with kernel
        blocks, where that is clearly faster. "cutoff" drops eigenvalues below alpha; "kcgm" and
        "gradient_descent" are regularized by their number of steps, which they choose by folds.
        Objects of :mod:`mercer.solvers` have further parameters, among them the rule by which
        steps end.
    fit_intercept : bool
        Whether to fit a constant without penalty.
    dtype : "auto", "float32" or "float64"
        Precision of blocks; sums are in float64 always. "auto" takes float32 where it saves time,
        the kernel is bounded, and the landmarks are not too much alike for it.
    memory_limit : int, str or "auto"
        Bytes, or a size such as "2GB", that the fit may use above the data; "auto" is half of the
        memory that is free, or on a cluster what a thread of a worker has left.
    random_state : int, Generator, RandomState or None
        Seed for landmarks, features and folds.
    warm_start : bool
        Whether a fit to the same rows goes on where the last one stopped, where nothing but the
        rule or the number of steps of an iterative solver was changed.
    verbose : int
        1 shows progress, 2 also prints the summary.
    shards : int or None
        Into how many shards rows are cut; each is fitted where it is. None means no shards, but for
        a list of files, a Dask collection (their parts are the shards) and an ``engine`` (a folder
        of Parquet files is cut at its row groups).
    shuffle : bool
        Whether rows of an array are dealt to shards at random, by ``random_state``; otherwise
        shards are stretches of consecutive rows, as they always are for files.
    combine : "sum", "average", "newton", "conjugate" or combination object
        What is made of the shards: the exact solution of all rows from the sum of their moments,
        the average of their models, or rounds of communication towards the exact solution. See
        :mod:`mercer.combine`.
    rounds : int
        How many rounds "newton" and "conjugate" make.
    engine : None, dask.distributed.Client, cluster or address
        Where shards are: threads of this process, or the workers of a Dask cluster.
    checkpoint : path or None
        A folder in which a fit over shards writes down what is finished. A fit that is started
        again with the same folder, parameters and rows goes on from there.

    Attributes
    ----------
    alpha_ : float
        The alpha that was used.
    cv_results_ : dict or None
        "alpha" and "mean_squared_error" along the path (and by split for K-fold), if it was chosen.
    effective_dimension_ : float
        ``trace(A (A + alpha)^-1)``.
    basis_, kernel_ : objects
        The fitted basis, and the kernel with its bandwidth in numbers.
    coef_ : array of shape (M, k)
        Coefficients of the basis functions.
    intercept_ : array of shape (k,)
        The constant.
    path_ : SolverPath
        What an iterative solver did, step by step: residuals, training and validation errors.
    best_step_ : int
        The number of steps that the model has taken.
    validation_curve_ : array
        Mean squared error on other rows after each step, where the rule looks at some.
    moments_ : Moments
        Sums over all rows seen, of functions that :mod:`mercer.bases.orthogonalization` defines.
    communication_ : Communication
        What shards have sent and been sent, of a fit over shards.
    fit_ : Fit
        Everything the fit found: plan, solution with its status, seconds by stage.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelRegressor().fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.01)
    True
    """

    _targets: RegressionTargets

    def _kind(self) -> Numbers:
        return Numbers(type(self).__name__, bool(self.fit_intercept))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the prediction after each step of an iterative solver, the model's own last."""
        for values in staged_values(self, X):
            yield values if self._targets.columns else values[:, 0]

    def predict(self, X: Any) -> Array:
        """Return f(x) for every row, of shape (n,) or (n, k) as y had.

        X may be a path or a source, like in :meth:`fit`; it is read in blocks.
        """
        values = self._decide(X)
        return values if self._targets.columns else values[:, 0]

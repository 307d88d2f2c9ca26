"""Kernel ridge regression."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer
from mercer.columns import TableEncoder
from mercer.combine import Combination
from mercer.contracts import Array, RandomState
from mercer.estimators.deviations import deviations_of, leverages_of, noise_of
from mercer.estimators.interval_predictions import IntervalPredictions
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.planning import plan
from mercer.estimators.predicting import by_partition, staged_values, values_of
from mercer.explain.explaining import explain, explained_number
from mercer.kernels import Kernel
from mercer.leaving_out import LeaveOut
from mercer.opening.rows_to_predict import rows_to_predict
from mercer.search import MetricSearch
from mercer.selection import Criterion
from mercer.solvers import BaseSolver
from mercer.targets.number_targets import Numbers, RegressionTargets
from mercer.validation import check_flag


class KernelRegressor(IntervalPredictions, MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Kernel ridge regression, exact or approximate.

    .. math:: \\min_f \\; \\frac1W \\sum_i w_i (f(x_i) - y_i)^2 + \\alpha \\|f\\|_H^2

    over functions in the span of a basis, plus an unpenalized intercept. By default, columns are
    scaled and a metric is learned from the gradients of small fits, along with the kernel and its
    bandwidth (:doc:`/metric`); the basis is the full kernel for up to 2000 rows and up to 4000
    landmarks for more (2000 where moments are needed, or rows are very many), and alpha is chosen
    by leave-one-out. Nothing that is set is searched.

    Parameters
    ----------
    kernel : "auto", str, Kernel or callable
        "auto" chooses among Gaussian, Matern (3/2 and 5/2) and Laplacian (L1 and L2) kernels and
        their bandwidths by held-out rows. A name ("gaussian", "laplacian_l1", "laplacian_l2",
        "matern", "polynomial", "linear", "cosine", "arc_cosine", "chi_squared", "periodic_spline",
        "sobolev", "precomputed", and scikit-learn's names of these), an object of
        :mod:`mercer.kernels` or a function of two blocks of rows (see :class:`FunctionKernel`)
        keeps that kernel; its bandwidth is "auto" (part of the search), "median" (the median
        distance) or numbers in the units of X.
    basis : str or basis object
        "auto", "full", "landmarks", "random_features", or an object of :mod:`mercer.bases`. "auto"
        is the full kernel for up to 2,000 rows, then ``Landmarks("auto")``, whose number grows
        until more would hardly help.
    alpha : float, array of shape (k,) or "auto"
        Penalty relative to the *mean* loss; scikit-learn's ``KernelRidge(alpha=a)`` is
        ``alpha=a/n`` here. "auto" chooses it from ``alphas`` by ``selection``; for solvers
        regularized by their number of steps, it is 0. An array has one for each column of y.
    metric : "auto", "diagonal", "full", None, array or MetricSearch
        The metric to learn: a weight per column ("diagonal"), also directions that are no columns
        ("full"), none, or whichever held-out rows prefer ("auto"). An array of shape (d, r), or
        (d,) for weights, is P itself. :class:`MetricSearch` says what the search may cost. "auto"
        learns none for a kernel with a numeric bandwidth.
    scale : "auto", "standard", "quantile" or None
        Whether columns are centered and divided by their standard deviations ("standard"), mapped
        to normal quantiles ("quantile"), whichever held-out rows prefer ("auto"), or left as they
        are. "auto" leaves them if the kernel has a numeric bandwidth, which is in the units of X,
        if the metric is an array, and for kernels of columns as they are: cosine, chi-squared,
        periodic spline, Sobolev, precomputed, or a function. One numeric bandwidth for a table
        with categories or dates is in standard deviations of the encoded columns ("standard").
    columns : "auto", None, dict or TableEncoder
        What the columns of a data frame, a file or an array of objects are: "auto" looks at them,
        a dict names the kinds of some (``{"zip": "category", "id": "drop"}``), and a
        :class:`TableEncoder` has further parameters. Categories, dates and gaps become numbers;
        columns of numbers stay as they are. None refuses anything but numbers.
    missing : {"fill", "error"}
        Whether missing values in X are filled, with an indicator where they are many, or refused.
    unlabelled : {"drop", "use", "require"}
        What happens to rows where y is missing: left out, or used in sums over x. "require" uses
        them and refuses rows that all have a label.
    alphas : array or None
        The candidates for ``alpha="auto"``; None means 20 values based on the spectrum.
    alpha_per_target : bool
        Whether ``alpha="auto"`` is chosen for each column of y, as by RidgeCV of scikit-learn.
    selection : "auto", "gcv", "kfold", "loo" or criterion object
        How alpha is chosen. "auto" leaves out a sample of rows, one at a time and with the
        landmarks at them (:class:`~mercer.selection.AutoSelection`); "gcv" is generalized
        cross-validation and "kfold" K-fold, from the same pass as the fit; "loo" leaves out each
        row in a second pass over all of them.
    solver : str or solver object
        "auto" uses "ridge", a direct solve, or "pcg", which solves the same problem by products
        with kernel blocks, if that is clearly faster. "cutoff" drops eigenvalues below alpha;
        "kcgm" and "gradient_descent" are regularized by their number of steps, chosen by K-fold.
        Objects of :mod:`mercer.solvers` have further parameters, such as the stopping rule.
    fit_intercept : bool
        Whether to fit an unpenalized intercept.
    intervals : "cv+", "jackknife+" or None
        How :meth:`predict_interval` and :meth:`predict_quantiles` know the errors of new rows: from
        models without each of some folds ("cv+"), or without each row ("jackknife+", for up to 4000
        rows), both by subtraction. None skips this part of the fit.
    weight_type : "frequency", "relative" or "importance"
        What ``sample_weight`` means. "frequency": weight 2 is the row twice. "relative": only the
        ratios of weights matter, and the number of rows is that of the rows. "importance": rows
        were drawn with probabilities q from a pool of N and weigh ``1 / (N q)``; the weighted sum
        of squares is divided by the number of rows, not by the sum of the weights W, and ``alpha_``
        is alpha n/W. The choice matters where alpha (by GCV) or the steps (by the discrepancy rule)
        depend on the number of rows, and "importance" for alpha.
    dtype : "auto", "float32" or "float64"
        Precision of blocks; sums are always in float64. "auto" uses float32 if it saves time, the
        kernel is bounded, and the landmarks are not too similar.
    memory_limit : int, str or "auto"
        Bytes, or a size such as "2GB", that the fit may use in addition to the data; "auto" is half
        of the available memory, or on a cluster the memory available to a worker thread.
    random_state : int, Generator, RandomState or None
        Seed for landmarks, features and folds.
    warm_start : bool
        Whether a fit to the same rows resumes the previous one, if only the stopping rule or the
        number of steps of an iterative solver changed.
    verbose : int
        1 shows progress, 2 also prints the summary.
    shards : int or None
        Number of shards. None means no shards, except for a list of files or a Dask collection
        (whose parts are the shards) and with an ``engine`` (a folder of Parquet files is split at
        its row groups).
    shuffle : bool
        Whether rows of an array are assigned to shards at random, by ``random_state``; otherwise
        shards are consecutive rows, as they always are for files.
    combine : "sum", "average", "newton", "conjugate" or combination object
        How to combine the shards: the exact solution for all rows from the sum of their moments,
        the average of their models, or rounds of communication that converge to the exact solution.
        See :mod:`mercer.combine`.
    rounds : int
        Number of rounds of "newton" and "conjugate".
    engine : None, dask.distributed.Client, cluster or address
        Where shards are processed: by threads of this process (None), or by a Dask cluster.
    checkpoint : path or None
        A folder where a fit over shards stores finished work. A fit with the same folder,
        parameters and rows resumes from there.
    remember_rows : bool
        Whether to keep a 64-bit fingerprint of each row with its target and weight, so that
        :meth:`forget` refuses every row that was not fitted. Without it, only rows are refused that
        the sums show cannot have been.

    Attributes
    ----------
    alpha_ : float or array of shape (k,)
        The alpha that was used.
    cv_results_ : dict or None
        "alpha" and "mean_squared_error" along the path (and by split for K-fold, and
        "squared_error_by_target" with ``alpha_per_target``), if alpha was chosen automatically.
    effective_dimension_ : float or array of shape (k,)
        ``trace(A (A + alpha)^-1)``.
    noise_ : float or array of shape (k,)
        The standard deviation of the noise in y.
    basis_, kernel_ : objects
        The fitted basis, and the kernel with its numeric bandwidth, in its metric.
    metric_ : array of shape (d,) or (d, r), or None
        P, which acts on scaled columns; ``kernel_.metric`` maps rows to coordinates.
    feature_importances_ : array of shape (d,)
        The mean squared derivative by each scaled column; they add up to 1. Those of the columns
        that a column of a table became are added.
    columns_ : TableEncoder or None
        What became of each column.
    search_results_ : dict or None
        All candidates of the search, as columns of a table: "stage", "kernel", "factor" (of the
        median distance), "scale", "metric", "round", "error" on held-out rows, and "seconds".
    dual_coef_ : array of shape (M, k)
        Coefficients of the basis functions.
    coef_ : array of shape (d,), or (k, d) if y has two dimensions
        The slope of f along each column of X, for ``kernel="linear"`` on columns of numbers; other
        models have no such attribute.
    intercept_ : array of shape (k,)
        The intercept.
    path_ : SolverPath
        The history of an iterative solver: residuals, training and validation errors.
    best_step_ : int
        The number of steps of the model.
    validation_curve_ : array
        Mean squared error on held-out rows after each step, if the rule uses held-out rows.
    moments_ : Moments
        Sums over all rows, of the functions defined in :mod:`mercer.bases.orthogonalization`.
    communication_ : Communication
        What was sent to and from shards, for a fit over shards.
    fit_ : Fit
        The full result: plan, solution with its status, seconds by stage.
    n_features_in_ : int
        Number of columns of X.

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

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "auto",
        basis: str | BasisTransformer = "auto",
        alpha: float | Sequence[float] | Array | str = "auto",
        *,
        metric: str | Array | MetricSearch | None = "auto",
        scale: str | None = "auto",
        columns: str | Mapping[Any, str] | TableEncoder | None = "auto",
        missing: str = "fill",
        unlabelled: str = "drop",
        alphas: Sequence[float] | Array | None = None,
        alpha_per_target: bool = False,
        selection: str | Criterion = "auto",
        solver: str | BaseSolver = "auto",
        fit_intercept: bool = True,
        intervals: str | None = "cv+",
        weight_type: str = "frequency",
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
        self.intervals = intervals
        self.alpha_per_target = alpha_per_target

    def _leave_out(self) -> LeaveOut | None:
        if self.intervals is None:
            return None
        return LeaveOut(scale=True, one_row=self.intervals == "jackknife+")

    def _kind(self) -> Numbers:
        return Numbers(type(self).__name__, bool(self.fit_intercept))

    plan = plan
    explain, _explained = explain, explained_number

    def staged_predict(self, X: object) -> Iterator[Array]:
        """Yield predictions after each step of an iterative solver, ending with the model
        itself."""
        for values in staged_values(self, X):
            yield values if self._targets.columns else values[:, 0]

    @by_partition
    def predict(self, X: object, return_std: bool = False, include_noise: bool = False) -> Any:
        """Return f(x) for every row, and its standard deviation if asked for.

        The deviation is that of the Gaussian process whose mean is the fit
        (:doc:`/howto/deviations`). It costs M^2 multiplications a row, beside M of the prediction.

        Parameters
        ----------
        X : array, data frame, sparse rows, path or row source
            The rows, as in :meth:`fit`; files are read in blocks.
        return_std : bool
            Whether to return the standard deviation of f(x), too.
        include_noise : bool
            Whether that is the deviation of y, the noise included.

        Returns
        -------
        mean : array of shape (n,) or (n, k), like y
            f(x).
        std : array of the same shape
            Only with ``return_std=True``.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import Gaussian, KernelRegressor
        >>> X = np.random.default_rng(0).uniform(0, 6, (200, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(200)
        >>> model = KernelRegressor(Gaussian(1.0), alpha=1e-4).fit(X, y)
        >>> mean, std = model.predict([[3.0], [9.0]], return_std=True)
        >>> std.round(2).tolist(), round(model.noise_, 2)
        ([0.02, 0.72], 0.09)
        """
        if check_flag(include_noise, "include_noise") and not return_std:
            raise ValueError(
                "include_noise=True is about standard deviations, which are not asked for: set "
                "return_std=True, too"
            )
        if check_flag(return_std, "return_std"):
            check_is_fitted(self, "fit_")
            X = rows_to_predict(self, X)  # once, so that it warns once
        values, columns = values_of(self, X), self._targets.columns
        mean = values if columns else values[:, 0]
        if not return_std:
            return mean
        found = deviations_of(self, X, include_noise)
        return mean, found if columns else found[:, 0]

    @property
    def noise_(self) -> Any:
        """The standard deviation of the noise in y, a number or one for each column of y.

        ``sigma^2 = RSS / (n - N(alpha) - 1)``, with N the effective dimension and 1 for the
        intercept (Wahba, 1983): that of a row of weight 1, or of mean weight if that is less.
        """
        try:
            found = noise_of(self)
        except ValueError as error:
            raise AttributeError(str(error)) from error
        return found if self._targets.columns else float(found[0])

    def leverage(self, X: object) -> Array:
        """Return the leverage of rows: by how much f(x) follows the target of a fitted row x.

        ``df(x_i) / dy_i`` is this times the weight of the row; over all rows of a fit these add up
        to ``effective_dimension_`` and 1 for the intercept. Costs as much as standard deviations.
        Of shape (n,), or (n, k) if outputs have alphas of their own.
        """
        return leverages_of(self, X)

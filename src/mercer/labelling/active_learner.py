"""Draw rows of a pool, ask for their labels, and fit a model to them with their weights."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer.bases import BasisTransformer, Landmarks, as_basis
from mercer.contracts import Array, Precision, ReadableRows, Rows
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.parameters import check_parameters
from mercer.kernels import Kernel
from mercer.labelling.labeller import ImportanceLabeller
from mercer.labelling.row_labels import Ask, check_pool, labels_for, rows_of
from mercer.opening.inputs import unchanged_on_error
from mercer.opening.weighing import identity_of
from mercer.solvers import StopAtPenalty, as_solver
from mercer.validation import check_choice, check_flag

#: What the weighted sum of losses is divided by.
WEIGHT_TYPES = ["importance", "relative"]


def _model_has(name: str) -> Any:
    return lambda self: hasattr(getattr(self, "model_", self.model), name)


class ActiveLearner(MetaEstimatorMixin, BaseEstimator):
    """Importance labelling and a fit in one step: draw, ask, weigh, fit (CRED).

    .. math:: \\min_f \\; \\frac1n \\sum_{i=1}^n \\frac1{N q_{j(i)}}
              \\big(f(x_{j(i)}) - y_{j(i)}\\big)^2 + \\alpha \\|f\\|_H^2

    over n rows j(1), ..., j(n) that a labeller draws from a pool of N with probabilities q (Murata
    and Suzuki, 2021, *Gradient Descent in RKHS with Importance Labeling*, algorithms 1 and 2). This
    is active learning that asks for all labels of a round at once, before any model is fitted.
    A labeller that draws by variance gives all rows the weight 1.

    Parameters
    ----------
    labeller : ImportanceLabeller
        Draws the rows.
    model : KernelRegressor, KernelClassifier, or any estimator that takes ``sample_weight``
        Fitted to the drawn rows with their weights. For draws by variance, any estimator.
    same_basis : bool
        Whether the model has the kernel of the labeller, with its bandwidth, and its functions: the
        same random features or landmarks score the pool and make up f (algorithm 2). A model on the
        full kernel has the kernel only. Needs columns of numbers.
    same_alpha : bool
        Whether the model is regularized like the scores: ``alpha="auto"`` of the model, and an open
        alpha of :class:`StopAtPenalty`, are those of the labeller (definition 4.2, lambda_q =
        lambda_*). What the model sets itself is kept.
    weight_type : "importance" or "relative"
        Whether the weighted sum is divided by the number of draws n, as in the paper and above, or
        by the sum of the weights, as every weighted fit does. The mean weight is 1 on average, so
        the two differ by the luck of the draw. Matters for alpha, a numeric ``step_size`` and
        :class:`StopAtPenalty`, and only for the estimators of this library, whose own
        ``weight_type`` is not used.

    Attributes
    ----------
    labeller_, model_ : objects
        The fitted labeller and model. Penalties of ``model_`` are relative to the weighted mean.
    indices_, labels_, sample_weight_ : arrays
        The rows of the pool that were labelled, their labels and weights. A row that was drawn
        twice is asked for once, and counts twice.
    n_draws_ : int
        n, the number of draws.
    alpha_ : float
        The penalty of the model, relative to what ``weight_type`` says.

    Examples
    --------
    >>> from mercer import ActiveLearner, ImportanceLabeller, KernelRegressor
    >>> pool = np.random.default_rng(0).standard_normal((2000, 2))
    >>> def ask(indices, rows):  # a person's work
    ...     return np.sin(rows[:, 0])
    >>> labeller = ImportanceLabeller(budget=100, random_state=0)
    >>> learner = ActiveLearner(labeller, KernelRegressor(random_state=0)).fit(pool, ask)
    >>> learner.score(pool, np.sin(pool[:, 0])) > 0.99
    True
    >>> learner = learner.label_more(pool, ask, budget=50)
    >>> learner.n_draws_
    150
    """

    labels_: Array | None
    _labelled: tuple[int, int] | None  # identifies the labelled rows

    def __init__(
        self,
        labeller: ImportanceLabeller,
        model: Any,
        *,
        same_basis: bool = False,
        same_alpha: bool = False,
        weight_type: str = "importance",
    ) -> None:
        self.labeller = labeller
        self.model = model
        self.same_basis = same_basis
        self.same_alpha = same_alpha
        self.weight_type = weight_type

    def fit(self, pool: Rows, y: Ask | ArrayLike) -> Self:
        """Draw the rows of a first round, ask for their labels, and fit.

        Parameters
        ----------
        pool : array, sparse rows or data frame of N rows
            Rows without labels.
        y : function or array of N labels
            A function ``ask(indices, rows)`` is called once, with the drawn rows of the pool only,
            and returns their labels. Of an array, only the labels of drawn rows are read: the
            others may be NaN.

        Returns
        -------
        self
        """
        self._check()
        check_pool(pool)
        with unchanged_on_error(self):
            self.labeller_ = clone(self.labeller).fit(pool)
            self.indices_, self.labels_ = np.zeros(0, dtype=np.intp), None
            model = self._label(pool, y, self.labeller_.indices_)
        return self._fitted(model, pool)

    def label_more(self, pool: Rows, y: Ask | ArrayLike, budget: int | None = None) -> Self:
        """Draw another round from the same pool, ask for labels of new rows, and fit again.

        Rows that are labelled already only gain weight. ``budget`` is that of the labeller by
        default.
        """
        check_is_fitted(self, "labeller_")
        size = pool.shape[0] if hasattr(pool, "shape") else len(pool)
        if size != self.labeller_.n_pool_:
            raise ValueError(
                f"the pool must be that of fit, with {self.labeller_.n_pool_} rows, got {size}"
            )
        if identity_of(rows_of(pool, self.indices_)) != self._labelled:
            raise ValueError(
                "the pool must be that of fit, in the same order, but its labelled rows (indices_) "
                "have changed"
            )
        self._check()
        with unchanged_on_error(self):
            self.labeller_ = copy(self.labeller_)
            self.labeller_._rng = deepcopy(self.labeller_._rng)
            model = self._label(pool, y, self.labeller_.select(budget))
        return self._fitted(model, pool)

    def _label(self, pool: Rows, y: Ask | ArrayLike, new: Array) -> Any:
        """Add the labels of new rows; return the model to fit, checked before anybody is asked."""
        model = self._tied(clone(self.model))
        if len(new):
            labels = labels_for(y, pool, new)
            if self.labels_ is None:
                self.indices_, self.labels_ = new, labels
            else:
                indices = np.concatenate([self.indices_, new])
                order = np.argsort(indices, kind="stable")
                self.indices_ = indices[order]
                self.labels_ = np.concatenate([self.labels_, labels])[order]
        self._labelled = identity_of(rows_of(pool, self.indices_))
        self.sample_weight_ = self.labeller_.sample_weight_
        self.n_draws_ = self.labeller_.n_draws_
        return model

    def _fitted(self, model: Any, pool: Rows) -> Self:
        """Fit to all labelled rows; if that fails, the labels are kept."""
        self.__dict__.pop("model_", None)
        # A model may do without weights where all of them are 1.
        takes = has_fit_parameter(model, "sample_weight")
        weights = {"sample_weight": self.sample_weight_} if takes else {}
        model.fit(rows_of(pool, self.indices_), self.labels_, **weights)
        if isinstance(model, KernelEstimator) and isinstance(model.basis, ReusedBasis):
            model.basis = clone(self.model.basis)  # its functions are in basis_
        self.model_ = model
        return self

    def _tied(self, model: Any) -> Any:
        """Return a model with the parts and penalties that it shares with the labeller."""
        if not isinstance(model, KernelEstimator):
            return model
        labeller, ratio = self.labeller_, self._ratio()
        given: dict[str, Any] = {}
        if self.same_basis:
            if not (labeller.columns_ is None or labeller.columns_.encoding_.is_identity):
                raise ValueError(
                    "same_basis=True needs columns of numbers without gaps, but the labeller had "
                    "to encode some: set same_basis=False"
                )
            given.update(kernel=labeller.kernel_, columns=None)  # functions of the columns as given
            if isinstance(model.basis, str) or not as_basis(model.basis).dual:
                given["basis"] = same_functions(labeller.basis_)
        solver = clone(as_solver(model.solver))
        if isinstance(model.alpha, str):
            if self.same_alpha and not solver.regularized_by_steps:
                given["alpha"] = labeller.alpha_ * ratio
        else:
            given["alpha"] = np.asarray(model.alpha, dtype=float) * ratio
        if model.alphas is not None:
            given["alphas"] = np.asarray(model.alphas, dtype=float) * ratio
        stop = getattr(solver, "stop", None)
        if self.same_alpha and (stop == "penalty" or getattr(stop, "alpha", 0.0) is None):
            solver.stop = StopAtPenalty(labeller.alpha_)
        if solver.regularized_by_steps:
            given["solver"] = solver.scaled(ratio)
        given["weight_type"] = "relative"  # the number of draws is in the ratio
        model.set_params(**given)
        check_parameters(model)
        return model

    def _ratio(self) -> float:
        """Return n / W, which turns penalties of a mean over draws into those of a weighted one."""
        if self.weight_type == "relative":
            return 1.0
        return float(self.labeller_.n_draws_ / self.labeller_.sample_weight_.sum())

    @property
    def alpha_(self) -> Any:
        """The penalty of the model, relative to what ``weight_type`` says."""
        check_is_fitted(self, "model_")
        found = self.model_.alpha_ / self._ratio()
        return found if np.ndim(found) else float(found)

    def _check(self) -> None:
        """Validate the parameters."""
        check_flag(self.same_basis, "same_basis")
        check_flag(self.same_alpha, "same_alpha")
        check_choice(self.weight_type, "weight_type", WEIGHT_TYPES)
        weighs = getattr(self.labeller, "sampling", "leverage") == "leverage"
        if weighs and not has_fit_parameter(self.model, "sample_weight"):
            raise TypeError(
                f"the model must take sample_weight in fit, which {type(self.model).__name__} does "
                f"not: rows drawn by leverage scores need their weights"
            )
        if (self.same_basis or self.same_alpha) and not isinstance(self.model, KernelEstimator):
            raise TypeError(
                f"same_basis and same_alpha are for KernelRegressor and KernelClassifier, got "
                f"{type(self.model).__name__}: set both to False"
            )

    # -- the model's predictions ---------------------------------------------------------------

    def predict(self, X: object) -> Array:
        """Return the model's predictions."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(X))

    def score(self, X: object, y: object, sample_weight: ArrayLike | None = None) -> float:
        """Return the model's score on labelled rows."""
        check_is_fitted(self, "model_")
        return float(self.model_.score(X, y, sample_weight))

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, X: object) -> Array:
        """Return the model's class probabilities."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict_proba(X))

    @available_if(_model_has("decision_function"))
    def decision_function(self, X: object) -> Array:
        """Return the model's decision function."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.decision_function(X))

    @property
    def classes_(self) -> Array:
        """The classes of a classifier."""
        return np.asarray(self.model_.classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the pool."""
        check_is_fitted(self, "labeller_")
        return int(self.labeller_.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.model)
        tags.estimator_type, tags.input_tags = own.estimator_type, own.input_tags
        tags.regressor_tags, tags.classifier_tags = own.regressor_tags, own.classifier_tags
        return tags


class ReusedBasis(BasisTransformer):
    """The functions of a fitted basis; the fit gets a copy of that basis, not this object.

    >>> from mercer.bases import RandomFeatures
    >>> from mercer.rows import ArraySource
    >>> X = np.zeros((4, 2))
    >>> drawn = RandomFeatures(5, random_state=0).fit(X)
    >>> again = ReusedBasis(drawn)
    >>> found = again.fit_source(ArraySource(X), drawn.kernel_, np.random.default_rng(1), "float64")
    >>> found.features_ is drawn.features_, again.wanted_size(4)
    (True, 5)
    """

    kernel = None
    random_state = None
    n_components = 0  # not open

    def __init__(self, fitted: BasisTransformer) -> None:
        self.fitted = fitted

    def __sklearn_clone__(self) -> ReusedBasis:
        return ReusedBasis(self.fitted)  # a clone of the basis would forget its functions

    def wanted_size(self, n_rows: int) -> int:
        """Return M."""
        return self.fitted.size

    def fit_source(
        self,
        source: ReadableRows,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Any:
        """Return a copy of the fitted basis in this precision."""
        found = copy(self.fitted)
        found.precision_ = precision
        return found


def same_functions(fitted: BasisTransformer) -> BasisTransformer:
    """Return an unfitted basis that will have the functions of a fitted one."""
    if isinstance(fitted, Landmarks):
        return Landmarks(sampling=fitted.landmarks_)
    return ReusedBasis(fitted)

"""What an estimator knows after a fit, and the attributes that are read from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.columns import TableEncoder
from mercer.contracts import Array, Targets
from mercer.engines import Communication
from mercer.estimators.column_weights import importances_of, linear_coefficients
from mercer.estimators.summary import summarize
from mercer.kernels import InMetric
from mercer.moments import Moments
from mercer.opening.inputs import Known
from mercer.refit import effective_dimension
from mercer.report import Summary
from mercer.request import Seeds
from mercer.result import Fit
from mercer.selection import Criterion, SizePath, as_criterion
from mercer.solvers import SolverPath
from mercer.storage.fingerprints import RowMultiset


@dataclass(frozen=True, kw_only=True)
class Fitted(Known):
    """What an estimator knows after a fit, or after it was loaded: given to it as a whole."""

    fit: Fit
    fixed: dict[str, str] = field(default_factory=dict)  # parameters that its sums depend on
    resumes: str | None = None  # what must be equal for a fit to resume it
    seeds: Seeds | None = None
    remembered: RowMultiset | None = None  # its rows, with remember_rows
    calibration: Any = None  # the map of scores, for estimators that have one
    notes: dict[str, str] = field(default_factory=dict)  # what the command line says of a fit


class FittedAttributes(BaseEstimator):
    """Mixin with attributes that are set by a fit, or read from ``fit_``."""

    fit_: Fit
    columns_: TableEncoder | None
    selection: str | Criterion
    _targets: Targets
    _fixed: dict[str, str]
    _fitted_to: str | None = None
    _notes: dict[str, str]
    _remembered: RowMultiset | None = None
    _roles: tuple[str, ...] = ()
    _seeds: Seeds | None = None

    def _take(self, known: Fitted) -> None:
        """Set the fitted attributes; nothing else does."""
        found, factor = known.fit, known.targets.alpha_factor
        self.fit_, self._targets = found, known.targets
        self.n_features_in_, names = known.features.number, known.features.names
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.columns_, self._roles = known.encoder, known.roles
        self._fixed, self._fitted_to, self._seeds = known.fixed, known.resumes, known.seeds
        self._remembered, self._notes = known.remembered, known.notes
        self.basis_, self.kernel_ = found.basis, found.basis.kernel_
        self.alpha_ = factor * found.alpha
        self.dual_coef_, self.intercept_ = in_units(
            known.targets, found.coefficients, found.intercept
        )
        self.n_iter_ = max(1, found.solution.steps)
        self.cv_results_ = cv_results_of(found, factor, self.selection)

    def _known(self) -> Fitted:
        """Return what the fitted attributes are made of."""
        return Fitted(
            **vars(Known.of(self)),
            fit=self.fit_,
            fixed=self._fixed,
            resumes=self._fitted_to,
            seeds=self._seeds,
            remembered=self._remembered,
        )

    def _has_intercept(self) -> bool:
        """Return whether the model has an intercept."""
        return self._targets.has_intercept(bool(getattr(self, "fit_intercept", True)))

    @property
    def effective_dimension_(self) -> Any:
        """``trace(A (A + alpha)^-1)``: the effective number of parameters, for each alpha."""
        check_is_fitted(self, "fit_")
        found = self.fit_
        if found.path is not None:
            why = (
                "a fit by products forms no matrix to compute it from"
                if found.plan.sample
                else "a fit that is regularized by its number of steps has none"
            )
            raise AttributeError(f"no effective dimension: {why}; use solver='ridge'")
        if found.effective_dimension is None:
            check_sums(found)
            found.effective_dimension = effective_dimension(
                found, self._targets, self._has_intercept()
            )
        return found.effective_dimension

    @property
    def communication_(self) -> Communication:
        """A record of what was sent to and from the shards."""
        check_is_fitted(self, "fit_")
        sent = self.fit_.communication
        if sent is None:
            raise AttributeError("the model was not fitted over shards, or was loaded from a file")
        return sent

    @property
    def metric_(self) -> Array | None:
        """P, a weight per column (d,) or a matrix (d, r), acting on scaled columns; None if none.

        The kernel sees ``||P'(u - v)||`` for scaled rows u and v; ``kernel_.metric`` maps rows.
        """
        check_is_fitted(self, "fit_")
        kernel = self.fit_.basis.kernel_
        return kernel.metric.matrix if isinstance(kernel, InMetric) else None

    @property
    def coef_(self) -> Array:
        """The coefficient of each column, (d,) or (k, d), where f is linear in the columns.

        Other models have no such attribute: their coefficients are ``dual_coef_``.
        """
        check_is_fitted(self, "fit_")
        found = linear_coefficients(self)
        return found if self._targets.columns else found[0]

    @property
    def feature_importances_(self) -> Array:
        """The mean squared derivative by each column, in standard deviations; they add up to 1."""
        check_is_fitted(self, "fit_")
        found, encoder = importances_of(self.fit_), self.columns_
        return found if encoder is None else encoder.encoding_.by_column(found)

    @property
    def search_results_(self) -> dict[str, Array] | None:
        """All candidates of the search for kernel and metric as columns of a table, or None.

        "error" is the root mean squared error on held-out rows, relative to the spread of y.
        """
        check_is_fitted(self, "fit_")
        search = self.fit_.search
        return None if search is None else search.table()

    @property
    def size_path_(self) -> SizePath:
        """The numbers of landmarks that were tried, with their errors and seconds."""
        check_is_fitted(self, "fit_")
        found = self.fit_.sizes
        if found is None:
            raise AttributeError(
                f"this model did not grow ({self.fit_.plan.reason}): use basis=Landmarks('auto'), "
                f"and a solver without steps"
            )
        return found

    @property
    def moments_(self) -> Moments:
        """Moments of all rows, of the orthogonalized functions and the encoded targets.

        Not available for the full kernel.
        """
        check_is_fitted(self, "fit_")
        check_sums(self.fit_)
        if self.fit_.folds is None:
            raise AttributeError("the full kernel is fitted from the kernel matrix, not moments")
        total = self.fit_.folds[0]
        for fold in self.fit_.folds[1:]:
            total = total + fold
        return total

    @property
    def path_(self) -> SolverPath:
        """The history of an iterative solver, step by step."""
        check_is_fitted(self, "fit_")
        found = self.fit_
        if found.path is None and found.combination:
            raise AttributeError(
                "a model combined from shards has no steps: the gradients of rounds are in "
                "fit_.solution.residuals; combine='sum' keeps the steps of its solver"
            )
        if found.path is None:
            raise AttributeError(
                f"only iterative solvers have steps, but this model was solved directly "
                f"({found.solution.reason}): use solver='kcgm', 'gradient_descent' or 'pcg'"
            )
        return found.path

    @property
    def best_step_(self) -> int:
        """The number of steps of the model, chosen by the stopping rule."""
        return self.fit_.solution.steps if self.path_ is not None else 0

    @property
    def validation_curve_(self) -> Array:
        """Mean squared error on held-out rows after each step, in squared units of y."""
        curve = self.path_.validation_error
        if curve is None:
            raise AttributeError(
                "this rule uses no held-out rows: use stop='kfold' or stop='held_out'"
            )
        return curve

    def summary(self) -> Summary:
        """Return what was chosen and why; prints as text, shows as a table in notebooks."""
        check_is_fitted(self, "fit_")
        scores = self.fit_.scores
        label = "" if scores is None else scores.label
        label = label or as_criterion(self.selection).label
        encoding = None if self.columns_ is None else self.columns_.encoding_
        name, words = type(self).__name__, self._probabilities()
        return summarize(name, self.fit_, label, self._targets, encoding, words)

    def _probabilities(self) -> str:
        """Return what a summary says of probabilities; nothing if there are none."""
        return ""


def cv_results_of(found: Fit, factor: float, selection: str | Criterion) -> dict[str, Any] | None:
    """Return the scores along the path of alpha, in the user's alpha; None if it was given."""
    if found.scores is None or found.alphas is None:
        return None
    results: dict[str, Any] = {
        "alpha": factor * found.alphas,
        "mean_squared_error": found.scores.mean,
        "criterion": found.scores.label or as_criterion(selection).label,
    }
    if found.scores.by_output is not None:
        results["squared_error_by_target"] = found.scores.by_output
    by_fold = found.scores.by_fold
    for number, errors in enumerate(() if by_fold is None else by_fold):
        results[f"split{number}_squared_error"] = errors
    return results


def check_sums(found: Fit) -> None:
    """Raise ValueError if a model has no moments."""
    if found.folds is not None or found.dual_rows is not None:
        return
    if found.combination.startswith("average"):
        raise AttributeError(
            f"this model is an {found.combination}, and its moments stayed with the "
            f"shards: fit it with combine='sum'"
        )
    if found.plan.sample:
        raise AttributeError(
            "this model was solved by products and has no moments, which are needed here: fit it "
            "with solver='ridge'"
        )
    if found.combination and "sum" not in found.combination:
        raise AttributeError(
            f"this model was fitted by {found.combination}, and its moments stayed with the "
            f"shards: fit it with combine='sum'"
        )
    raise AttributeError(
        "this model was loaded from a file without its moments, which are needed here: save it "
        "with mercer.save(model, path, moments=True), or fit it again"
    )


def in_units(targets: Targets, coefficients: Array, intercept: Array) -> tuple[Array, Array]:
    """Convert a solution for encoded targets to the units of y."""
    return coefficients * targets.scale, intercept * targets.scale + targets.origin

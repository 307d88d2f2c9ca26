"""Attributes of a fitted estimator: steps, moments, communication, a summary."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Array, Targets
from mercer.engines import Communication
from mercer.estimators.importances import importances_of
from mercer.estimators.summary import Summary, summarize
from mercer.kernels import InMetric
from mercer.moments import Moments
from mercer.refit import effective_dimension
from mercer.result import Fit
from mercer.selection import SizePath, as_criterion
from mercer.solvers import SolverPath


class FittedAttributes(BaseEstimator):
    """Mixin with attributes that are read from ``fit_``."""

    fit_: Fit
    selection: Any
    _targets: Targets

    def _intercept(self) -> bool:
        """Return whether to fit an intercept."""
        raise TypeError(f"{type(self).__name__} does not define _intercept()")

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
            found.effective_dimension = effective_dimension(found, self._targets, self._intercept())
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
    def feature_importances_(self) -> Array:
        """The mean squared derivative by each column, in standard deviations; they add up to 1."""
        check_is_fitted(self, "fit_")
        found = importances_of(self.fit_)
        fitted = getattr(self, "columns_", None)
        return found if fitted is None else fitted.encoding_.by_column(found)

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
        label = getattr(scores, "label", "") or as_criterion(self.selection).label
        columns = getattr(self, "columns_", None)
        encoding = None if columns is None else columns.encoding_
        name, words = type(self).__name__, self._probabilities()
        return summarize(name, self.fit_, label, self._targets, encoding, words)

    def _probabilities(self) -> str:
        """Return what a summary says of probabilities; nothing if there are none."""
        known = getattr(self, "calibration_", None)
        return "" if known is None else str(known.describe())


def cv_results_of(found: Fit, factor: float, selection: Any) -> dict[str, Any] | None:
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

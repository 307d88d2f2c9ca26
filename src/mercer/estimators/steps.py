"""What an iterative solver did, as attributes of the estimator."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Array
from mercer.result import Fit
from mercer.solvers import SolverPath


class SolverSteps(BaseEstimator):
    """Steps, residuals and errors of a fit by an iterative solver."""

    fit_: Fit

    def _has_path(self) -> bool:
        check_is_fitted(self, "fit_")
        if self.fit_.path is None and self.fit_.combination:
            raise AttributeError(
                "a model of shards keeps no steps: the gradients of rounds are in "
                "fit_.solution.residuals, and combine='sum' has the steps of its solver"
            )
        if self.fit_.path is None:
            raise AttributeError(
                f"only iterative solvers have steps, and this model was solved directly "
                f"({self.fit_.solution.reason}): use solver='kcgm', 'gradient_descent' or 'pcg'"
            )
        return True

    @property
    def path_(self) -> SolverPath:
        """What an iterative solver did, step by step."""
        self._has_path()
        assert self.fit_.path is not None
        return self.fit_.path

    @property
    def best_step_(self) -> int:
        """The number of steps that the model has taken, as its rule chose them."""
        self._has_path()
        return self.fit_.solution.steps

    @property
    def validation_curve_(self) -> Array:
        """Mean squared error on other rows after each step, in the units of y squared."""
        curve = self.path_.validation_error
        if curve is None:
            raise AttributeError(
                "this rule looks at no other rows: use stop='kfold' or stop='held_out'"
            )
        return curve

"""Whether a model has methods that add and remove rows, and if not why.

Only what parameters and the fit tell: errors that the rows decide are raised by the methods.
"""

from __future__ import annotations

from typing import Any

from mercer.bases import as_basis
from mercer.estimators.asked import is_pairwise
from mercer.estimators.attributes import check_sums
from mercer.selection import Criterion, as_criterion
from mercer.solvers import as_solver


def can_add_rows(estimator: Any) -> bool:
    """Return whether rows can be added and removed; raise AttributeError with the reason if not."""
    if as_solver(estimator.solver).needs == "products":
        raise AttributeError(
            "partial_fit and forget need moments, which solver='pcg' never forms: use "
            "solver='ridge'"
        )
    if estimator.weight_type != "frequency":
        raise AttributeError(
            "partial_fit and forget add weights as they are, but those of weight_type="
            f"{estimator.weight_type!r} are relative to all rows: use weight_type='frequency'"
        )
    if isinstance(estimator.class_weight, str):
        raise AttributeError(
            "class_weight='balanced' is not supported by partial_fit and forget, because it "
            "depends on all rows: pass a dict of weights, such as those of "
            "sklearn.utils.class_weight.compute_class_weight('balanced', classes=classes, y=y)"
        )
    basis = as_basis(estimator.basis) if estimator.basis != "auto" else None
    if (basis is not None and basis.dual) or is_pairwise(estimator.kernel):
        raise AttributeError(
            "partial_fit and forget need a basis that does not change with the rows; the full "
            "kernel has one function per row: use basis='landmarks' or 'random_features'"
        )
    chooser = _chooser(estimator)
    if isinstance(chooser, Criterion) and chooser.second_pass and not chooser.falls_back:
        raise AttributeError(
            f"partial_fit and forget choose alpha again, but {chooser.label} would have to read "
            f"rows that are no longer there: use selection='gcv' or 'auto', or a number for alpha"
        )
    if hasattr(estimator, "fit_"):
        check_sums(estimator.fit_)
    return True


def can_remove_rows(estimator: Any) -> bool:
    """Return whether rows can be removed; raise AttributeError with the reason if not."""
    can_add_rows(estimator)
    chooser = _chooser(estimator)
    if chooser is not None and chooser.folds > 1:
        instead = (
            "selection='gcv' or a number for alpha"
            if isinstance(chooser, Criterion)
            else "stop=StopAfter(steps)"
        )
        raise AttributeError(
            f"forget does not know which fold a row was dealt to, by {chooser.label}: use {instead}"
        )
    return True


def _chooser(estimator: Any) -> Any:
    """Return the rule that chooses steps, the criterion that chooses alpha, or None if given."""
    solver = as_solver(estimator.solver)
    if solver.regularized_by_steps:
        return solver.rule()
    is_open = isinstance(estimator.alpha, str) and estimator.alpha == "auto"
    return as_criterion(estimator.selection) if is_open else None

"""Add and remove rows: moments can be added and subtracted.

.. math:: S_{\\text{all}} = S_{\\text{old}} \\pm S_{\\text{batch}}
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mercer.bases import Landmarks
from mercer.contracts import TargetKind, Targets
from mercer.estimators.comparing import check_unchanged, rows_in
from mercer.estimators.fitted import Fitted, check_sums
from mercer.estimators.fitting import finished, prepared
from mercer.estimators.parameters import Values, read_parameters
from mercer.moments import Moments, Peak, subtracted, sum_moments
from mercer.opening.fit_input import FitInput
from mercer.opening.inputs import Known
from mercer.opening.opened_rows import OpenedRows
from mercer.plan import make_plan
from mercer.refit import refit
from mercer.request import Request
from mercer.result import Fit
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.selection import Criterion
from mercer.solvers import StoppingRule
from mercer.storage.fingerprints import RowMultiset
from mercer.targets.number_targets import RegressionTargets

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator


def with_given(estimator: KernelEstimator, given: FitInput, kind: TargetKind, sign: int) -> Fitted:
    """Add rows to a fitted estimator, or forget them; return what it then knows."""
    check_unchanged(estimator)
    start, known = prepared(estimator, kind), estimator._known()
    with start.opened(given, Known.of(estimator)) as (opened, request):
        remembered = None
        if start.values["remember_rows"]:
            remembered = remembered_with(known, opened, sign)
        found = with_rows(known.fit, opened, request, sign)
        known = replace(known, resumes=None, remembered=remembered)
        return finished(estimator, known, found, start.values["warm_start"])


def with_rows(found: Fit, opened: OpenedRows, request: Request, sign: int) -> Fit:
    """Add the moments of rows to a fit, or subtract them, and solve again."""
    check_sums(found)
    previous = found if found.folds is not None else as_moments(found, request)
    assert previous.folds is not None
    pieces, held_out = request.folds, request.held_out
    chooser, instead = request.chooses_by
    if pieces > 1 and (pieces, held_out) != (len(previous.folds), previous.plan.held_out):
        kept = len(previous.folds)
        others = f"{kept}" if kept != pieces else f"{kept} of another size"
        raise ValueError(
            f"{chooser} needs moments in {pieces} folds from the first rows on, but this "
            f"model has {others}: fit it again, or use {instead}"
        )
    if sign < 0 and len(previous.folds) > 1:
        raise ValueError(
            f"forget does not know which fold a row was assigned to: use {instead} from the first "
            f"rows on"
        )
    batch = sum_moments(
        opened.rows,
        request.targets,
        previous.basis,
        previous.plan.reading,
        request.seeds.rows(),
    )
    peak = previous.peak
    if sign > 0:
        folds = [old + new for old, new in zip(previous.folds, batch, strict=True)]
    else:
        folds = [without_rows(previous, batch[0], opened, request.targets)]
        peak = Peak.of(previous.folds[0]).joined(peak)
    sent = opened.rows.sent or previous.communication
    return replace(
        refit(previous, folds, request),
        combination=previous.combination,
        communication=sent,
        search=previous.search,
        peak=peak,
    )


def without_rows(previous: Fit, batch: Moments, opened: OpenedRows, targets: Targets) -> Moments:
    """Return the moments of a fit without some of its rows; raise ValueError if that cannot be."""
    assert previous.folds is not None
    total = previous.folds[0]
    if total.rows <= batch.rows:
        raise ValueError(
            f"forget would leave no rows: the model has {total.rows}, {opened.rows.n_rows} were "
            f"given"
        )
    origin = targets.origin / targets.scale
    return subtracted(total, batch, previous.basis.precision_, previous.peak, origin)


def as_moments(exact: Fit, request: Request) -> Fit:
    """Convert the fit of an automatic full kernel to moments, with one landmark per row."""
    assert exact.dual_rows is not None
    Y, weight = exact.dual_rows
    points, kernel = exact.basis.landmarks_, exact.basis.kernel_
    rows = RowSet.in_one_place(ArraySource(points, Y, weight))
    encoded = RegressionTargets(np.zeros(Y.shape[1]), np.ones(Y.shape[1]), True)
    by_moments = replace(request, kernel=kernel, basis=Landmarks(sampling=points), targets=encoded)
    plan = make_plan(rows, by_moments)
    basis = plan.basis.fit_source(
        rows,
        kernel,
        request.seeds.basis(),
        plan.precision,
        plan.may_widen,
    )
    folds = sum_moments(rows, encoded, basis, plan.reading, request.seeds.rows())
    return replace(exact, basis=basis, plan=plan, folds=folds)


def remembered_with(model: Fitted, opened: OpenedRows, sign: int) -> RowMultiset:
    """Return the rows of a model after adding or forgetting some.

    Raise ValueError if a row to forget is not in the model.
    """
    known = model.remembered
    if known is None:
        raise ValueError(
            "remember_rows=True must be set before the first rows, but this model does not know "
            "its rows: fit it again, or set remember_rows=False"
        )
    batch = rows_in(opened, model.targets)
    if sign > 0:
        return known + batch
    missing = known.missing(batch)
    if missing:
        raise ValueError(
            f"forget needs rows that were fitted and not yet forgotten, with the same targets and "
            f"weights: {missing:,} of the {batch.total:,} given are not in the model"
        )
    return known - batch


# -- whether rows can be added -----------------------------------------------------------------


def can_add_rows(estimator: KernelEstimator) -> bool:
    """Return whether rows can be added and removed; raise AttributeError with the reason if not.

    Only what parameters and the fit tell: errors that the rows decide are raised by the methods.
    """
    values = read_parameters(estimator)
    if values["solver"].needs == "products":
        raise AttributeError(
            "partial_fit and forget need moments, which solver='pcg' never forms: use "
            "solver='ridge'"
        )
    if values["weight_type"] != "frequency":
        raise AttributeError(
            "partial_fit and forget add weights as they are, but those of weight_type="
            f"{values['weight_type']!r} are relative to all rows: use weight_type='frequency'"
        )
    if isinstance(values["class_weight"], str):
        raise AttributeError(
            "class_weight='balanced' is not supported by partial_fit and forget, because it "
            "depends on all rows: pass a dict of weights, such as those of "
            "sklearn.utils.class_weight.compute_class_weight('balanced', classes=classes, y=y)"
        )
    basis, kernel = values["basis"], values["kernel"]
    if (basis is not None and basis.dual) or (kernel is not None and kernel.pairwise):
        raise AttributeError(
            "partial_fit and forget need a basis that does not change with the rows; the full "
            "kernel has one function per row: use basis='landmarks' or 'random_features'"
        )
    chooser = _chooser(values)
    if isinstance(chooser, Criterion) and chooser.second_pass and not chooser.falls_back:
        raise AttributeError(
            f"partial_fit and forget choose alpha again, but {chooser.label} would have to read "
            f"rows that are no longer there: use selection='gcv' or 'auto', or a number for alpha"
        )
    if hasattr(estimator, "fit_"):
        check_sums(estimator.fit_)
    return True


def can_remove_rows(estimator: KernelEstimator) -> bool:
    """Return whether rows can be removed; raise AttributeError with the reason if not."""
    can_add_rows(estimator)
    chooser = _chooser(read_parameters(estimator))
    if chooser is not None and chooser.folds > 1:
        instead = (
            "selection='gcv' or a number for alpha"
            if isinstance(chooser, Criterion)
            else "stop=StopAfter(steps)"
        )
        raise AttributeError(
            f"forget does not know which fold a row was dealt to, by {chooser.label}: use {instead}"
        )
    encoder = getattr(estimator, "columns_", None)
    if encoder is not None and encoder.encoding_.deal == "number" and not estimator.remember_rows:
        raise AttributeError(
            "forget cannot tell rows apart that are alike in all columns and in y, as many are "
            "here, and means of y were learned by their numbers: give the columns of categories "
            "another kind, such as columns={'name': 'one_hot'}"
        )
    return True


def _chooser(values: Values) -> Criterion | StoppingRule | None:
    """Return the rule that chooses steps, the criterion that chooses alpha, or None if given."""
    solver = values["solver"]
    if solver.regularized_by_steps:
        rule: StoppingRule | None = solver.rule()
        return rule
    criterion: Criterion = values["selection"]
    return criterion if values["alpha"] is None else None

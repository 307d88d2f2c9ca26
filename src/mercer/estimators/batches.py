"""Add and remove rows: moments can be added and subtracted.

.. math:: S_{\\text{all}} = S_{\\text{old}} \\pm S_{\\text{batch}}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.bases import Landmarks, as_basis
from mercer.estimators.attributes import check_sums
from mercer.estimators.inputs import Given
from mercer.estimators.sharding import OpenedRows
from mercer.estimators.targets import RegressionTargets
from mercer.moments import Moments, Peak, subtracted, sum_moments
from mercer.plan import make_plan
from mercer.refit import refit
from mercer.request import Request
from mercer.result import Fit
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet


def with_fixed_size(request: Request) -> Request:
    """Return a request whose basis does not grow: rows that are added later may need more.

    >>> asked = Request(RegressionTargets.of(np.zeros(2), True), basis=Landmarks("auto"))
    >>> with_fixed_size(asked).basis
    Landmarks()
    """
    asked = request.asked_basis()
    if asked is not None and not asked.grows:
        return request
    reason = "landmarks, whose sums can be added over rows"
    return replace(request, basis=Landmarks(), basis_reason=reason)


def first_batch(estimator: Any, given: Given) -> Given:
    """Return the first rows of :meth:`partial_fit`: in one place for functions of all rows."""
    basis = as_basis(estimator.basis) if estimator.basis != "auto" else None
    return replace(given, in_one_place=basis is not None and basis.local)


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


def without_rows(previous: Fit, batch: Moments, opened: OpenedRows, targets: Any) -> Moments:
    """Return the moments of a fit without some of its rows; raise ValueError if that cannot be."""
    assert previous.folds is not None
    total = previous.folds[0]
    if total.rows <= batch.rows:
        raise ValueError(
            f"forget would leave no rows: the model has {total.rows}, {opened.rows.n_rows} were "
            f"given"
        )
    origin = getattr(targets, "origin", 0.0) / getattr(targets, "scale", 1.0)
    return subtracted(total, batch, previous.basis.precision_, previous.peak, origin)


def as_moments(exact: Fit, request: Request) -> Fit:
    """Convert the fit of an automatic full kernel to moments, with one landmark per row."""
    assert exact.dual_rows is not None
    Y, weight = exact.dual_rows
    points, kernel = exact.basis.landmarks_, exact.basis.kernel_
    rows = RowSet.in_one_place(ArraySource(points, Y, weight))
    encoded = RegressionTargets(np.zeros(Y.shape[1]), np.ones(Y.shape[1]), True)
    asked = replace(request, kernel=kernel, basis=Landmarks(sampling=points), targets=encoded)
    plan = make_plan(rows, asked)
    basis = plan.basis.fit_source(
        rows,  # type: ignore[arg-type]
        kernel,
        request.seeds.basis(),
        plan.precision,
        plan.may_widen,
    )
    folds = sum_moments(rows, encoded, basis, plan.reading, request.seeds.rows())
    return replace(exact, basis=basis, plan=plan, folds=folds)

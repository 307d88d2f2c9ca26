"""The pipeline: rows -> basis -> moments -> system -> solver -> model. Read this first.

:func:`fit` works the same way for rows in one place and in shards: it uses sums over rows of a
:class:`~mercer.rows.rowset.RowSet`, never the rows themselves. All decisions are made by the plan,
and nothing here depends on the scikit-learn interface.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Penalty, Reading, Status
from mercer.engines import count_numbers
from mercer.forms import FORMS, Form, Work
from mercer.inference.predict_left_out import leave_out
from mercer.leaving_out import check_one_row
from mercer.moments import sum_moments
from mercer.plan import Plan, plan_fit
from mercer.precision import NOISE, float32_noise
from mercer.request import Request
from mercer.result import Clock, Fit, check_precision
from mercer.rows.rowset import RowSet
from mercer.sampling.pooled_kernel import kernel_of_rows
from mercer.solvers import BaseSolver, Ridge, check_fits
from mercer.solving import SOLVES, Outcome
from mercer.systems import MomentSystem

#: Up to this many functions, the Gram matrix is factored before a solve by products, to detect
#: dependent functions and whether float32 is enough.
FACTORED = 3000


def fit(
    rows: RowSet,
    request: Request,
    planned: tuple[Plan, BaseSolver] | None = None,
    functions: BasisTransformer | None = None,
) -> Fit:
    """Fit one model to all rows, from sums over shards.

    Parameters
    ----------
    rows : RowSet
        The rows.
    request : Request
        The parameters of the fit.
    planned : (Plan, solver) or None
        An existing plan.
    functions : BasisTransformer or None
        A basis that is already fitted.
    """
    clock = Clock()
    # Shards would have to send sums of every fold: they leave rows out by products instead.
    summed = request if rows.one_place else replace(request, leave_out=None)
    plan, solver = plan_fit(rows, summed) if planned is None else planned
    alpha = request.alpha
    chosen: dict[str, Any] = {}
    if plan.pilot is not None:  # there is no path of alphas, or functions are drawn for an alpha
        pilot = replace(request, previous=None, leave_out=None)
        first = fit(rows, pilot, (plan.pilot, Ridge()))
        clock.seconds["choose alpha"] = sum(first.seconds.values())
        plan = replace(plan, basis=plan.basis.scored_at(first.alpha))
        if plan.sample:
            alpha, chosen = first.alpha, {"alphas": first.alphas, "scores": first.scores}
    solved = solve_rows(rows, request, (plan, solver), functions, alpha, clock)
    return replace(leave_rows_out(solved), **chosen)


@dataclass
class Solved:
    """A system, its solution, and how many directions rounding hides, before rows are left out."""

    work: Work
    system: Form
    outcome: Outcome
    hidden: int = 0


def solve_rows(
    rows: RowSet,
    request: Request,
    planned: tuple[Plan, BaseSolver],
    functions: BasisTransformer | None,
    alpha: Penalty | None,
    clock: Clock,
) -> Solved:
    """Sum over the rows and solve, as planned; ``alpha`` is None if it is open."""
    plan, solver = planned
    request = replace(request, solver=solver)
    if request.leave_out is not None and request.leave_out.one_row:
        exact = not (solver.regularized_by_steps or solver.cuts_off)
        check_one_row(rows.n_rows, rows.one_place, plan.form, exact)
    if solver.regularized_by_steps and alpha is None:
        alpha = 0.0
    with clock.stage("basis"):
        known = functions or (None if request.previous is None else request.previous.basis)
        basis = fit_basis(rows, request, plan) if known is None else known
    work = Work(rows, request, plan, solver, basis, clock, alpha)
    system, outcome = solve(work)
    hidden = system.hidden(outcome.solution) if isinstance(system, MomentSystem) else 0
    noise = float32_noise(basis.precision_, outcome.coefficients)
    coarse = plan.form == "products" and noise and outcome.solution.status is Status.ROUNDING_LIMIT
    if plan.may_widen and (hidden or coarse or noise > NOISE):
        previous = None
        if coarse:  # the functions stay, and so does the solution
            previous = finished(rows, work, system, outcome)
        else:
            basis.factorize(may_widen=True)
        basis.widen()
        work = replace(work, request=replace(request, previous=previous))
        system, outcome = solve(work)
        hidden = 0
    return Solved(work, system, outcome, hidden)


def leave_rows_out(solved: Solved) -> Fit:
    """Return the record of a fit, with its left-out rows if they are asked for."""
    work, system, outcome = solved.work, solved.system, solved.outcome
    request = work.request
    found = finished(work.rows, work, system, outcome)
    if request.leave_out is not None:
        with work.clock.stage("leave out"):
            left = leave_out(work, system, outcome)
        if left is not None:
            kept = left.rows if left.intervals is None else None
            found = replace(found, left_out=kept, intervals=left.intervals)
        found = found.without_folds(request.folds)
    return check_precision(found, solved.hidden)


def fit_basis(
    rows: RowSet, request: Request, plan: Plan, indices: Array | None = None
) -> BasisTransformer:
    """Choose the functions, shared by all rows; landmarks at ``indices``, if they are drawn."""
    drawn = plan.basis.uniform_sample(rows.n_rows)
    kernel = kernel_of_rows(rows, request.kernel, drawn, request.seeds.rows)
    for_products = plan.form == "products" and plan.size > FACTORED
    unfitted = plan.basis.scored_at(penalty_of(request))
    how = kernel, request.seeds.basis(), plan.precision, plan.may_widen, for_products
    if indices is None:
        basis = unfitted.fit_source(rows, *how)
    else:
        basis = unfitted.fit_rows(rows, indices, *how)
    if basis.has_candidates:
        fewer = max(256, plan.block_rows * plan.size // max(1, basis.size))
        reading = Reading(min(plan.block_rows, fewer), plan.lanes)
        (moments,) = sum_moments(
            rows,
            request.targets,
            basis,
            reading,
            request.seeds.rows(),
            with_gram=basis.needs_gram,
            record="scores of candidates",
        )
        basis.choose_features(moments, request.seeds.features())
    if rows.sent is not None:
        # Landmarks that are rows, or all candidate rows.
        read = basis._n_read or count_numbers(basis.indices_)
        if read:
            rows.sent.record("landmarks", 0, -(-read * rows.n_features // rows.sent.shards))
    return basis


def penalty_of(request: Request) -> Penalty | None:
    """Return the penalty of a model, or what its steps are to act like; None if it is open."""
    rule = None if request.solver is None else request.solver.rule()
    return request.alpha if rule is None or rule.penalty is None else float(rule.penalty)


def solve(work: Work) -> tuple[Form, Outcome]:
    """Build the system in its planned form and solve it."""
    system = FORMS[work.plan.form](work)
    check_fits(work.solver, system)
    return system, SOLVES[work.solver.needs](
        system, work.request, work.solver, work.alpha, work.clock
    )


def finished(rows: RowSet, work: Work, system: Form, outcome: Outcome) -> Fit:
    """Return the record of a fit."""
    return Fit(
        basis=work.basis,
        plan=work.plan,
        total_weight=system.count,
        weight=system.weight,
        n_rows=rows.n_rows,
        seconds=work.clock.seconds,
        communication=rows.sent,
        **vars(outcome),
        **system.kept(),
    )

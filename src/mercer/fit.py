"""The pipeline: rows -> basis -> moments -> system -> solver -> model. Read this first.

:func:`fit` serves rows in one place and rows in shards alike: it asks a
:class:`~mercer.rows.rowset.RowSet` for sums over rows and never for the rows themselves. It
decides nothing that the plan has not, and knows nothing of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, Solution
from mercer.engines import blas_threads, count_numbers
from mercer.forms import FORMS, Work
from mercer.moments import sum_moments
from mercer.plan import Plan, plan_fit
from mercer.request import Request
from mercer.result import Clock, Fit, check_precision, float32_noise
from mercer.rows.rowset import RowSet
from mercer.sampling.pooled_kernel import kernel_of_rows
from mercer.selection import Scores, choose_alpha, iterate
from mercer.solvers import BaseSolver, Ridge, SolverPath, check_fits
from mercer.solvers.early_stopping import Run
from mercer.solvers.preconditioned import conjugate_gradients

#: Noise of float32 values in f, relative to the scale of y, from which float64 takes over.
NOISE = 1e-3
#: Functions up to which their Gram matrix is factored before a solve by products: it shows whether
#: they depend on each other, and whether float32 will do.
FACTORED = 3000


@dataclass(frozen=True)
class Outcome:
    """What a solver made of a system; fields are those of :class:`~mercer.result.Fit`."""

    coefficients: Array
    intercept: Array
    solution: Solution
    alpha: float
    alphas: Array | None = None
    scores: Scores | None = None
    effective_dimension: float | None = None
    path: SolverPath | None = None
    run: Run | None = None


def fit(
    rows: RowSet,
    request: Request,
    planned: tuple[Plan, BaseSolver] | None = None,
    functions: BasisTransformer | None = None,
) -> Fit:
    """Fit one model to all rows: their sums, whichever shards they come from.

    Parameters
    ----------
    rows : RowSet
        The rows.
    request : Request
        What is asked for.
    planned : (Plan, solver) or None
        A plan that was made already.
    functions : BasisTransformer or None
        A basis that is fitted already.
    """
    clock = Clock()
    plan, solver = plan_fit(rows, request) if planned is None else planned
    request = replace(request, solver=solver)
    alpha, chosen = request.alpha, {}
    if solver.regularized_by_steps and alpha is None:
        alpha = 0.0
    if plan.pilot is not None:  # products have no path of alphas: fewer functions choose it
        first = fit(rows, replace(request, previous=None), (plan.pilot, Ridge()))
        clock.seconds["choose alpha"] = sum(first.seconds.values())
        alpha, chosen = first.alpha, {"alphas": first.alphas, "scores": first.scores}
    with clock.stage("basis"):
        known = functions or (None if request.previous is None else request.previous.basis)
        basis = fit_basis(rows, request, plan) if known is None else known
    work = Work(rows, request, plan, solver, basis, clock, alpha)
    system, outcome = solve(work)
    hidden = system.hidden(outcome.solution) if plan.form == "moments" else 0
    noise = float32_noise(basis, outcome.coefficients) if plan.form == "products" else 0.0
    if plan.may_widen and (hidden or noise > NOISE):
        basis.factorize(may_widen=True)
        basis.widen()
        system, outcome = solve(replace(work, request=replace(request, previous=None)))
        hidden = 0
    return check_precision(finished(rows, work, system, replace(outcome, **chosen)), hidden)


def fit_basis(rows: RowSet, request: Request, plan: Plan) -> BasisTransformer:
    """Choose the functions that all rows share."""
    drawn = plan.basis.uniform_sample(rows.n_rows)
    kernel = kernel_of_rows(rows, request.kernel, drawn, request.seeds.rows)
    for_products = plan.form == "products" and plan.size > FACTORED
    basis = plan.basis.fit_source(
        rows,  # type: ignore[arg-type]
        kernel,
        request.seeds.basis(),
        plan.precision,
        plan.may_widen,
        for_products,
    )
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
        # Landmarks that are rows, or all rows that they were chosen among.
        read = getattr(basis, "_n_read", 0) or count_numbers(getattr(basis, "indices_", None))
        if read:
            rows.sent.record("landmarks", 0, -(-read * rows.n_features // rows.sent.shards))
    return basis


def solve(work: Work) -> tuple[Any, Outcome]:
    """Build the system in the form that was planned, and solve it."""
    system = FORMS[work.plan.form](work)
    check_fits(work.solver, system)
    return system, SOLVES[work.solver.needs](system, work)


def solve_directly(system: Any, work: Work) -> Outcome:
    """Score the path if alpha is open, then solve for one alpha."""
    request, alpha = work.request, work.alpha
    path, scores, effective = None, None, None
    if alpha is None:
        with work.clock.stage("choose alpha"):
            alpha, path, scores = choose_alpha(
                system, request.alphas, request.criterion, request.seeds.solve()
            )
            effective = system.spectrum.effective_dimension(alpha)
    with work.clock.stage("solve"):
        solution = work.solver.solve(system, alpha)
        if work.solver.cuts_off:  # a count of components, known from the solve
            effective = system.spectrum.effective_dimension(alpha)
        coefficients, constant = system.coefficients(solution.value)
    return Outcome(coefficients, constant, solution, alpha, path, scores, effective)


def solve_by_steps(system: Any, work: Work) -> Outcome:
    """Run an iterative solver, from where an earlier run stopped if there is one."""
    request, alpha = work.request, work.alpha
    assert alpha is not None
    run = None if request.previous is None else request.previous.run
    with work.clock.stage("solve"):
        found = iterate(
            system,
            work.solver,
            alpha,
            request.seeds.solve(),
            run,
            request.step_progress(),
        )
    return Outcome(
        found.coefficients, found.intercept, found.solution, alpha, path=found.path, run=found.run
    )


def solve_by_products(system: Any, work: Work) -> Outcome:
    """Run conjugate gradients, from the solution of an earlier fit if there is one."""
    request, solver, alpha = work.request, work.solver, work.alpha
    assert alpha is not None
    start = None if request.previous is None else request.previous.solution.value
    if start is not None and start.shape != system.b.shape:
        start = None
    tolerance = solver.tolerance or system.tolerance
    # Products run on all cores by themselves; what else there is, is small.
    with work.clock.stage("solve"), blas_threads(1):
        solution = conjugate_gradients(
            system,
            tolerance,
            solver.max_steps,
            start,
            request.step_progress(),
        )
    path = SolverPath(residuals=solution.residuals[1:])
    coefficients, constant = system.coefficients(solution.value)
    return Outcome(coefficients, constant, solution, alpha, path=path)


#: How a system is solved, by what the solver needs of it.
SOLVES: dict[str, Callable[[Any, Work], Outcome]] = {
    "matrix": solve_directly,
    "steps": solve_by_steps,
    "products": solve_by_products,
}


def finished(rows: RowSet, work: Work, system: Any, outcome: Outcome) -> Fit:
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

"""Solve a system: directly, iteratively with early stopping, or by products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.contracts import Array, Penalty
from mercer.engines import blas_threads
from mercer.leaving_out import Model
from mercer.request import Request
from mercer.result import Clock
from mercer.selection import Scores, choose_alpha, iterate
from mercer.selection.criteria import Scored
from mercer.solvers import BaseSolver, SolverPath
from mercer.solvers.conjugate_gradients import conjugate_gradients
from mercer.solvers.early_stopping import Run
from mercer.systems import KernelProductSystem, ProductSystem


@dataclass(frozen=True)
class Outcome(Model):
    """The outcome of a solve; fields are those of :class:`~mercer.result.Fit`."""

    alphas: Array | None = None
    scores: Scores | None = None
    effective_dimension: Penalty | None = None
    path: SolverPath | None = None
    run: Run | None = None
    residual_square: Array | None = None


def solve_directly(
    system: Scored, request: Request, solver: BaseSolver, alpha: Penalty | None, clock: Clock
) -> Outcome:
    """Score the path if alpha is open, then solve for one alpha."""
    path, scores, effective = None, None, None
    if alpha is None:
        with clock.stage("choose alpha"):
            alpha, path, scores = choose_alpha(
                system, request.alphas, request.criterion, request.seeds.solve()
            )
            effective = system.decomposition.effective_dimension(alpha)
    with clock.stage("solve"):
        solution = solver.solve(system, alpha)
        if solver.cuts_off:  # the number of components, known from the solve
            effective = system.spectrum.effective_dimension(alpha)
        coefficients, constant = system.coefficients(solution.value)
    return Outcome(coefficients, constant, solution, alpha, path, scores, effective)


def solve_by_steps(
    system: Scored, request: Request, solver: BaseSolver, alpha: Penalty | None, clock: Clock
) -> Outcome:
    """Run an iterative solver, resuming an earlier run if there is one."""
    assert isinstance(alpha, float)
    run = None if request.previous is None else request.previous.run
    with clock.stage("solve"):
        found = iterate(
            system,
            solver,
            alpha,
            request.seeds.solve(),
            run,
            request.step_progress(),
        )
    return Outcome(
        found.coefficients, found.intercept, found.solution, alpha, path=found.path, run=found.run
    )


def solve_by_products(
    system: ProductSystem | KernelProductSystem,
    request: Request,
    solver: Any,
    alpha: Penalty | None,
    clock: Clock,
) -> Outcome:
    """Run conjugate gradients, starting from the solution of an earlier fit if there is one."""
    assert isinstance(alpha, float)
    start = None if request.previous is None else request.previous.solution.value
    if start is not None and start.shape != system.b.shape:
        start = None
    tolerance = solver.tolerance or system.tolerance
    # Products use all cores by themselves; the rest is small.
    with clock.stage("solve"), blas_threads(1):
        solution = conjugate_gradients(
            system,
            tolerance,
            solver.max_steps,
            start,
            request.step_progress(),
            system.rounding,
            system.weakest,
        )
    path = SolverPath(residuals=solution.residuals[1:])
    coefficients, constant = system.coefficients(solution.value)
    left = system.residual_square(solution)
    return Outcome(coefficients, constant, solution, alpha, path=path, residual_square=left)


#: The function that solves a system, by what the solver needs.
SOLVES: dict[str, Callable[[Any, Request, Any, Penalty | None, Clock], Outcome]] = {
    "matrix": solve_directly,
    "steps": solve_by_steps,
    "products": solve_by_products,
}

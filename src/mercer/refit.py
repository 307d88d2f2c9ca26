"""Work with an existing fit: solve it again with other rows, resume it, or inspect it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mercer.contracts import Array, Penalty, Targets
from mercer.forms import kernel_matrix_system
from mercer.moments import Moments
from mercer.request import Request
from mercer.result import Clock, Fit, check_precision
from mercer.solvers import BaseSolver, Ridge
from mercer.solving import Outcome, solve_by_steps, solve_directly
from mercer.systems import KernelMatrixSystem, MomentSystem


def refit(previous: Fit, folds: list[Moments], request: Request) -> Fit:
    """Solve again, after moments were added or subtracted."""
    solver = request.solver or Ridge()
    how = request.intercept, request.error_units, solver.cuts_off
    system = MomentSystem(folds, previous.basis, *how)
    clock = Clock()
    outcome = _solved(system, replace(request, previous=None), solver, clock)
    found = Fit(
        basis=previous.basis,
        plan=previous.plan,
        total_weight=system.count,
        weight=system.weight,
        n_rows=system.total.rows,
        folds=folds,
        seconds=clock.seconds,
        **vars(outcome),
    )
    return check_precision(found)


def resume(previous: Fit, request: Request) -> Fit:
    """Resume the iteration of a fit, without repeating its steps."""
    clock, solver = Clock(), request.solver
    assert solver is not None
    system = system_of_fit(previous, request)
    outcome = _solved(system, replace(request, previous=previous), solver, clock)
    # Models without folds would have to take as many steps.
    return replace(previous, **vars(outcome), seconds=clock.seconds, left_out=None, intervals=None)


def _solved(
    system: MomentSystem | KernelMatrixSystem, request: Request, solver: BaseSolver, clock: Clock
) -> Outcome:
    by_steps = solver.regularized_by_steps
    alpha = 0.0 if by_steps and request.alpha is None else request.alpha
    return (solve_by_steps if by_steps else solve_directly)(system, request, solver, alpha, clock)


def system_of_fit(found: Fit, request: Request) -> MomentSystem | KernelMatrixSystem:
    """Return the system that a fit solved."""
    if found.folds is not None:
        return MomentSystem(found.folds, found.basis, request.intercept, request.units)
    assert found.dual_rows is not None
    return kernel_matrix_system(found.basis, *found.dual_rows, request)


def coefficients_of_steps(
    found: Fit, values: Sequence[Array], request: Request
) -> Iterator[tuple[Array, Array]]:
    """Yield coefficients and intercepts for solutions in the solver's coordinates."""
    system = system_of_fit(found, request)
    for value in values:
        yield system.coefficients(value)


def effective_dimension(found: Fit, targets: Targets, intercept: bool) -> Penalty:
    """Return ``trace(A (A + alpha)^-1)`` of a fit whose alpha was given, for each alpha."""
    system = system_of_fit(found, Request(targets, intercept=intercept))
    return system.decomposition.effective_dimension(found.alpha)

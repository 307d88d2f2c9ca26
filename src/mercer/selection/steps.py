"""Choose the number of steps of an iterative solver by its stopping rule.

Held-out errors need no further pass: the training moments of a fold are the total minus the fold,
and the error on the fold is a function of its moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.contracts import Array, ErrorOf, IteratedSystem, Solution, Status, StepProgress
from mercer.selection.criteria import Scored
from mercer.solvers import IterativeSolver
from mercer.solvers.early_stopping import Run, SolverPath, run_to
from mercer.solvers.search import best_step


@dataclass
class Iterated:
    """The result of an iterative solver."""

    coefficients: Array
    intercept: Array
    solution: Solution
    path: SolverPath
    run: Run


def iterate(
    system: Scored,
    solver: IterativeSolver,
    alpha: float,
    rng: np.random.Generator,
    run: Run | None = None,
    progress: StepProgress | None = None,
) -> Iterated:
    """Choose the number of steps by the rule, and take them on all rows.

    ``run`` is an earlier run of the same system, to resume.
    """
    rule = solver.rule()
    labels = None if run is None else run.labels
    parts: Sequence[tuple[IteratedSystem, ErrorOf]] = ()
    if rule.folds > 1:
        parts, labels = system.held_out(rule, alpha, rng, labels)
        if not parts:
            raise ValueError(
                f"the rule '{rule.label}' needs training and held-out rows, got n_samples="
                f"{system.count:g}: use more rows, or stop=StopAfter(steps)"
            )
    if run is None or not run.resumable:
        run = Run.of(solver, system.at(alpha))
    run.labels = labels
    solution, path = _take_steps(system, solver, parts, run, progress)
    return Iterated(*system.coefficients(solution.value), solution, path, run)


def _take_steps(
    system: Scored,
    solver: IterativeSolver,
    parts: Sequence[tuple[IteratedSystem, ErrorOf]],
    run: Run,
    progress: StepProgress | None,
) -> tuple[Solution, SolverPath]:
    """Find the best step if the rule uses held-out rows, then run to it."""
    rule = solver.rule()
    (limit, fixed), search = solver.steps_to_take(run.system), None
    if parts:
        runs = [Run.of(solver, part, keep=False) for part, _ in parts]
        search = best_step(runs, [error for _, error in parts], rule, limit, progress)
        limit, fixed = search.step, True
    spread = np.sqrt(system.target_square)
    solution, path = run_to(
        run,
        rule,
        limit,
        training=system.training_error(run.system),  # type: ignore[arg-type]
        rows=system.count,
        limit_is_goal=fixed,
        spread=np.where(spread > 0, spread, 1.0),
        progress=progress,
    )
    if search is None:
        return solution, path
    path.by_fold, path.validation_error = search.errors, search.errors.mean(axis=0)
    if search.interrupted and solution.status is not Status.INTERRUPTED:
        made = f"{solution.steps} taken"
        reason = f"{solver.name}: interrupted in the search for the best step; {made}"
        solution = replace(solution, status=Status.INTERRUPTED, reason=reason)
    elif search.note and solution.status.succeeded:
        reason = f"{solver.name}, on a fold: {search.note}"
        solution = replace(solution, status=Status.BREAKDOWN, reason=reason)
    return solution, path

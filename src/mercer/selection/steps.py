"""How many steps an iterative solver takes: its rule, on moments or on the kernel matrix.

Rows that judge a step are pieces of the same pass: the training moments of a fold are the total
minus the fold's own, and the error on it is a function of its moments alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.contracts import Array, Solution, Status
from mercer.moments import Moments, NormalEquations
from mercer.sampling import fold_labels
from mercer.solvers import DualSystem, IterativeSolver
from mercer.solvers.dual import ABSENT
from mercer.solvers.early_stopping import Judge, Run, SolverPath, StepProgress, run_to
from mercer.solvers.search import best_step
from mercer.solvers.stopping import StoppingRule
from mercer.solvers.systems import KernelSystem, MatrixSystem

if TYPE_CHECKING:
    from mercer.selection.problems import PrimalProblem


@dataclass
class Iterated:
    """What an iterative solver found."""

    coefficients: Array
    intercept: Array
    solution: Solution
    path: SolverPath
    run: Run


def iterate_primal(
    problem: PrimalProblem,
    solver: IterativeSolver,
    alpha: float,
    run: Run | None,
    progress: StepProgress | None,
) -> Iterated:
    """Choose the number of steps from the folds' moments, and take them on all rows."""
    rule, whitener = solver.rule(), problem.whitener

    def judge(moments: Moments, equations: Any) -> Judge:
        def error(value: Array) -> float:
            c = whitener.coefficients(value)
            by_column = moments.squared_error(c, equations.intercept(c)) / moments.target_weight
            return float(by_column @ problem.units)

        return error

    runs, judges = [], []
    if rule.folds > 1:
        for fold in problem.folds if rule.held_out is None else problem.folds[-1:]:
            train = problem.total - fold
            if fold.rows > 0 and train.rows > 0:
                part = problem.normal_equations(train)
                runs.append(Run.of(solver, _matrix_system(problem, part, alpha), keep=False))
                judges.append(judge(fold, part))
    equations = problem.equations
    if run is None or not run.lasting:
        run = Run.of(solver, _matrix_system(problem, equations, alpha))
    training = judge(problem.total, equations)
    spread = np.sqrt(equations.target_square)
    solution, path = _take_steps(
        solver, rule, runs, judges, run, training, problem.count, spread, progress
    )
    return Iterated(*problem.coefficients(solution.value), solution, path, run)


def _matrix_system(
    problem: PrimalProblem, equations: NormalEquations, alpha: float
) -> MatrixSystem:
    """Return the system of normal equations; zero where all rows are alike.

    Centering then leaves rounding in A and b, and a step as long as A is small would blow it up.
    """
    m = problem.whitener.vectors(equations.mean_h)
    rounding = 8 * np.finfo(problem.basis.precision_).eps * float(m @ m)
    empty = bool(np.trace(equations.A) <= rounding)
    A, b = equations.A, equations.b
    return MatrixSystem(A, np.zeros_like(b) if empty else b, alpha)


def iterate_dual(
    system: DualSystem,
    units: Array,
    solver: IterativeSolver,
    alpha: float,
    rng: np.random.Generator,
    run: Run | None,
    progress: StepProgress | None,
) -> Iterated:
    """Choose the number of steps from folds of the rows, and take them on all of them."""
    rule = solver.rule()
    weight = np.where(system.weight > ABSENT, system.weight, 0.0)

    def part(weight: Array) -> KernelSystem:
        return KernelSystem(system.K, system.Y, weight, system.intercept, alpha)

    def judge(weight: Array, fitted: KernelSystem) -> Judge:
        def error(value: Array) -> float:
            f = fitted.metric(value)
            left = system.Y - f - fitted.constant(f)
            return float(weight @ left**2 @ units / weight.sum())

        return error

    runs, judges = [], []
    labels = None if run is None else run.labels
    if rule.folds > 1:
        if labels is None:
            present = np.flatnonzero(weight)
            labels = np.full(len(weight), -1)
            labels[present] = fold_labels(len(present), rule.folds, rng, rule.held_out)
        for fold in range(rule.folds) if rule.held_out is None else [1]:
            out, rest = np.where(labels == fold, weight, 0), np.where(labels == fold, 0, weight)
            if out.any() and rest.any():
                runs.append(Run.of(solver, part(rest), keep=False))
                judges.append(judge(out, part(rest)))
    whole = part(weight)
    if run is None or not run.lasting:
        run = Run.of(solver, whole)
    run.labels = labels
    training, spread = judge(weight, whole), np.sqrt(system.target_square)
    solution, path = _take_steps(
        solver, rule, runs, judges, run, training, system.count, spread, progress
    )
    constant = whole.constant(whole.metric(solution.value))
    return Iterated(solution.value, constant, solution, path, run)


def _take_steps(
    solver: IterativeSolver,
    rule: StoppingRule,
    runs: list[Run],
    judges: list[Judge],
    run: Run,
    training: Judge,
    rows: float,
    spread: Array,
    progress: StepProgress | None,
) -> tuple[Solution, SolverPath]:
    """Find the best step if the rule looks at other rows, then run to it."""
    limit, fixed, search = rule.limit(solver.max_steps), rule.counts, None
    if rule.folds > 1:
        if not runs:
            raise ValueError(
                f"the rule '{rule.label}' needs rows on both sides, got n_samples={rows:g}: give "
                f"more rows, or stop=StopAfter(steps)"
            )
        search = best_step(runs, judges, rule, limit, progress)
        limit, fixed = search.step, True
    spread = np.where(spread > 0, spread, 1.0)
    solution, path = run_to(run, rule, limit, rows, training, solver.name, fixed, progress, spread)
    if search is None:
        return solution, path
    path.by_fold, path.validation_error = search.errors, search.errors.mean(axis=0)
    if search.interrupted and solution.status is not Status.INTERRUPTED:
        reason = f"{solver.name}: interrupted while the best step was sought; {solution.steps} made"
        solution = replace(solution, status=Status.INTERRUPTED, reason=reason)
    elif search.note and solution.status.succeeded:
        reason = f"{solver.name}, on a fold: {search.note}"
        solution = replace(solution, status=Status.BREAKDOWN, reason=reason)
    return solution, path

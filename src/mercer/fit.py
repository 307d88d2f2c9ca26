"""The pipeline: rows -> basis -> moments -> solver -> model. Read this first.

:func:`fit` is what every estimator calls. It decides nothing that the plan has not, and knows
nothing of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from mercer.bases import BasisTransformer, RandomFeatures
from mercer.contracts import Array, RowSource
from mercer.kernels import Kernel
from mercer.matrix_free import fit_by_products
from mercer.moments import Moments
from mercer.passes import accumulate, dual_system, leave_one_out, settle
from mercer.result import Clock, Fit, Progress, Targets, judged
from mercer.selection import Criterion, DualProblem, Plan, PrimalProblem, Problem
from mercer.solvers import (
    CutOff,
    DirectSolver,
    DualSystem,
    IterativeSolver,
    PreconditionedCG,
    Ridge,
)
from mercer.solvers.early_stopping import Run

Solver: TypeAlias = DirectSolver | IterativeSolver | PreconditionedCG


def fit(
    source: RowSource,
    targets: Targets,
    kernel: Kernel,
    plan: Plan,
    solver: Solver,
    *,
    alpha: float | None,
    alphas: Array | None,
    criterion: Criterion,
    intercept: bool,
    rng: np.random.Generator,
    progress: Progress | None = None,
    previous: Fit | None = None,
    shared: BasisTransformer | None = None,
) -> Fit:
    """Fit a model to a source; ``alpha`` None means to choose it by the criterion.

    ``previous`` is a fit of the same rows that a solve by products may start from; ``shared`` is a
    basis that is fitted already.
    """
    clock = Clock()
    if isinstance(solver, PreconditionedCG):
        chooses = isinstance(plan.basis, RandomFeatures) and plan.basis.sampling != "plain"
        if shared is None and previous is None and chooses:
            with clock.stage("basis"):
                shared = plan.basis.fit_source(source, kernel, rng, plan.precision)
                settle(shared, source, targets, plan, rng)
        chosen: dict[str, Any] = {}
        if alpha is None:
            first = pilot(source, targets, kernel, plan, alphas, criterion, intercept, rng)
            clock.seconds["choose alpha"] = sum(first.seconds.values())
            alpha, chosen = first.alpha, {"alphas": first.alphas, "scores": first.scores}
        by_products = fit_by_products(
            source,
            targets,
            kernel,
            plan,
            solver,
            alpha=alpha,
            intercept=intercept,
            rng=rng,
            clock=clock,
            progress=progress,
            previous=previous,
            shared=shared,
        )
        return judged(replace(by_products, **chosen))
    direct = Ridge() if isinstance(solver, IterativeSolver) else solver
    with clock.stage("basis"):
        basis = shared or plan.basis.fit_source(source, kernel, rng, plan.precision, plan.may_widen)
        settle(basis, source, targets, plan, rng, progress)

    def second_pass(*arguments: Any) -> tuple[Array, Array]:
        return leave_one_out(source, targets, basis, plan, *arguments)

    def by_moments() -> PrimalProblem:
        with clock.stage("moments"):
            folds = accumulate(source, targets, basis, plan, rng, progress)
        return PrimalProblem(folds, basis, direct, intercept, targets.scale**2, second_pass)

    def by_rows() -> DualProblem:
        with clock.stage("kernel matrix"):
            system = dual_system(source, targets, basis, intercept)
        return DualProblem(system, direct, targets.scale**2)

    def solved(problem: Problem) -> dict[str, Any]:
        if isinstance(solver, IterativeSolver):
            return iterate(problem, clock, solver, alpha, rng, progress)
        return choose_and_solve(problem, clock, alpha, alphas, criterion, rng)

    if basis.dual:
        rows = by_rows()
        result = solved(rows)
        result.update(folds=None, dual_rows=(rows.system.Y, rows.system.weight))
        result.update(weight=rows.system.total)
        hidden = 0
    else:
        moments = by_moments()
        result = solved(moments)
        hidden = moments.hidden(result["solution"])
        if hidden and plan.may_widen:
            basis.widen()
            moments, hidden = by_moments(), 0
            result = solved(moments)
        result.update(folds=list(moments.folds), weight=moments.total.weight)
    found = Fit(**result, basis=basis, plan=plan, n_rows=source.n_rows, seconds=clock.seconds)
    return judged(found, hidden)


def pilot(
    source: RowSource,
    targets: Targets,
    kernel: Kernel,
    plan: Plan,
    alphas: Array | None,
    criterion: Criterion,
    intercept: bool,
    rng: np.random.Generator,
) -> Fit:
    """Choose alpha with fewer functions, by moments: products have no path of alphas."""
    assert plan.pilot is not None
    return fit(
        source,
        targets,
        kernel,
        plan.pilot,
        Ridge(),
        alpha=None,
        alphas=alphas,
        criterion=criterion,
        intercept=intercept,
        rng=rng,
    )


def refit(
    previous: Fit,
    folds: list[Moments],
    solver: Solver,
    units: Array,
    *,
    alpha: float | None,
    alphas: Array | None,
    criterion: Criterion,
    intercept: bool,
    rng: np.random.Generator,
    run: Run | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Solve again: after moments were added or subtracted, or to go on with a run."""
    clock = Clock()
    direct = Ridge() if isinstance(solver, IterativeSolver) else solver
    problem = PrimalProblem(folds, previous.basis, direct, intercept, units)
    if isinstance(solver, IterativeSolver):
        result = iterate(problem, clock, solver, alpha, rng, progress, run)
    else:
        result = choose_and_solve(problem, clock, alpha, alphas, criterion, rng)
    result.update(basis=previous.basis, plan=previous.plan, folds=folds)
    return judged(Fit(**result, n_rows=problem.total.rows, seconds=clock.seconds))


def resume(
    previous: Fit,
    solver: IterativeSolver,
    units: Array,
    *,
    alpha: float | None,
    intercept: bool,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Fit:
    """Go on with the iteration of a fit: the steps that it made are not made again."""
    clock, problem = Clock(), _problem(previous, intercept, units)
    result = iterate(problem, clock, solver, alpha, rng, progress, previous.run)
    return replace(previous, **result, seconds=clock.seconds)


def _problem(found: Fit, intercept: bool, units: Array) -> PrimalProblem | DualProblem:
    """Return the problem that a fit solved, for a further look at it."""
    if found.folds is not None:
        return PrimalProblem(found.folds, found.basis, Ridge(), intercept, units)
    gram = found.basis.gram()
    assert gram is not None
    assert found.dual_rows is not None
    return DualProblem(DualSystem(gram, *found.dual_rows, intercept), Ridge(), units)


def unwhitened(
    found: Fit, values: Sequence[Array], intercept: bool
) -> Iterator[tuple[Array, Array]]:
    """Yield coefficients and intercepts for solutions in the solver's coordinates."""
    problem = _problem(found, intercept, np.ones(1))
    for value in values:
        yield problem.coefficients(value)


def choose_and_solve(
    problem: Problem,
    clock: Clock,
    alpha: float | None,
    alphas: Array | None,
    criterion: Criterion,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Score the path if alpha is open, then solve for one alpha."""
    scores, effective = None, None
    if alpha is None:
        with clock.stage("choose alpha"):
            alphas = default_alphas(problem) if alphas is None else alphas
            scores = criterion.score(problem, alphas, rng)
            alpha = best_alpha(alphas, scores.mean, float(problem.target_square @ problem.units))
            effective = problem.spectrum.effective_dimension(alpha)
    else:
        alphas = None
    with clock.stage("solve"):
        coefficients, constant, solution = problem.solve(alpha)
        if isinstance(problem.solver, CutOff):  # a count of components, known from the solve
            effective = problem.spectrum.effective_dimension(alpha)
    return {
        "coefficients": coefficients,
        "intercept": constant,
        "solution": solution,
        "alpha": alpha,
        "alphas": alphas,
        "scores": scores,
        "effective_dimension": effective,
        "total_weight": problem.count,
    }


def iterate(
    problem: Problem,
    clock: Clock,
    solver: IterativeSolver,
    alpha: float | None,
    rng: np.random.Generator,
    progress: Progress | None,
    run: Run | None = None,
) -> dict[str, Any]:
    """Run an iterative solver; its steps regularize, so an open alpha is 0."""
    alpha = 0.0 if alpha is None else alpha

    def report(done: int, total: int, note: str) -> None:
        if progress is not None:
            progress("solve", done, total, "steps", note)

    with clock.stage("solve"):
        found = problem.iterate(solver, alpha, rng, run, report)
    return {
        "coefficients": found.coefficients,
        "intercept": found.intercept,
        "solution": found.solution,
        "alpha": alpha,
        "total_weight": problem.count,
        "path": found.path,
        "run": found.run,
    }


def effective_dimension(found: Fit, intercept: bool) -> float:
    """Return ``trace(A (A + alpha)^-1)`` of a fit whose alpha was given."""
    return _problem(found, intercept, np.ones(1)).spectrum.effective_dimension(found.alpha)


def default_alphas(problem: Problem, number: int = 20) -> Array:
    """Return a path from the largest eigenvalue of A down to 1e-9 of it.

    It ends earlier where the smallest eigenvalue is larger: an alpha well below it changes nothing.
    """
    values = problem.spectrum.values
    if not values.size or not values[-1] > 0:
        return np.geomspace(1e-9, 1.0, number)
    smallest = float(values[values > 0][0])
    return np.geomspace(max(1e-9 * values[-1], 0.03 * smallest), values[-1], number)


def best_alpha(alphas: Array, scores: Array, scale: float) -> float:
    """Return the alpha of the lowest score; the largest one where no score is finite.

    Scores that differ by less than their rounding count as equal, and the largest alpha wins: on
    data that are fitted perfectly rounding must not choose. ``scale`` is the mean square of y.
    """
    finite = np.where(np.isfinite(scores), scores, np.inf)
    lowest = max(float(finite.min()) * (1 + 1e-9), 1e-12 * scale)
    return float(alphas[np.flatnonzero(finite <= lowest)[-1]])

"""The pipeline: rows -> basis -> moments -> solver -> model. Read this first.

:func:`fit` is what every estimator calls. It decides nothing that the plan has not, and knows
nothing of scikit-learn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, RowBlock, RowSource, Solution
from mercer.engines import Lanes
from mercer.kernels import Kernel
from mercer.moments import Moments, MomentSums, Workspace
from mercer.sampling import uniform_indices
from mercer.selection import Criterion, DualProblem, Plan, PrimalProblem, Problem
from mercer.selection.folds import fold_labels
from mercer.selection.leave_one_out import RowErrors
from mercer.solvers import DualSystem, Ridge
from mercer.solvers.dual import ABSENT
from mercer.validation import check_finite, check_overflow, check_total_weight, check_weight

#: Called with the name of the stage, the rows done so far, and all rows.
Progress = Callable[[str, int, int], None]


class Targets(Protocol):
    """Turns y as the user has it into columns of numbers of order one."""

    @property
    def outputs(self) -> int:
        """k, the number of columns."""

    @property
    def scale(self) -> Array:
        """What one unit of an encoded column is in the user's units; shape (k,)."""

    def encode(self, y: Array, start: int) -> Array:
        """Return y of shape (rows, k) in float64."""


@dataclass
class Fit:
    """Everything a fit found."""

    basis: BasisTransformer
    plan: Plan
    coefficients: Array  # (M, k), for encoded targets
    intercept: Array  # (k,)
    solution: Solution
    alpha: float
    total_weight: float
    n_rows: int
    effective_dimension: float | None = None
    alphas: Array | None = None
    scores: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    folds: list[Moments] | None = None  # None for the full kernel
    dual_rows: tuple[Array, Array] | None = None  # targets (n, k) and weights of the full kernel


class Clock:
    """Wall time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def fit(
    source: RowSource,
    targets: Targets,
    kernel: Kernel,
    plan: Plan,
    solver: Ridge,
    *,
    alpha: float | None,
    alphas: Array | None,
    criterion: Criterion,
    intercept: bool,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Fit:
    """Fit a model to a source; ``alpha`` None means to choose it by the criterion."""
    clock = Clock()
    with clock.stage("basis"):
        basis = plan.basis.fit_source(source, kernel, rng, plan.precision, plan.may_widen)
    problem: Problem
    folds: list[Moments] | None = None
    dual_rows = None
    if basis.dual:
        with clock.stage("kernel matrix"):
            system = dual_system(source, targets, basis, intercept)
        problem = DualProblem(system, solver, targets.scale**2)
        dual_rows = system.Y, system.weight
    else:
        with clock.stage("moments"):
            folds = accumulate(source, targets, basis, plan, rng, progress)

        def second_pass(*arguments: Any) -> tuple[Array, Array]:
            return leave_one_out(source, targets, basis, plan, *arguments)

        problem = PrimalProblem(folds, basis, solver, intercept, targets.scale**2, second_pass)
    result = choose_and_solve(problem, clock, alpha, alphas, criterion, rng)
    result.update(basis=basis, plan=plan, folds=folds, dual_rows=dual_rows)
    return Fit(**result, n_rows=source.n_rows, seconds=clock.seconds)


def refit(previous: Fit, folds: list[Moments], solver: Ridge, units: Array, **how: Any) -> Fit:
    """Solve again after moments were added or subtracted; the basis stays."""
    clock = Clock()
    problem = PrimalProblem(folds, previous.basis, solver, how.pop("intercept"), units)
    result = choose_and_solve(problem, clock, **how)
    result.update(basis=previous.basis, plan=previous.plan, folds=folds)
    return Fit(**result, n_rows=problem.total.rows, seconds=clock.seconds)


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


def effective_dimension(found: Fit, intercept: bool) -> float:
    """Return ``trace(A (A + alpha)^-1)`` of a fit whose alpha was given."""
    if found.folds is None:
        gram = found.basis.gram()
        assert gram is not None
        assert found.dual_rows is not None
        spectrum = DualSystem(gram, *found.dual_rows, intercept).spectrum
    else:
        spectrum = PrimalProblem(found.folds, found.basis, Ridge(), intercept, np.ones(1)).spectrum
    return spectrum.effective_dimension(found.alpha)


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


def checked_blocks(
    source: RowSource, targets: Targets, rows: int
) -> Iterator[tuple[RowBlock, Array]]:
    """Yield blocks with their encoded targets; refuse what is not finite where it stands."""
    weight_seen = 0.0
    for block in source.blocks(rows):
        check_finite(block.X, start=block.start, names=source.feature_names)
        if block.weight is not None:
            check_weight(block.weight, start=block.start)
            weight_seen += float(block.weight.sum())
        else:
            weight_seen += block.n_rows
        if block.y is None:
            raise ValueError(
                "a fit needs targets, and the source has none: name the column (target=...)"
            )
        yield block, targets.encode(block.y, block.start)
    check_total_weight(weight_seen)


def accumulate(
    source: RowSource,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Moments]:
    """Return the moments of a source, one for each fold of the plan, from one pass."""
    seed = int(rng.integers(2**63))

    def pieces() -> Iterator[tuple[int, Any, Array, Array | None, int]]:
        # With folds, as many rows are read as fill a block for each, so that blocks stay large.
        for number, (block, Y) in enumerate(
            checked_blocks(source, targets, plan.block_rows * plan.folds)
        ):
            if plan.folds == 1:
                yield 0, block.X, Y, block.weight, block.n_rows
                continue
            labels = fold_labels(block.n_rows, plan.folds, np.random.default_rng([seed, number]))
            for fold in range(plan.folds):
                at = np.flatnonzero(labels == fold)
                weight = None if block.weight is None else block.weight[at]
                yield fold, block.X[at], Y[at], weight, len(at)

    def make() -> list[MomentSums]:
        workspace = Workspace(basis.size, basis.precision_)
        return [MomentSums(basis, targets.outputs, workspace) for _ in range(plan.folds)]

    done = 0

    def report(piece: tuple[int, Any, Array, Array | None, int]) -> None:
        nonlocal done
        done += piece[4]
        if progress is not None:
            progress("moments", done, source.n_rows)

    lanes = Lanes(make, plan.lanes).run(
        pieces(), lambda sums, piece: sums[piece[0]].add(*piece[1:4]), report
    )
    folds = []
    for fold in range(plan.folds):
        total = lanes[0][fold]
        for lane in lanes[1:]:
            total.absorb(lane[fold])
        folds.append(total.total())
    return folds


def dual_system(
    source: RowSource, targets: Targets, basis: BasisTransformer, intercept: bool
) -> DualSystem:
    """Return the dual system of all rows of a source."""
    blocks = list(checked_blocks(source, targets, max(1, source.n_rows)))
    Y = np.vstack([Y for _, Y in blocks])
    weights = [
        np.ones(block.n_rows) if block.weight is None else block.weight for block, _ in blocks
    ]
    weight = np.concatenate(weights)
    gram = basis.gram()
    assert gram is not None
    check_overflow(gram, "float64")
    # Rows of weight 0 have no part in the fit; their coefficient is 0 through an infinite ridge.
    return DualSystem(gram, Y, np.maximum(weight, ABSENT), intercept)


def leave_one_out(
    source: RowSource,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    problem: PrimalProblem,
    alphas: Array,
    sample: int | None,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Read rows a second time; return squared errors (rows, alphas) and weights."""
    chosen = None if sample is None else uniform_indices(source.n_rows, sample, rng)

    def pieces() -> Iterator[tuple[int, Any, Array, Array | None]]:
        for block, Y in checked_blocks(source, targets, plan.block_rows):
            if chosen is None:
                yield block.start, block.X, Y, block.weight
                continue
            low, high = np.searchsorted(chosen, [block.start, block.start + block.n_rows])
            at = chosen[low:high] - block.start
            if len(at):
                weight = None if block.weight is None else block.weight[at]
                yield block.start, block.X[at], Y[at], weight

    lanes = Lanes(lambda: RowErrors(basis, problem, alphas), plan.lanes).run(
        pieces(), lambda errors, piece: errors.add(*piece)
    )
    errors = {start: e for lane in lanes for start, e in lane.errors.items()}
    weights = {start: w for lane in lanes for start, w in lane.weights.items()}
    order = sorted(errors)
    return np.vstack([errors[i] for i in order]), np.concatenate([weights[i] for i in order])

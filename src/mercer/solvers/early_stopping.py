"""Run an iterative solver until its stopping rule is satisfied, and record its path.

A rule may choose the number of steps by held-out errors, which need no further pass: the training
moments of a fold are the total minus the fold, and the error on it is a function of its moments.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mercer.contracts import Array, ErrorOf, IteratedSystem, Solution, Status, StepProgress
from mercer.solvers.solver import Iterate, IterativeSolver
from mercer.solvers.stopping import StoppingRule
from mercer.storage.state import Each, Numbers, Part, Sizes, State
from mercer.systems import KernelMatrixSystem, MomentSystem
from mercer.systems.iterated import lengths
from mercer.validation import check_array

#: The most bytes of iterates that a path stores.
KEPT = 256 * 2**20


#: What holds for a curve; it may contain infinity if a fit diverged.
NO_NAN = ("must be finite, got NaN or infinity", lambda curve: ~np.isnan(curve))


@dataclass
class SolverPath:
    """The history of an iteration, step by step.

    Attributes
    ----------
    residuals : array of shape (steps,)
        ``||(A + alpha) v_t - b|| / ||b||``, all columns together.
    training_error : array of shape (steps,)
        Mean squared error on the training rows.
    validation_error : array or None
        Mean squared error on held-out rows, averaged over folds, if the rule holds out rows.
    by_fold : array of shape (folds, steps) or None
        The same, fold by fold.
    values : list of arrays
        The solution after each step, in the solver's coordinates; empty if storing them would need
        too much memory.
    """

    state = State(
        residuals=Numbers("made", finite=False, rule=NO_NAN),
        training_error=Numbers("trained", finite=False, rule=NO_NAN),
        validation_error=Numbers("judged", finite=False, rule=NO_NAN, optional=True),
        by_fold=Numbers("folds judged", finite=False, rule=NO_NAN, optional=True),
        values=Each(Part(np.ndarray)),
    )
    residuals: Array = field(default_factory=lambda: np.zeros(0))
    training_error: Array = field(default_factory=lambda: np.zeros(0))
    validation_error: Array | None = None
    by_fold: Array | None = None
    values: list[Array] = field(default_factory=list)

    @property
    def steps(self) -> Array:
        """The step numbers 1, 2, ..., for plotting."""
        return np.arange(1, len(self.residuals) + 1)

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if curves differ in length or have fewer steps than the solution."""
        made, steps = sizes["made"], sizes["steps"]
        if not 0 <= steps <= made:
            raise ValueError(f"steps must be from 0 to {made}, got {steps}")
        if len(self.training_error):
            check_array(self.training_error, "training_error", (made,), finite=False)
        if (self.validation_error is None) != (self.by_fold is None):
            raise ValueError("validation_error and by_fold must both be given, or neither")


@dataclass
class Run:
    """An iteration that can be resumed: its iterates so far, and the generator of the next ones.

    Iterates are stored while they fit into ``KEPT`` bytes; a larger run is not ``resumable`` and
    starts over.
    """

    solver: IterativeSolver
    system: IteratedSystem
    keep: bool = True
    made: list[Iterate] = field(default_factory=list)
    labels: Array | None = None  # the fold of each row, for the next search
    resumable: bool = True
    _stream: Iterator[Iterate] | None = None

    @classmethod
    def of(cls, solver: IterativeSolver, system: IteratedSystem, keep: bool = True) -> Run:
        """Start a run; without ``keep`` it can be iterated over only once."""
        return cls(solver, system, keep)

    def __iter__(self) -> Iterator[Iterate]:
        """Yield all iterates from the first; stored ones are not recomputed."""
        yield from list(self.made)
        ended = bool(self.made and self.made[-1].note)
        while not ended:
            iterate = self._next()
            if iterate is None:
                return
            if self.keep:
                self.made.append(iterate)
                if len(self.made) * iterate.value.nbytes > KEPT:
                    self.made, self.keep, self.resumable = [], False, False
            ended = bool(iterate.note)
            yield iterate

    def _next(self) -> Iterate | None:
        if self._stream is None:
            self._stream = self.solver.iterates(self.system)
            for _ in self.made:  # an interruption ended the generator: skip to the last iterate
                next(self._stream)
        try:
            return next(self._stream, None)
        except BaseException:
            self._stream = None
            raise


def run_to(
    run: Run,
    rule: StoppingRule,
    steps: int,
    *,
    training: ErrorOf,
    rows: float,
    limit_is_goal: bool,
    progress: StepProgress | None = None,
    spread: Array | float = 1.0,
) -> tuple[Solution, SolverPath]:
    """Take ``steps`` steps, or fewer if the residuals satisfy the rule.

    Columns that satisfy the rule, in units of their ``spread``, are frozen. An interruption by the
    user (Ctrl-C) returns the last solution; a breakdown returns the one with the smallest residual.
    """
    start = time.perf_counter()
    system, name = run.system, run.solver.name
    shape = system.b.shape
    value, frozen = np.zeros(shape), np.zeros(shape[1], dtype=bool)
    scale = float(np.linalg.norm(lengths(system, system.b, system.metric(system.b))))
    path = SolverPath()
    residuals, errors, norms = [], [], np.zeros(shape[1])
    status, reason, done = Status.STOPPED_EARLY, "", 0
    if scale == 0:
        reason = "the right-hand side is zero, so the solution is zero"
        return Solution(value, Status.CONVERGED, reason, 0, np.zeros(1)), path
    lowest, best = 1.0, (value, 0)
    try:
        for iterate in run if steps else ():
            if iterate.broken:
                (value, done), status = best, Status.BREAKDOWN
                reason = f"{name}: {iterate.note}; the model uses {done} steps"
                break
            step = np.where(frozen, value, iterate.value) if frozen.any() else iterate.value
            error = training(step)  # before updating the state: this may be interrupted
            value, done = step, iterate.step
            norms = np.where(frozen, norms, iterate.residuals)
            errors.append(error)
            residuals.append(float(np.linalg.norm(norms)) / scale)
            if residuals[-1] < lowest:
                lowest, best = residuals[-1], (value, done)
            if done * value.nbytes <= KEPT and len(path.values) == done - 1:
                path.values.append(value)
            frozen = frozen | rule.satisfied(iterate.residuals / spread, rows)
            if progress is not None:
                progress(done, steps, f"residual {residuals[-1]:.2e}")
            if frozen.all():
                reason = f"{name}: {rule.label} after {done} steps"
                break
            if iterate.note:
                status, reason = Status.CONVERGED, f"{name}: {iterate.note} after {done} steps"
                break
            if done >= steps:
                if limit_is_goal:
                    why = "as requested" if rule.counts else rule.label
                    reason = f"{name}: {done} steps, {why}"
                else:
                    status = Status.ITERATION_LIMIT
                    reason = f"{name}: {rule.label} was not reached in {done} steps"
                break
    except KeyboardInterrupt:
        if not done:
            raise
        status, reason = Status.INTERRUPTED, f"{name}: interrupted after {done} steps"
    if len(path.values) < len(residuals):
        path.values.clear()
    path.residuals, path.training_error = np.array(residuals), np.array(errors)
    seconds = time.perf_counter() - start
    return Solution(value, status, reason, done, path.residuals, seconds), path


@dataclass(frozen=True)
class Search:
    """The step with the lowest held-out error.

    Attributes
    ----------
    step : int
        The step with the lowest mean error; 0 if a fold broke down and no step beat zero.
    errors : array of shape (folds, steps)
        Errors of each fold after each step.
    interrupted : bool
        Whether the user interrupted the search.
    note : str
        How a fold broke down; empty if none did.
    """

    step: int
    errors: Array
    interrupted: bool = False
    note: str = ""


def best_step(
    runs: Sequence[Run],
    errors_of: Sequence[ErrorOf],
    rule: StoppingRule,
    limit: int,
    progress: StepProgress | None = None,
) -> Search:
    """Run all folds in parallel steps; measure each on its held-out rows.

    A fold that has converged keeps its last error, or the error of the zero solution if it took no
    steps (for example because its y is constant).
    """
    streams = [iter(run) for run in runs]
    errors: list[list[float]] = [[] for _ in runs]
    none = [
        error_of(np.zeros(run.system.b.shape))
        for run, error_of in zip(runs, errors_of, strict=True)
    ]
    best, at, interrupted, note = np.inf, 0, False, ""
    try:
        for step in range(1, limit + 1):
            moved = False
            for number, stream in enumerate(streams):
                iterate = next(stream, None)
                if iterate is not None and not iterate.broken:
                    errors[number].append(errors_of[number](iterate.value))
                    moved = True
                    continue
                note = iterate.note if iterate is not None else note
                errors[number].append(errors[number][-1] if step > 1 else none[number])
            if not moved and step > 1:
                break
            mean = float(np.mean([one[-1] for one in errors]))
            if mean < best:
                best, at = mean, step
            if progress is not None:
                progress(step, limit, f"validation error {mean:.4g}")
            if step - at >= rule.patience:
                break
    except KeyboardInterrupt:
        if not at:
            raise
        interrupted = True
    length = min(len(one) for one in errors)
    curves = np.array([one[:length] for one in errors])
    at = 0 if note and np.mean(none) <= best else max(1, at)
    return Search(at, curves, interrupted, note)


@dataclass
class Iterated:
    """The result of an iterative solver."""

    coefficients: Array
    intercept: Array
    solution: Solution
    path: SolverPath
    run: Run


def iterate(
    system: MomentSystem | KernelMatrixSystem,
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
    system: MomentSystem | KernelMatrixSystem,
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
        training=system.training_error(),
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

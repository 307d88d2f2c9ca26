"""Run an iterative solver until its stopping rule is satisfied, and record its path."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mercer.contracts import Array, ErrorOf, IteratedSystem, Solution, Status, StepProgress
from mercer.solvers.iterates import Iterate, IterativeSolver
from mercer.solvers.stopping import StoppingRule
from mercer.systems.iterated import lengths
from mercer.validation import check_array

#: The most bytes of iterates that a path stores.
KEPT = 256 * 2**20


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

    residuals: Array = field(default_factory=lambda: np.zeros(0))
    training_error: Array = field(default_factory=lambda: np.zeros(0))
    validation_error: Array | None = None
    by_fold: Array | None = None
    values: list[Array] = field(default_factory=list)

    @property
    def steps(self) -> Array:
        """The step numbers 1, 2, ..., for plotting."""
        return np.arange(1, len(self.residuals) + 1)

    def check_state(self, steps: int) -> None:
        """Raise ValueError if curves differ in length or have fewer steps than the solution."""
        made = len(_curve(self.residuals, "residuals", (None,)))
        if not 0 <= steps <= made:
            raise ValueError(f"steps must be from 0 to {made}, got {steps}")
        if len(self.training_error):
            _curve(self.training_error, "training_error", (made,))
        if (self.validation_error is None) != (self.by_fold is None):
            raise ValueError("validation_error and by_fold must both be given, or neither")
        if self.validation_error is not None and self.by_fold is not None:
            curve = _curve(self.validation_error, "validation_error", (None,))
            _curve(self.by_fold, "by_fold", (None, len(curve)))


def _curve(values: Array, name: str, shape: tuple[int | None, ...]) -> Array:
    """Return a curve, which may contain infinity if a fit diverged."""
    check_array(values.clip(-1, 1) if values.dtype.kind == "f" else values, name, shape)
    return values


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

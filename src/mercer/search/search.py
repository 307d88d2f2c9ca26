"""The search itself: scaling, metric, kernel and bandwidth, one after another.

1. No metric: which scaling of the columns.
2. Rounds of the metric in each form: fit, sum the gradients, take the root, fit again.
3. The other kernels and bandwidths in the best metric, the last two with more functions, then once
   more rounds with what was chosen.

Each step keeps what lowered the error on held-out rows, so the plain kernel stays a candidate to
the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer.columns.scaling import Scaling
from mercer.contracts import Array, Rows
from mercer.kernels import InMetric, Kernel, Metric
from mercer.metric import (
    Tried,
    learned_matrix,
)
from mercer.search.space import Space
from mercer.search.trial import SmallFit, Trial, with_bandwidth

#: A change must lower the squared error on held-out rows by this share to be kept.
GAIN = 0.005
#: Powers of G: the first is tried in every round, the second once at the end.
POWERS = {"diagonal": 0.5, "full": 0.25}
#: Kernels that are this much worse than the best in squared error get no ladder of bandwidths.
CLOSE = 1.1
#: Factors by which the bandwidth moves.
STEPS = (2.0, 0.5, 2**0.5, 0.5**0.5)


@dataclass(frozen=True)
class State:
    """A candidate: a kernel and a factor of its median bandwidth, in a metric per split."""

    kernel: Kernel
    factor: float
    scale: str
    form: str = "none"
    round: int = 0
    matrices: tuple[Array | None, ...] = (None,)
    error: float = np.inf

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it differ from other candidates."""
        factor = round(float(np.log2(self.factor)), 6)
        return repr(self.kernel), factor, self.scale, *(id(matrix) for matrix in self.matrices)


class Search:
    """A search over a space, on the rows of a trial.

    Parameters
    ----------
    trial : Trial
        The rows, and how candidates are judged.
    space : Space
        The candidates.
    scalings : dict
        The map of columns by name.
    sample : array
        Rows for median distances.
    rounds : int
        The most rounds per form.
    report : callable or None
        Called with the number of candidates tried so far, and a note.
    larger : callable or None
        Returns a trial with more functions, for the last choice between two kernels.
    """

    def __init__(
        self,
        trial: Trial,
        space: Space,
        scalings: dict[str, Scaling | None],
        sample: Rows,
        rounds: int,
        report: Callable[[int, str], None] | None = None,
        larger: Callable[[], Trial] | None = None,
    ) -> None:
        self.trial, self.space, self.scalings, self.larger = trial, space, scalings, larger
        self.sample, self.rounds, self.report = sample, rounds, report
        self.tried: list[Tried] = []
        self.final_errors: dict[tuple[object, ...], float] = {}
        self._matrices: list[tuple[Array | None, ...]] = []
        self._last: tuple[tuple[object, ...], tuple[SmallFit, ...]] | None = None
        self._known: dict[tuple[object, ...], float] = {}

    def judge(self, state: State, stage: str) -> State:
        """Return a candidate with its error on held-out rows."""
        key = state.key
        if key not in self._known:
            self._known[key] = self._judge(state, stage)
        return replace(state, error=self._known[key])

    def fits(self, state: State) -> tuple[SmallFit, ...]:
        """Return the fits of a candidate, one per split; only those of the last are kept."""
        if self._last is None or self._last[0] != state.key:
            kernels = [self.kernel(state, matrix) for matrix in state.matrices]
            self._last = state.key, tuple(self.trial.fits(kernels))
        return self._last[1]

    def _judge(self, state: State, stage: str) -> float:
        start = time.perf_counter()
        error = float(np.mean([fit.error for fit in self.fits(state)]))
        self._record(state, stage, error, start)
        return error

    def _record(self, state: State, stage: str, error: float, start: float) -> None:
        self.tried.append(
            Tried(
                stage,
                type(state.kernel).__name__ + _nu(state.kernel),
                state.factor,
                state.scale,
                state.form,
                state.round,
                float(np.sqrt(error)),
                time.perf_counter() - start,
            )
        )
        if self.report is not None:
            best = min(row.error for row in self.tried if row.stage != "final")
            self.report(len(self.tried), f"held-out error {best:.3g}")

    def kernel(self, state: State, matrix: Array | None) -> Kernel:
        """Return the kernel of a candidate, with numeric bandwidths, in a metric."""
        scaling = self.scalings[state.scale]
        found = state.kernel
        if scaling is not None or matrix is not None:
            found = InMetric(found, Metric(scaling, matrix))
        return with_bandwidth(found, self.sample, state.factor)

    def run(self) -> State:
        """Search, and return the best candidate."""
        best = self.scale()
        if self.space.matrix is None:
            best = self.metric(best)
        if len(self.space.kernels) > 1 or self.space.open_bandwidth:
            before = best
            best = self.kernels(best)
            moved = type(best.kernel) is not type(before.kernel) or best.factor != before.factor
            if moved and best.form != "none" and best.kernel.learns is not None:
                best = self.rounds_of(best.form, best, best, "renewed")
        return best

    def scale(self) -> State:
        """Choose how columns are scaled, without a metric."""
        found: State | None = None
        for scale in self.space.scales:
            state = State(self.space.kernels[0], 1.0, scale, matrices=(self.space.matrix,))
            found = better(found, self.judge(state, "scale"))
        assert found is not None
        return found

    def metric(self, start: State) -> State:
        """Learn the metric in each form; return the best of all, or of those that were asked."""
        best = start if "none" in self.space.forms else replace(start, error=np.inf)
        for form in self.space.forms:
            if form != "none":
                best = self.rounds_of(form, start, best, form)
        return best

    def rounds_of(self, form: str, start: State, best: State, stage: str) -> State:
        """Renew the metric until held-out rows stop gaining; return the best state."""
        state = start
        for _ in range(self.rounds if self.trial.splits == 1 else min(2, self.rounds)):
            matrices = tuple(self.next_matrix(state, form, fit) for fit in self.fits(state))
            if any(matrix is None for matrix in matrices):
                break
            self._matrices.append(matrices)  # ids of arrays are keys while they live
            following = self.judge(
                replace(state, form=form, matrices=matrices, round=state.round + 1), stage
            )
            gained = following.error < (1 - GAIN) * state.error
            best = better(best, following)
            if not gained and state is not start:
                break
            state = following
        return best

    def next_matrix(self, state: State, form: str, fit: SmallFit) -> Array | None:
        """Return P from the gradients of a fit."""
        diagonal = form == "diagonal"
        G = self.trial.gradients(fit, diagonal, self.scalings[state.scale])
        return learned_matrix(G, POWERS[form])

    def kernels(self, start: State) -> State:
        """Try other kernels in the same metric, then a ladder of bandwidths for the best two."""
        tried = [start]
        for kernel in self.space.kernels[1:]:
            if start.form == "full" and kernel.learns == "diagonal":
                continue
            tried.append(self.judge(replace(start, kernel=kernel, factor=1.0), "kernel"))
            if self.space.open_bandwidth:  # the best bandwidth differs most between kernels
                tried.append(self.judge(replace(start, kernel=kernel, factor=0.5), "kernel"))
        best = start
        for state in tried[1:]:
            best = better(best, state)
        if not self.space.open_bandwidth:
            return best
        by_kernel: dict[str, State] = {}
        for state in sorted(tried, key=lambda one: one.error):
            by_kernel.setdefault(repr(state.kernel), state)
        coarse = self.trial.splits > 1  # few rows: they cannot tell close candidates apart
        steps = STEPS[:2] if coarse else STEPS
        close = [one for one in by_kernel.values() if one.error <= CLOSE * best.error]
        if self.larger is None:
            for state in close[: 1 if coarse else 2]:
                best = better(best, self.ladder(state, steps))
            return best
        # A rough kernel gains more from functions than a smooth one, and the fit will have many.
        finalists = [self.ladder(close[0], steps)] + [one for one in close[1:] if is_rough(one)]
        if len(finalists) == 1:
            return better(best, finalists[0])
        trial = self.larger()
        finalists = [self.judge_with(trial, state) for state in finalists]
        return min(finalists, key=self.expected)

    def expected(self, state: State) -> float:
        """Return the error with still more functions, if they lower it as the last ones did."""
        error = self.final_errors[state.key]
        return error * min(1.0, error / state.error) if state.error > 0 else error

    def judge_with(self, trial: Trial, state: State) -> State:
        """Judge a candidate by another trial; its own error stays that of the small fits."""
        start = time.perf_counter()
        kernels = [self.kernel(state, matrix) for matrix in state.matrices]
        error = float(np.mean([fit.error for fit in trial.fits(kernels)]))
        self.final_errors[state.key] = error
        self._record(state, "final", error, start)
        return state

    def ladder(self, start: State, steps: tuple[float, ...]) -> State:
        """Move the bandwidth up or down while held-out rows gain, in steps of 2, then 1.4."""
        best = start
        for step in steps:
            for _ in range(3):
                state = self.judge(replace(best, factor=best.factor * step), "bandwidth")
                if not state.error < (1 - GAIN) * best.error:
                    break
                best = state
        return best


def is_rough(state: State) -> bool:
    """Return whether functions of the kernel have kinks: the Laplacian kernels."""
    return getattr(state.kernel, "nu", 0.5) == 0.5 and state.kernel.learns is not None


def better(best: State | None, state: State) -> State:
    """Return the second if it lowers the error enough."""
    if best is None or state.error < (1 - GAIN) * best.error:
        return state
    return best


def _nu(kernel: Kernel) -> str:
    nu = getattr(kernel, "nu", None)
    return "" if nu is None or type(kernel).__name__ != "Matern" else f"({nu:g})"

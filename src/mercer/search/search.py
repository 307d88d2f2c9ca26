"""The search itself: scaling, metric, kernel and bandwidth, one after another.

1. No metric: which scaling of the columns.
2. Rounds of the metric in each form: fit, sum the gradients, take the root, fit again.
3. The other kernels and bandwidths in the best metric, the last two with more functions, then once
   more rounds with what was chosen.
4. The linear kernel, with a function for each column, which is taken if it is about as good: it is
   the smoothest of all.

Each other step keeps what lowered the error on held-out rows, so the plain kernel stays a candidate
to the end. Candidates that do not depend on each other are fitted side by side, in rounds: both
forms of the metric, all kernels, a bandwidth up and one down.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from mercer.columns.scaling import Scaling
from mercer.contracts import Array, Rows
from mercer.kernels import InMetric, Kernel, Metric
from mercer.metric import Tried, learned_matrix
from mercer.search.space import Space
from mercer.search.trial import FINAL, LINEAR, SMALL, Candidate, Outcome, with_bandwidth

#: A change must lower the squared error on held-out rows by this share to be kept.
GAIN = 0.005
#: The same for the linear kernel: this number divided by the rows, up to a share. Others are the
#: best of some thirty candidates, which is partly luck, and the more so the fewer rows there are.
LINEAR_GAIN, MOST_GAIN = 12.0, 0.3
#: Powers of G: the first is tried in every round, the second once at the end.
POWERS = {"diagonal": 0.5, "full": 0.25}
#: Kernels that are this much worse than the best in squared error get no ladder of bandwidths.
CLOSE = 1.1
#: Factors by which the bandwidth moves, up or down.
STEPS = (2.0, 2**0.5)


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
    trial: str = SMALL

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it differ from other candidates."""
        factor = round(float(np.log2(self.factor)), 6)
        matrices = (id(matrix) for matrix in self.matrices)
        return repr(self.kernel), factor, self.scale, self.trial, *matrices

    def slopes(self, forms: Sequence[str]) -> list[str]:
        """Return the forms that its gradients may take next: its own, or any if it has none."""
        return [form for form in forms if self.form in ("none", form)]


@dataclass
class Search:
    """A search over a space: :meth:`run` returns the best candidate, ``tried`` lists all."""

    fit: Callable[[list[Candidate]], list[Outcome]]  # side by side; returns outcomes in order
    space: Space
    scalings: dict[str, Scaling | None]  # the map of columns by name
    sample: Rows  # for median distances
    rounds: int  # the most per form
    rows: int  # of the small fits
    coarse: bool = False  # rows are few: they cannot tell close candidates apart
    report: Callable[[int, str], None] | None = None  # gets how many were tried so far, and a note
    trials: Collection[str] = (SMALL,)  # FINAL makes the last choice between two kernels
    tried: list[Tried] = field(default_factory=list)
    _matrices: list[tuple[Array | None, ...]] = field(default_factory=list)
    _known: dict[tuple[object, ...], Outcome] = field(default_factory=dict)

    def judge(self, states: Sequence[State], stage: str, forms: Sequence[str] = ()) -> list[State]:
        """Return candidates with their errors on held-out rows; those that are new are fitted.

        ``forms`` are those in which gradients are summed as well, for the next metric.
        """
        new = {state.key: state for state in states if not self._has(state, forms)}
        candidates = [
            Candidate(
                [self.kernel(state, matrix) for matrix in state.matrices],
                state.slopes(forms),
                self.scalings[state.scale],
                state.trial,
            )
            for state in new.values()
        ]
        outcomes = self.fit(candidates) if new else []
        for (key, state), outcome in zip(new.items(), outcomes, strict=True):
            if key not in self._known:
                self._record(state, stage or state.form, outcome)
            self._known[key] = outcome
        return [replace(state, error=self._known[state.key][0]) for state in states]

    def _has(self, state: State, forms: Sequence[str]) -> bool:
        return state.key in self._known and {*state.slopes(forms)} <= {*self._known[state.key][1]}

    def gradients(self, state: State, form: str) -> list[Array]:
        """Return the average gradient outer products of a candidate, one per split."""
        self.judge([state], "", [form])
        return self._known[state.key][1][form]

    def _record(self, state: State, stage: str, outcome: Outcome) -> None:
        error, _, seconds = outcome
        name = type(state.kernel).__name__ + _nu(state.kernel)
        what = stage, name, state.factor, state.scale, state.form, state.round
        self.tried.append(Tried(*what, float(np.sqrt(error)), seconds))
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
                best = self.rounds_of([best.form], best, best, "renewed")
        return best if self.space.linear is None else self.or_linear(best, self.space.linear)

    def or_linear(self, best: State, linear: Kernel) -> State:
        """Return a linear candidate if held-out rows cannot tell it from the best, or prefer it."""
        scale = "standard" if "standard" in self.scalings else best.scale
        trial = LINEAR if LINEAR in self.trials else SMALL
        (state,) = self.judge([State(linear, 1.0, scale, trial=trial)], "linear")
        tie = max(GAIN, min(MOST_GAIN, LINEAR_GAIN / self.rows))
        return state if state.error <= (1 + tie) * best.error else best

    @property
    def forms(self) -> list[str]:
        """The forms of a metric that are learned."""
        return [form for form in self.space.forms if form != "none"]

    def scale(self) -> State:
        """Choose how columns are scaled, without a metric."""
        matrices = (self.space.matrix,)
        first = State(self.space.kernels[0], 1.0, "none", matrices=matrices)
        states = [replace(first, scale=scale) for scale in self.space.scales]
        return reduce(better, self.judge(states, "scale", self.forms))

    def metric(self, start: State) -> State:
        """Learn the metric in each form; return the best of all, or of those that were asked."""
        best = start if "none" in self.space.forms else replace(start, error=np.inf)
        return self.rounds_of(self.forms, start, best)

    def rounds_of(self, forms: list[str], start: State, best: State, stage: str = "") -> State:
        """Renew the metric in each form until held-out rows stop gaining; return the best state."""
        states, found = dict.fromkeys(forms, start), []
        for _ in range(min(2, self.rounds) if self.coarse else self.rounds):
            renewed = [self.renewed(state, form) for form, state in states.items()]
            following = self.judge([one for one in renewed if one is not None], stage, forms)
            before, states = states, {}
            for state in following:
                gained = state.error < (1 - GAIN) * before[state.form].error
                if gained or before[state.form] is start:
                    states[state.form] = state
            found += following
        return reduce(better, sorted(found, key=lambda state: forms.index(state.form)), best)

    def renewed(self, state: State, form: str) -> State | None:
        """Return a candidate in the metric P from the gradients of another."""
        matrices = tuple(learned_matrix(G, POWERS[form]) for G in self.gradients(state, form))
        if any(matrix is None for matrix in matrices):
            return None
        self._matrices.append(matrices)  # ids of arrays are keys while they live
        return replace(state, form=form, matrices=matrices, round=state.round + 1)

    def kernels(self, start: State) -> State:
        """Try other kernels in the same metric, then a ladder of bandwidths for the best two."""
        # The best bandwidth differs most between kernels.
        factors = (1.0, 0.5) if self.space.open_bandwidth else (1.0,)
        others = [
            replace(start, kernel=kernel, factor=factor)
            for kernel in self.space.kernels[1:]
            if start.form != "full" or kernel.learns != "diagonal"
            for factor in factors
        ]
        tried = [start, *self.judge(others, "kernel")]
        best = reduce(better, tried)
        if not self.space.open_bandwidth:
            return best
        by_kernel: dict[str, State] = {}
        for state in sorted(tried, key=lambda one: one.error):
            by_kernel.setdefault(repr(state.kernel), state)
        steps = STEPS[:1] if self.coarse else STEPS
        close = [one for one in by_kernel.values() if one.error <= CLOSE * best.error]
        if FINAL not in self.trials:
            ladders = [self.ladder(state, steps) for state in close[: 1 if self.coarse else 2]]
            return reduce(better, ladders, best)
        # A rough kernel gains more from functions than a smooth one, and the fit will have many.
        finalists = [self.ladder(close[0], steps)] + [one for one in close[1:] if is_rough(one)]
        if len(finalists) == 1:
            return better(best, finalists[0])
        larger = self.judge([replace(one, trial=FINAL) for one in finalists], "final")
        # With still more functions, if they lower the error as the last ones did.
        expected = [
            final.error * min(1.0, final.error / one.error) if one.error > 0 else final.error
            for one, final in zip(finalists, larger, strict=True)
        ]
        return finalists[int(np.argmin(expected))]

    def ladder(self, start: State, steps: tuple[float, ...]) -> State:
        """Move the bandwidth up or down while held-out rows gain, in steps of 2, then 1.4."""
        best = start
        for up in steps:
            self.judge([moved(best, up), moved(best, 1 / up)], "bandwidth")  # side by side
            for step in (up, 1 / up):
                for _ in range(3):
                    (state,) = self.judge([moved(best, step)], "bandwidth")
                    if not state.error < (1 - GAIN) * best.error:
                        break
                    best = state
        return best


def moved(state: State, step: float) -> State:
    """Return a candidate whose bandwidth is a factor larger."""
    return replace(state, factor=state.factor * step)


def is_rough(state: State) -> bool:
    """Return whether functions of the kernel have kinks: the Laplacian kernels."""
    return getattr(state.kernel, "nu", 0.5) == 0.5 and state.kernel.learns is not None


def better(best: State, state: State) -> State:
    """Return the second if it lowers the error enough."""
    return state if state.error < (1 - GAIN) * best.error else best


def _nu(kernel: Kernel) -> str:
    nu = getattr(kernel, "nu", None)
    return "" if nu is None or type(kernel).__name__ != "Matern" else f"({nu:g})"

"""The search itself: scaling, metric, kernel and bandwidth, one after another.

1. No metric: which scaling of the columns.
2. Rounds of the metric in each form: fit, sum the gradients, take the root, fit again.
3. The other kernels and bandwidths in the best metric, then once more rounds with what was chosen.

Each step keeps what lowered the error on held-out rows, so the plain kernel stays a candidate to
the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.contracts import Array, Rows
from mercer.engines import blas_threads
from mercer.kernels import InMetric, Kernel, Metric
from mercer.kernels.kernel import dense
from mercer.kernels.scaling import Scaling
from mercer.metric import (
    ColumnSums,
    SearchRecord,
    Tried,
    column_sums,
    learned_matrix,
    quantile_scaling,
)
from mercer.plan import parse_memory
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.sampling import uniform_indices
from mercer.search.metric_search import MetricSearch
from mercer.search.sample import labelled_rows, sampled_rows
from mercer.search.space import Space
from mercer.search.trial import BLOCK_ROWS, SmallFit, Trial, with_bandwidth

#: A change must lower the squared error on held-out rows by this share to be kept.
GAIN = 0.005
#: Powers of G: the first is tried in every round, the second once at the end.
POWERS = {"diagonal": 0.5, "full": 0.25}
#: Below this many rows nothing is searched: held-out rows would be too few to judge.
FEWEST = 40
#: Kernels that are this much worse than the best in squared error get no ladder of bandwidths.
CLOSE = 1.1
#: Factors by which the bandwidth moves.
STEPS = (2.0, 0.5, 2**0.5, 0.5**0.5)
#: The small fits have at most one function for so many rows: enough to compare candidates.
ROWS_PER_FUNCTION = 3
#: Rows whose median distance sets the bandwidth.
MEDIAN_ROWS = 300
#: Rows that quantiles are taken from.
QUANTILE_ROWS = 10_000


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
    """

    def __init__(
        self,
        trial: Trial,
        space: Space,
        scalings: dict[str, Scaling | None],
        sample: Rows,
        rounds: int,
        report: Callable[[int, str], None] | None = None,
    ) -> None:
        self.trial, self.space, self.scalings = trial, space, scalings
        self.sample, self.rounds, self.report = sample, rounds, report
        self.tried: list[Tried] = []
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
            best = min(row.error for row in self.tried)
            self.report(len(self.tried), f"held-out error {best:.3g}")
        return error

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
        for state in list(by_kernel.values())[: 1 if coarse else 2]:
            if state.error <= CLOSE * best.error:
                best = better(best, self.ladder(state, STEPS[:2] if coarse else STEPS))
        return best

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


def better(best: State | None, state: State) -> State:
    """Return the second if it lowers the error enough."""
    if best is None or state.error < (1 - GAIN) * best.error:
        return state
    return best


def _nu(kernel: Kernel) -> str:
    nu = getattr(kernel, "nu", None)
    return "" if nu is None or type(kernel).__name__ != "Matern" else f"({nu:g})"


def search_kernel(
    rows: RowSet, request: Request, space: Space, limits: MetricSearch
) -> tuple[Kernel, SearchRecord]:
    """Return the kernel, in its metric, for a fit to these rows, and how it was found.

    Parameters
    ----------
    rows : RowSet
        All rows.
    request : Request
        The parameters of the fit.
    space : Space
        What may be chosen.
    limits : MetricSearch
        What the search may cost.
    """
    start = time.perf_counter()
    sums = column_sums(rows) if space.scales != ("none",) else None
    if not space.is_open or rows.n_rows < FEWEST:
        kernel, record = _first(rows, space, sums)
        return kernel, replace(record, seconds=time.perf_counter() - start)
    seed = request.seeds.search()
    rng = np.random.default_rng(seed)
    small, targets = rows, request.targets
    size, most = affordable(limits, rows.n_features, request.outputs, request.memory_limit)
    if size is not None:
        small, targets = sampled_rows(rows, request.targets, size, rng)
    if labelled_rows(small, targets) < FEWEST:
        kernel, record = _first(rows, space, sums)
        return kernel, replace(record, seconds=time.perf_counter() - start)
    sample = small.take(uniform_indices(small.n_rows, MEDIAN_ROWS, rng))
    scalings = _scalings(space.scales, sums, small)
    functions = min(most, max(FEWEST, small.n_rows // ROWS_PER_FUNCTION))
    points = dense(small.take(uniform_indices(small.n_rows, functions, rng)))
    trial = Trial(small, targets, request, points, seed)
    search = Search(trial, space, scalings, sample, limits.rounds, _reporter(request))
    # The matrices are small: on a busy machine, threads that wait for each other cost more.
    with blas_threads(1):
        best = search.run()
        matrix, G = _joined(search, best)
    form = "given" if space.matrix is not None else best.form
    record = SearchRecord(
        best.scale,
        form,
        None if G is None else _importances(G),
        small.n_rows,
        best.round,
        _constant(sums),
        tuple(search.tried),
        time.perf_counter() - start,
    )
    return search.kernel(best, matrix), record


def affordable(
    limits: MetricSearch, n_features: int, outputs: int, memory_limit: Any
) -> tuple[int | None, int]:
    """Return the rows and functions of the small fits that fit the memory limit.

    >>> affordable(MetricSearch(), 20, 1, "1GB"), affordable(MetricSearch(), 20, 1, "30MB")
    ((8000, 600), (8000, 300))
    """
    limit, size, functions = parse_memory(memory_limit), limits.sample, limits.n_components
    while True:
        # The sample and its scaled copy; matrices of folds and factors, solutions, and blocks.
        sample = 16 * (size or 0) * n_features
        matrices = 8 * functions * (14 * functions + 40 * outputs + 6 * BLOCK_ROWS)
        if sample + matrices <= limit:
            return size, functions
        if sample > matrices and size is not None and size > FEWEST:
            size = max(FEWEST, size // 2)
        elif functions > FEWEST:
            functions = max(FEWEST, functions // 2)
        else:
            return size, functions


def _reporter(request: Request) -> Callable[[int, str], None] | None:
    progress = request.progress
    if progress is None:
        return None
    return lambda done, note: progress("search", done, 0, "fits", note)


def _scalings(
    scales: tuple[str, ...], sums: ColumnSums | None, small: RowSet
) -> dict[str, Scaling | None]:
    """Return the map of columns for every name."""
    found: dict[str, Scaling | None] = {"none": None}
    if sums is not None and "standard" in scales:
        found["standard"] = sums.scaling()
    if "quantile" in scales:
        sample = small.take(uniform_indices(small.n_rows, QUANTILE_ROWS, np.random.default_rng(0)))
        found["quantile"] = quantile_scaling(dense(sample))
    return found


def _first(rows: RowSet, space: Space, sums: ColumnSums | None) -> tuple[Kernel, SearchRecord]:
    """Return the first candidate, without a search; a metric that was asked for needs rows."""
    if "none" not in space.forms:
        raise ValueError(
            f"a metric needs at least {FEWEST} labelled rows to learn from, got too few among "
            f"{rows.n_rows}: use metric=None"
        )
    kernel, scale = space.kernels[0], space.scales[0]
    scaling = _scalings((scale,), sums, rows)[scale]
    if scaling is not None or space.matrix is not None:
        kernel = InMetric(kernel, Metric(scaling, space.matrix))
    form = "none" if space.matrix is None else "given"
    return kernel, SearchRecord(scale, form, constant=_constant(sums))


def _joined(search: Search, best: State) -> tuple[Array | None, Array | None]:
    """Return the metric and G of the best candidate; with several splits, the mean of theirs.

    The splits agree on what a metric is worth; the metric itself uses the rows of all of them.
    """
    scaling, diagonal = search.scalings[best.scale], best.form != "full"
    G: Array | None = None
    if best.kernel.has_gradient:
        found = [search.trial.gradients(fit, diagonal, scaling) for fit in search.fits(best)]
        G = np.asarray(np.mean(found, axis=0))
    if len(best.matrices) == 1:
        return best.matrices[0], G
    squares = [_square(matrix) for matrix in best.matrices if matrix is not None]
    return learned_matrix(np.mean(squares, axis=0), 0.5), G


def _square(matrix: Array) -> Array:
    """Return the diagonal of P P', or P P' itself."""
    return matrix**2 if matrix.ndim == 1 else matrix @ matrix.T


def _importances(G: Array) -> Array | None:
    share = G if G.ndim == 1 else np.diag(G)
    total = share.sum()
    return np.asarray(share / total) if total > 0 else None


def _constant(sums: ColumnSums | None) -> Array:
    return np.flatnonzero(np.zeros(0) if sums is None else sums.scale == 0)

"""The kernel of a fit, in its metric: a sample of the rows, a search on it, and what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from mercer.columns import ColumnSums, column_sums, quantile_scaling
from mercer.columns.scaling import Scaling, StandardScaling
from mercer.contracts import Array, Engine
from mercer.engines import InPlaceEngine, ThreadEngine, available_cores, blas_threads, one_core
from mercer.kernels import InMetric, Kernel, Metric
from mercer.kernels.kernel import dense
from mercer.metric import SearchRecord, learned_matrix
from mercer.plan import parse_memory
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.sampling import distinct_rows, uniform_indices
from mercer.search.sample import labelled_rows, sampled_rows, warn_of_copies
from mercer.search.search import Search, State
from mercer.search.space import MetricSearch, Space
from mercer.search.trial import (
    BLOCK_ROWS,
    FINAL,
    LINEAR,
    SMALL,
    Candidate,
    Outcome,
    Trial,
    outcome_of,
)

#: Below the first of these numbers of rows nothing is searched, and below the second no metric and
#: no scaling: the fewer rows are held out, the fewer candidates they can judge.
FEWEST, FEWEST_FOR_METRIC = 15, 40
#: The small fits have at most one function for so many rows, enough to compare candidates, but
#: so many in all, and so many for each column: a level that no landmark has would have no effect.
ROWS_PER_FUNCTION, FUNCTIONS, FUNCTIONS_PER_COLUMN = 3, 40, 3
#: Rows that are looked at for each of them if some are copies of others.
POOL = 4
#: How many times more functions compare the last two kernels.
MORE_FUNCTIONS = 2
#: Multiply-adds of a fit, about 30 ms, from which on candidates are sent to the workers; and how
#: many times the cores of this process they must have more of, or candidates are fitted here.
SENT, MORE_CORES = 5e8, 1.0
#: Rows whose median distance sets the bandwidth.
MEDIAN_ROWS = 300
#: Rows that quantiles are taken from.
QUANTILE_ROWS = 10_000


def search_kernel(
    rows: RowSet, request: Request, space: Space, limits: MetricSearch
) -> tuple[Kernel, SearchRecord]:
    """Return the kernel, in its metric, for a fit to these rows, and how it was found.

    ``space`` is what may be chosen, and ``limits`` is what the search may cost.
    """
    start = time.perf_counter()
    sums = column_sums(rows) if space.scales != ("none",) else None
    space = _for_rows(space, rows.n_rows)
    if not space.is_open or rows.n_rows < FEWEST:
        return _first(rows, space, sums, start)
    seed = request.seeds.search()
    rng = np.random.default_rng(seed)
    small, targets = rows, request.targets
    size, most, together = affordable(
        limits, rows.n_features, request.outputs, request.memory_limit
    )
    if size is not None:
        small, targets = sampled_rows(rows, request.targets, size, rng)
    labelled = labelled_rows(small, targets)
    space = _for_rows(space, labelled)
    if not space.is_open or labelled < FEWEST:
        return _first(rows, space, sums, start)
    if size is not None and not space.encoded:
        warn_of_copies(small, targets)
    sample = small.take(uniform_indices(small.n_rows, MEDIAN_ROWS, rng))
    scalings = _scalings(space.scales, sums, small)
    sizes = _sizes(rows, small, request, limits, most)
    # All rows stay where they are, or a sample is sent once to each worker, if its fits take longer
    # than a message. They have a core each, so that their bits are the same on every engine.
    sent = (
        not rows.one_place
        and size is not None
        and small.n_rows * sizes[SMALL] ** 2 >= SENT
        and rows.engine.width > MORE_CORES * available_cores()
    )
    here: Engine = InPlaceEngine()
    if size is not None:
        here = ThreadEngine(min(together, available_cores()))
    with one_core() if size is not None else nullcontext(), blas_threads(1):
        points = {name: landmarks_of(small, number, rng) for name, number in sizes.items()}
        if space.linear is not None and rows.n_features <= MORE_FUNCTIONS * sizes[SMALL]:
            points |= points_of_columns(scalings, rows.n_features)
        trials = {name: Trial(small, targets, request, some, seed) for name, some in points.items()}
        numbers = small.n_rows * (rows.n_features + request.outputs)
        shared = rows.share(trials, "sample of rows", numbers) if sent else trials

        def fit(candidates: list[Candidate]) -> list[Outcome]:
            if sent and len(candidates) > 1:
                return rows.engine.map(outcome_of, candidates, shared)
            return here.map(outcome_of, candidates, trials)  # one alone takes as long here

        search = Search(
            fit,
            space,
            scalings,
            sample,
            limits.rounds,
            small.n_rows,
            trials[SMALL].splits > 1,
            _reporter(request),
            tuple(trials),
        )
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


def _sizes(
    rows: RowSet, small: RowSet, request: Request, limits: MetricSearch, most: int
) -> dict[str, int]:
    """Return how many functions small fits have, by name.

    Those that compare the last two kernels have more, where the fit will have still more.
    """
    wanted = max(small.n_rows // ROWS_PER_FUNCTION, FUNCTIONS_PER_COLUMN * rows.n_features)
    functions = min(most, max(FUNCTIONS, min(wanted, small.n_rows)))
    basis, planned = request.basis, rows.n_rows
    if basis is not None and not basis.grows:
        planned = basis.wanted_size(rows.n_rows)
    more = MORE_FUNCTIONS * functions
    larger = min(small.n_rows, planned) >= 2 * more == 2 * MORE_FUNCTIONS * limits.n_components
    return {SMALL: functions, FINAL: more} if larger else {SMALL: functions}


def landmarks_of(rows: RowSet, size: int, rng: np.random.Generator) -> Array:
    """Return rows for the functions of small fits; of copies, as in a table of categories, one.

    A level of which no function knows is a matter of luck, not of what a kernel is worth.
    """
    points = dense(rows.take(uniform_indices(rows.n_rows, size, rng)))
    if len(np.unique(points, axis=0)) == len(points):
        return points
    pool = dense(rows.take(uniform_indices(rows.n_rows, POOL * size, rng)))
    return np.asarray(pool[distinct_rows(pool, size, rng)])


def points_of_columns(scalings: Mapping[str, Scaling | None], n_features: int) -> dict[str, Array]:
    """Return the points of the linear trial, ``k(x, z_j) = s_j(x_j)``.

    As many rows would span fewer functions: without one of a level, its indicator has no slope.
    """
    scaling, points = scalings.get("standard"), np.eye(n_features)
    if isinstance(scaling, StandardScaling):
        points = scaling.center + np.diag(scaling.scale)[scaling.scale > 0]
    elif "quantile" in scalings:  # where a column may have the same quantile at both points
        return {}
    return {LINEAR: points} if len(points) else {}


def affordable(
    limits: MetricSearch, n_features: int, outputs: int, memory_limit: int | float | str
) -> tuple[int | None, int, int]:
    """Return the rows and functions of small fits within the memory limit, and how many at a time.

    >>> affordable(MetricSearch(), 20, 1, "1GB"), affordable(MetricSearch(), 20, 1, "30MB")
    ((8000, 600, 14), (8000, 300, 1))
    """
    limit, size, functions = parse_memory(memory_limit), limits.sample, limits.n_components
    while True:
        # The sample and its scaled copy; matrices of folds and factors, solutions, and blocks.
        sample = 16 * (size or 0) * n_features
        matrices = 8 * functions * (14 * functions + 40 * outputs + 6 * BLOCK_ROWS)
        if sample + matrices <= limit:
            return size, functions, (limit - sample) // matrices
        if sample > matrices and size is not None and size > FUNCTIONS:
            size = max(FUNCTIONS, size // 2)
        elif functions > FUNCTIONS:
            functions = max(FUNCTIONS, functions // 2)
        else:
            return size, functions, 1


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


def _for_rows(space: Space, labelled: int) -> Space:
    """Return what so few rows can choose; a metric that was asked for needs rows."""
    if labelled >= FEWEST_FOR_METRIC:
        return space
    if "none" not in space.forms:
        raise ValueError(
            f"a metric needs at least {FEWEST_FOR_METRIC} labelled rows to learn from, got "
            f"{labelled}: use metric=None"
        )
    return replace(space, forms=("none",), scales=space.scales[:1])


def _first(
    rows: RowSet, space: Space, sums: ColumnSums | None, start: float
) -> tuple[Kernel, SearchRecord]:
    """Return the first candidate, without a search."""
    kernel, scale = space.kernels[0], space.scales[0]
    scaling = _scalings((scale,), sums, rows)[scale]
    if scaling is not None or space.matrix is not None:
        kernel = InMetric(kernel, Metric(scaling, space.matrix))
    form = "none" if space.matrix is None else "given"
    seconds = time.perf_counter() - start
    return kernel, SearchRecord(scale, form, constant=_constant(sums), seconds=seconds)


def _joined(search: Search, best: State) -> tuple[Array | None, Array | None]:
    """Return the metric and G of the best candidate; with several splits, the mean of theirs.

    The splits agree on what a metric is worth; the metric itself uses the rows of all of them.
    """
    G: Array | None = None
    if best.kernel.has_gradient:
        form = "full" if best.form == "full" else "diagonal"
        G = np.asarray(np.mean(search.gradients(best, form), axis=0))
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
    # Squared slopes overflow if columns are below 1e-150 and not scaled.
    return np.asarray(share / total) if 0 < total < np.inf else None


def _constant(sums: ColumnSums | None) -> Array:
    return np.flatnonzero(np.zeros(0) if sums is None else sums.scale == 0)

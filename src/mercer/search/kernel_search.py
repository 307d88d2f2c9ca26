"""The kernel of a fit, in its metric: a sample of the rows, a search on it, and what it found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.columns import ColumnSums, column_sums, quantile_scaling
from mercer.columns.scaling import Scaling
from mercer.contracts import Array
from mercer.engines import blas_threads
from mercer.kernels import InMetric, Kernel, Metric
from mercer.kernels.kernel import dense
from mercer.metric import SearchRecord, learned_matrix
from mercer.plan import parse_memory
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.sampling import uniform_indices
from mercer.search.metric_search import MetricSearch
from mercer.search.sample import labelled_rows, sampled_rows
from mercer.search.search import Search, State
from mercer.search.space import Space
from mercer.search.trial import BLOCK_ROWS, Trial

#: Below this many rows nothing is searched: held-out rows would be too few to judge.
FEWEST = 40
#: The small fits have at most one function for so many rows: enough to compare candidates.
ROWS_PER_FUNCTION = 3
#: How many times more functions compare the last two kernels.
FINAL = 2
#: Rows whose median distance sets the bandwidth.
MEDIAN_ROWS = 300
#: Rows that quantiles are taken from.
QUANTILE_ROWS = 10_000


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

    def larger() -> Trial:
        more = dense(small.take(uniform_indices(small.n_rows, FINAL * functions, rng)))
        return Trial(small, targets, request, more, seed)

    # Only where the fit will have still more functions.
    basis = request.asked_basis()
    planned = rows.n_rows
    if basis is not None and not basis.grows:
        planned = basis.wanted_size(rows.n_rows)
    room = min(small.n_rows, planned) >= 2 * FINAL * functions == 2 * FINAL * limits.n_components
    report = _reporter(request)
    search = Search(trial, space, scalings, sample, limits.rounds, report, larger if room else None)
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
    # Squared slopes overflow if columns are below 1e-150 and not scaled.
    return np.asarray(share / total) if 0 < total < np.inf else None


def _constant(sums: ColumnSums | None) -> Array:
    return np.flatnonzero(np.zeros(0) if sums is None else sums.scale == 0)

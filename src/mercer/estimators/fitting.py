"""A fit from what was passed to what was found, step by step.

Parameters -> values -> problem and row options -> opened rows -> request -> open parts -> fit
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mercer.bases import Landmarks
from mercer.combine import Combination, ExactSum
from mercer.contracts import Progress, TargetKind
from mercer.engines.progress_bar import progress_bar
from mercer.estimators.comparing import fingerprint_of, fixed_parameters, rows_in
from mercer.estimators.fitted import Fitted
from mercer.estimators.parameters import Values, check_outputs, read_parameters, row_options
from mercer.kernels import Kernel
from mercer.metric import SearchRecord
from mercer.opening.encoding import has_other_columns
from mercer.opening.fit_input import FitInput
from mercer.opening.inputs import Known
from mercer.opening.opened_rows import OpenedRows, RowOptions, is_sharded, opened_rows
from mercer.opening.weighing import warn_of_frequencies, warn_of_missing_weights
from mercer.refit import resume
from mercer.request import Problem, Request
from mercer.result import Fit
from mercer.rows.rowset import RowSet
from mercer.search import MetricSearch, search_kernel, space_of
from mercer.solvers import Ridge
from mercer.theory.by_theory import resolved

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator


@dataclass(frozen=True)
class Prepared:
    """An estimator whose parameters were read and checked, once, before any row is."""

    estimator: KernelEstimator
    kind: TargetKind
    values: Values
    problem: Problem
    options: RowOptions

    @contextmanager
    def opened(
        self, given: FitInput, known: Known | None = None
    ) -> Iterator[tuple[OpenedRows, Request]]:
        """Yield the rows, and what a fit to them is asked for; ``known`` are those of a model."""
        model, values = self.estimator, self.values
        start = seeds = None
        if values["warm_start"] and values["random_state"] is None:
            seeds = model._seeds  # shards must be the same to go on
        if hasattr(model, "fit_") and (known is not None or values["warm_start"]):
            start = model.dual_coef_
        with (
            progress_bar(values["verbose"]) as progress,
            opened_rows(
                self.options,
                self.kind,
                given,
                known,
                start=start,
                seeds=seeds,
                progress=progress,
            ) as opened,
        ):
            yield opened, request_of(self.problem, opened, progress)


def prepared(estimator: KernelEstimator, kind: TargetKind) -> Prepared:
    """Read and check the parameters of an estimator."""
    values = read_parameters(estimator)
    problem = estimator._problem(values, kind.ranks)
    return Prepared(estimator, kind, values, problem, row_options(estimator, values))


def request_of(problem: Problem, opened: OpenedRows, progress: Progress | None) -> Request:
    """Return what a fit to opened rows is asked for; penalties become those of its mean loss."""
    targets, alpha, alphas = opened.targets, problem.alpha, problem.alphas
    if alpha is not None and np.ndim(alpha) > 0:
        check_outputs(alpha, targets.outputs)
    per_target = problem.alpha_per_target and targets.columns
    by_output = per_target if alpha is None else np.ndim(alpha) > 0
    solver = problem.solver
    if solver is None and by_output:  # products have one alpha
        solver = Ridge()
    factor = targets.alpha_factor
    known = {
        **vars(problem),
        "solver": solver,
        "alpha": None if alpha is None else alpha / factor,
        "alphas": None if alphas is None else alphas / factor,
        "alpha_per_target": per_target,
        "intercept": targets.has_intercept(problem.intercept),
    }
    request = Request(
        targets,
        **known,
        memory_limit=opened.memory_limit,
        seeds=opened.seeds,
        progress=progress,
    )
    return request.with_alpha_times(opened.alpha_ratio)


def fitted(
    estimator: KernelEstimator, given: FitInput, kind: TargetKind, needs_sums: bool = False
) -> Fitted:
    """Fit to rows, in one place or over shards; with ``needs_sums``, others can be added."""
    start = prepared(estimator, kind)
    problem, values, options = start.problem, start.values, start.options
    roles = given.roles
    warn_of_missing_weights(given.X, given.weight)
    warn_of_frequencies(given, values["weight_type"], problem)
    combination: Combination = problem.combination
    if needs_sums:  # later rows add to these, however a fit would combine its shards
        combination = ExactSum()
        # Functions of all rows are those of the first batch.
        given = replace(given, in_one_place=problem.basis is not None and problem.basis.local)
    sharded = is_sharded(options, given)
    if sharded:
        combination.check_request(problem)
    elif combination.depends_on_shards:
        raise ValueError(
            f"combine={estimator.combine!r} needs shards, but there are none: set shards="
        )
    with start.opened(given) as (opened, request):
        resumes: str | None = None
        if values["warm_start"] and not combination.depends_on_shards:
            resumes = fingerprint_of(estimator, opened.rows, opened.present)
        previous: Fit | None = None
        if resumes is not None and resumes == estimator._fitted_to:
            previous = estimator.fit_
            opened = replace(opened, targets=estimator._targets)
        full = problem.basis is not None and problem.basis.dual
        # There is no dual system for queries, unlabelled rows or shards.
        sums = (needs_sums or opened.targets.pairs is not None or opened.unlabelled) or (
            sharded and not full
        )
        solver = Ridge() if sharded and request.solver is None else request.solver
        request = replace(
            request, targets=opened.targets, needs_sums=sums, previous=previous, solver=solver
        )
        if previous is not None and solver is not None and solver.regularized_by_steps:
            known = estimator._known()
            return finished(estimator, known, resume(previous, request), values["warm_start"])
        record: SearchRecord | None = None
        if previous is None:
            request, record = with_open_parts(opened, request, values)
        request = with_fixed_size(request) if needs_sums else request
        request = replace(request, leave_out=None if needs_sums else estimator._leave_out())
        found = with_record(combination.fit(opened.rows, request), record, previous)
        if previous is None:
            number_as_given(found, opened)
        known = Fitted(
            fit=found,
            targets=opened.targets,
            features=opened.features,
            encoder=opened.encoder,
            roles=roles,
            fixed=fixed_parameters(estimator),
            resumes=resumes,
            seeds=opened.seeds,
            remembered=rows_in(opened, opened.targets) if values["remember_rows"] else None,
        )
        return finished(estimator, known, found, values["warm_start"])


def finished(estimator: KernelEstimator, known: Fitted, found: Fit, resumes: bool) -> Fitted:
    """Return what an estimator knows after a fit, with the map of its scores."""
    if not resumes:
        found.run = None  # it holds all steps and the matrix
    return replace(known, fit=found, calibration=estimator._calibrated(found, known.targets))


def number_as_given(found: Fit, opened: OpenedRows) -> None:
    """Give rows the numbers of the user: a precomputed kernel has one column for each of them."""
    indices = found.basis.indices_
    if opened.present is not None and indices is not None:
        found.basis.indices_ = opened.present[indices]


# -- what is left open -------------------------------------------------------------------------


def with_open_parts(
    opened: OpenedRows, request: Request, values: Values
) -> tuple[Request, SearchRecord]:
    """Return a request with all that rows decide, and how kernel and metric were chosen."""
    kernel, record = searched_kernel(opened, request, values)
    return resolved(replace(request, kernel=kernel), opened.rows), record


def searched_kernel(
    opened: OpenedRows, request: Request, values: Values
) -> tuple[Kernel, SearchRecord]:
    """Return the kernel of a fit, in its metric, and how it was chosen."""
    rows, metric = opened.rows, values["metric"]
    space = space_of(
        values["kernel"],
        metric,
        values["scale"],
        rows.n_features,
        is_sparse(rows),
        request.basis,
        has_other_columns(opened.encoder),
    )
    limits = metric if isinstance(metric, MetricSearch) else MetricSearch()
    return search_kernel(rows, request, space, limits)


def is_sparse(rows: RowSet) -> bool:
    """Return whether the rows are sparse, from the first of them in one place."""
    first = next(iter(rows.blocks(1)), None)
    return first is not None and hasattr(first.X, "tocsr")


def with_record(found: Fit, record: SearchRecord | None, previous: Fit | None) -> Fit:
    """Return a fit with the record of its search, or with that of the fit it resumes."""
    if record is None:
        return replace(found, search=None if previous is None else previous.search)
    seconds = {"search": record.seconds, **found.seconds} if record.tried else found.seconds
    return replace(found, search=record, seconds=seconds)


def with_fixed_size(request: Request) -> Request:
    """Return a request whose basis does not grow: rows that are added later may need more.

    >>> from mercer.targets.number_targets import RegressionTargets
    >>> targets = RegressionTargets(np.zeros(1), np.ones(1), False)
    >>> with_fixed_size(Request(targets, basis=Landmarks("auto"))).basis
    Landmarks()
    """
    if request.basis is not None and not request.basis.grows:
        return request
    reason = "landmarks, whose sums can be added over rows"
    return replace(request, basis=Landmarks(), basis_reason=reason)

"""Divide and conquer: average the models of the shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.bases import BasisTransformer, FullKernel
from mercer.combine.combination import Combination, chosen_alpha, shard_plan
from mercer.contracts import Array, Solution, Status
from mercer.fit import fit, fit_basis
from mercer.inference.predict_left_out import Left, left_out_by
from mercer.leaving_out import FoldModels, LeaveOut
from mercer.moments.by_fold import DealtFolds, share_functions
from mercer.plan import Plan
from mercer.request import Request
from mercer.result import Clock, Fit
from mercer.rows.labels import lacks_labels
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling import Deal
from mercer.sampling.pooled_kernel import FEW, kernel_of_rows
from mercer.solvers import Ridge
from mercer.validation import check_flag, warn


class Average(Combination):
    """Divide and conquer: every shard solves its own problem, and the models are averaged.

    .. math:: f = \\sum_j \\frac{W_j}{W} f_j

    (Zhang, Duchi and Wainwright, 2015; Lin, Guo and Zhou, 2017). For rankings the weights are those
    of the shards' pairs, ``W_j^2`` without queries. Each shard sends its coefficients once. All
    shards use the same alpha, the one that suits all rows: it is too small for a single shard, but
    averaging reduces the extra variance.

    Parameters
    ----------
    local_basis : bool
        Whether each shard chooses its own functions from its own rows (DC-NY; the full kernel and
        sketches always do), instead of sharing one basis (DNystroem, DKRR-RF). The model is then a
        sum over the points of all shards.
    """

    label = "average of the shards' models"
    alias = "average"

    def __init__(self, local_basis: bool = False) -> None:
        self.local_basis = local_basis

    def check(self) -> None:
        """Validate the parameters."""
        check_flag(self.local_basis, "local_basis of Average")

    def fit(self, rows: RowSet, request: Request) -> Fit:
        """Fit a model to each shard and average the models."""
        clock, left_out = Clock(), request.leave_out
        request = replace(request, leave_out=None)
        warn_of_small_shards(rows)
        local = self.has_local_basis(request)
        plan = shard_plan(rows, request, local)
        with clock.stage("choose alpha"):
            request, path = chosen_alpha(rows, request, plan)
        shared: BasisTransformer | None = None
        with clock.stage("basis"):
            if local:
                # No basis has rows of all shards: each would find a bandwidth of its own.
                kernel = kernel_of_rows(rows, request.kernel, 0, request.seeds.rows)
                request = replace(request, kernel=kernel)
            else:
                plan = replace(plan, may_widen=False, folds=request.folds)
                shared = fit_basis(rows, request, plan)
        by_shard = replace(request, progress=None, combination=None, dtype=request.shard_dtype)
        with clock.stage("shards"):
            models = rows.map(
                model_of,
                rows.share(by_shard),
                None if shared is None else share_functions(rows, shared, whitened=True),
                None if shared is None else replace(plan, lanes=1),
                label="shards",
                record="models",
            )
        coefficients, constant, points, solution = averaged(models)
        basis = FullKernel().of_points(points, request.kernel) if points is not None else shared
        weight = sum(model.weight for model in models)
        left = None
        if left_out is not None and len(models) > 1:
            with clock.stage("leave out"):
                left = leave_shards_out(rows, request, basis, models, left_out)
        found = self._record(
            rows,
            request,
            plan,
            clock,
            basis=basis,
            coefficients=coefficients,
            intercept=constant,
            solution=solution,
            total_weight=weight,
            weight=weight,
            **path,
        )
        if left is None:
            return found
        kept = left.rows if left.intervals is None else None
        return replace(found, left_out=kept, intervals=left.intervals)


def leave_shards_out(
    rows: RowSet,
    request: Request,
    basis: BasisTransformer | None,
    models: Sequence[LocalModel],
    leave_out: LeaveOut,
) -> Left | None:
    """Predict the rows of some shards by the average of the others: no model is fitted again."""
    assert basis is not None
    assert request.alpha is not None
    groups = np.arange(len(models)) % min(leave_out.folds, len(models))
    without = []
    for group in range(groups.max() + 1):
        coefficients, constant, _, _ = averaged(models, groups != group)
        without.append((coefficients, constant))
    numbers = np.arange(len(without))
    shards = dict(zip(rows.numbers, groups.tolist(), strict=True))
    coefficients, constant, _, _ = averaged(models)
    deal = Deal(request.seeds.rows(), rows.slices)
    return left_out_by(
        rows,
        request.targets,
        basis,
        replace(leave_out, one_row=False),
        DealtFolds(len(without), None, deal, numbers, shards=shards),
        (coefficients, constant),
        FoldModels.stacked(numbers.tolist(), without),
        request.alpha,
        f"CV+ of {len(without)} groups of shards",
    )


def warn_of_small_shards(rows: RowSet) -> None:
    """Warn if most rows are in shards too small for a model of their own."""
    counts = np.array([fact.rows for fact in rows.facts])
    few = counts[counts < FEW]
    if not rows.one_place and few.sum() > rows.n_rows / 2:
        enough = max(1, rows.n_rows // (10 * FEW))
        warn(
            f"{len(few)} of {len(counts)} shards have fewer than {FEW} rows (the smallest has "
            f"{few.min()}): a model of so few rows is nearly constant, and so is their average. "
            f"Use fewer shards (such as shards={enough}), or combine='sum', which is exact for any "
            f"number of shards"
        )


@dataclass(frozen=True)
class LocalModel:
    """The model that a shard sends.

    ``points`` are the points of its kernel functions if the basis is local, otherwise None.
    """

    rows: int
    weight: float
    share: float  # its weight in the average
    coefficients: Array  # (M, k)
    intercept: Array  # (k,)
    points: Array | None
    status: Status
    reason: str
    steps: int


def model_of(
    shard: Shard, request: Request, shared: BasisTransformer | None, plan: Plan | None
) -> LocalModel:
    """Task: return the model that a shard fits to its own rows.

    If ``plan`` is None, the shard makes its own plan, for its own functions.
    """
    with shard.naming():
        source = shard.source
        targets = request.targets.within(source)
        # Centered by query, or partly without labels: there is no dual system.
        sums = targets.pairs is not None or (shared is None and lacks_labels(source, targets))
        own = replace(
            request, targets=targets, seeds=request.seeds.shard(shard.number), needs_sums=sums
        )
        planned = None if plan is None else (plan, request.solver or Ridge())
        found = fit(RowSet.in_one_place(source), own, planned, shared)
    weight = found.weight
    if found.folds is not None:  # shards are weighted by their labelled rows
        weight = sum(fold.target_weight for fold in found.folds)
    coefficients, points = found.coefficients, None
    if shared is None:
        coefficients, points = found.basis.expansion(coefficients)
    return LocalModel(
        rows=found.n_rows,
        weight=found.weight,
        share=targets.share(weight),
        coefficients=coefficients,
        intercept=found.intercept,
        points=points,
        status=found.solution.status,
        reason=found.solution.reason,
        steps=found.solution.steps,
    )


def averaged(
    models: Sequence[LocalModel], present: Array | None = None
) -> tuple[Array, Array, Array | None, Solution]:
    """Return coefficients, intercept, points and the combined status and reason.

    Only the models that are ``present`` count, if given.

    Points are None for a shared basis; otherwise those of all shards, with the coefficients of each
    shard multiplied by its share.
    """
    shares = np.array([model.share for model in models])
    if present is not None:
        shares = shares * present
    shares = shares / shares.sum()
    scaled = [share * model.coefficients for share, model in zip(shares, models, strict=True)]
    constant = np.sum(
        [share * model.intercept for share, model in zip(shares, models, strict=True)], axis=0
    )
    if models[0].points is None:
        points, coefficients = None, np.sum(scaled, axis=0)
    else:
        points = np.vstack([model.points for model in models if model.points is not None])
        coefficients = np.vstack(scaled)
    failed = [model for model in models if not model.status.succeeded]
    steps = max(model.steps for model in models)
    if failed:
        status = failed[0].status
        reason = f"{len(failed)} of {len(models)} shards; in the first: {failed[0].reason}"
    else:
        reduced = sum(model.status is Status.RANK_REDUCED for model in models)
        status = Status.RANK_REDUCED if reduced == len(models) else models[0].status
        if status is Status.RANK_REDUCED and reduced < len(models):
            status = Status.SOLVED
        reason = f"the average of {len(models)} shards' models; the first: {models[0].reason}"
    return coefficients, constant, points, Solution(coefficients, status, reason, steps)

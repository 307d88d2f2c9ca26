"""Leave folds out of a fit: models without them, and the left-out rows with their predictions.

It is the last step of a fit, from the sums and the basis of all the others.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from mercer.bases import BasisTransformer, Landmarks
from mercer.contracts import Array, Penalty, Targets
from mercer.forms import Form, Work
from mercer.inference.error_scale import (
    LocalScale,
    chosen_functions,
    error_counts_of,
    fit_scale,
    scales_of,
)
from mercer.inference.intervals import Intervals
from mercer.inference.left_out_pass import Evaluation, LeftOutRows, left_out_shards, rows_of
from mercer.inference.left_out_sums import stand_ins, sums_of
from mercer.inference.novelty import CANDIDATES, FAR, Novelty
from mercer.leaving_out import FoldModels, LeaveOut, models_without
from mercer.moments import Pass
from mercer.moments.by_fold import DealtFolds
from mercer.rows.rowset import RowSet
from mercer.sampling import Deal, uniform_indices
from mercer.solving import Outcome

#: Rows at landmarks are not left out if at least this many others remain.
ENOUGH = 1000
#: Folds for the scale of errors, at most.
SCALE_FOLDS = 10


@dataclass(frozen=True)
class Left:
    """The left-out rows of a fit, and what intervals need."""

    rows: LeftOutRows
    intervals: Intervals | None = None


def leave_out(work: Work, system: Form, outcome: Outcome) -> Left | None:
    """Return the left-out rows of a solved system; None if no fold can be left out."""
    wanted, rows, targets = work.request.leave_out, work.rows, work.request.targets
    assert wanted is not None
    again, deal = Pass(rows, targets, work.plan.reading), Deal(work.seed, rows.slices)
    found = models_without(system, outcome, work.solver, wanted, again, deal)
    if found is None:
        return None
    dealt, models = found
    return left_out_by(
        rows,
        targets,
        work.basis,
        wanted,
        dealt,
        (outcome.coefficients, outcome.intercept),
        models,
        outcome.alpha,
        "jackknife+" if wanted.one_row else f"CV+ of {len(models.numbers)} folds",
    )


def left_out_by(
    rows: RowSet,
    targets: Targets,
    basis: BasisTransformer,
    wanted: LeaveOut,
    dealt: DealtFolds,
    model: tuple[Array, Array],
    models: FoldModels,
    alpha: Penalty,
    label: str,
) -> Left | None:
    """Predict the left-out rows by the models without them, in a pass over the rows.

    Over shards, intervals need only sums; a map of scores needs the scores of all left-out rows.
    """
    functions = chosen_functions(basis) if wanted.scale else None
    # With an alpha of each output, the smallest: it can tell the most about single rows.
    novelty = _novelty(rows, basis, float(np.min(alpha))) if wanted.scale else None
    share = min(1.0, wanted.sample / max(1, rows.n_rows)) if dealt.held_out is None else 1.0
    skipped = _at_landmarks(rows, basis)
    evaluation = Evaluation.of(model, models, functions, novelty, skipped, share)
    held = left_out_shards(rows, targets, basis, dealt, evaluation)
    if functions is None:
        found = LeftOutRows.joined(held.map(rows_of, record="left-out rows"))
        return Left(found) if len(found.weight) else None
    sums = held.sum(sums_of, operator.add, record="left-out rows", light=True)
    if not sums.rows:
        return None
    scale, roots = fit_scale(held, basis, functions, min(SCALE_FOLDS, len(models.numbers)), sums)
    if novelty is not None:
        novelty = novelty.starting(sums.novelty_at(FAR), sums.diagonal / sums.weight)
    # Errors of 0 everywhere still need a scale to be divided by.
    tiny = np.finfo(float).eps * np.where(sums.spread > 0, sums.spread, 1.0)
    local = LocalScale(scale.at_least(tiny), novelty, sums.mean, sums.spread)
    if rows.one_place:
        found = LeftOutRows.joined(held.map(rows_of))
        row_scale = np.concatenate(held.map(scales_of, local, roots))
    else:
        counts = held.sum(
            error_counts_of,
            np.add,
            local,
            roots,
            len(models.numbers),
            record="counts of errors",
            light=True,
        )
        found = stand_ins(counts, sums.rows)
        row_scale = np.ones_like(found.targets)
    intervals = Intervals(
        models.coefficients,
        models.intercept,
        local.scale,
        found,
        row_scale,
        sums.mean,
        sums.spread,
        novelty,
        label,
    )
    return Left(found, intervals)


def _novelty(rows: RowSet, basis: BasisTransformer, alpha: float) -> Novelty | None:
    """Return the measure of distance, from landmarks or from a few rows."""
    if basis.kernel_.pairwise:
        return None
    points = basis.landmarks_ if isinstance(basis, Landmarks) else None
    if points is None and not rows.one_place:
        return None  # no row leaves its shard
    if points is None:
        points = rows.take(uniform_indices(rows.n_rows, CANDIDATES, np.random.default_rng(0)))
    return Novelty.of(basis.kernel_, points, alpha)


def _at_landmarks(rows: RowSet, basis: BasisTransformer) -> dict[int, Array]:
    """Return the rows of each shard that are landmarks: their functions are not left out."""
    indices = basis.indices_
    if not isinstance(basis, Landmarks) or basis.dual or indices is None:
        return {}
    if rows.n_rows - len(indices) < ENOUGH:
        return {}
    return rows.split_indices(indices)

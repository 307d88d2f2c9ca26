"""Leave folds out of a fit: models without them, and the left-out rows with their predictions.

It is the last step of a fit, from the sums and the basis of all the others.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from mercer.bases import BasisTransformer, Landmarks
from mercer.contracts import Array, Penalty, Targets
from mercer.forms import Work
from mercer.inference.error_scale import chosen_functions, fit_scale
from mercer.inference.fold_models import FoldModels, left_out_folds, without_folds
from mercer.inference.fold_models_by_products import without_folds_by_products
from mercer.inference.fold_models_dual import (
    without_folds_by_kernel_products,
    without_folds_dual,
)
from mercer.inference.fold_models_over_shards import without_folds_over_shards
from mercer.inference.intervals import Intervals
from mercer.inference.left_out_pass import Evaluation, left_out_shards, rows_of
from mercer.inference.left_out_rows import LeftOutRows
from mercer.inference.left_out_sums import stand_ins, sums_of
from mercer.inference.local_scale import LocalScale, error_counts_of, scales_of
from mercer.inference.novelty import CANDIDATES, FAR, Novelty
from mercer.inference.one_row_models import without_rows, without_rows_dual
from mercer.moments.dealt_folds import DealtFolds
from mercer.request import LeaveOut
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling import uniform_indices
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


def leave_out(work: Work, system: object, outcome: Outcome) -> Left | None:
    """Return the left-out rows of a solved system; None if no fold can be left out."""
    asked, rows = work.request.leave_out, work.rows
    assert asked is not None
    dealt, models = _without(work, system, outcome, asked)
    if models is None:
        return None
    assert dealt is not None
    return left_out_by(
        rows,
        work.request.targets,
        work.basis,
        asked,
        dealt,
        (outcome.coefficients, outcome.intercept),
        models,
        outcome.alpha,
        "jackknife+" if asked.one_row else f"CV+ of {len(models.numbers)} folds",
    )


def _without(
    work: Work, system: object, outcome: Outcome, asked: LeaveOut
) -> tuple[DealtFolds | None, FoldModels | None]:
    """Return how rows were dealt, and the models without each fold, by the form of the system."""
    form, rows = work.plan.form, work.rows
    if asked.one_row:
        starts = {number: part.start for number, part in rows.slices.items()}
        dealt = DealtFolds(rows.n_rows, None, 0, np.arange(rows.n_rows), starts=starts)
        if form == "moments":
            return dealt, without_rows(system, work, outcome)  # type: ignore[arg-type]
        return dealt, without_rows_dual(system, outcome)  # type: ignore[arg-type]
    if form == "moments" and not rows.one_place and work.plan.folds == 1:
        if work.solver.regularized_by_steps or work.solver.cuts_off:
            return None, None
        folds, held_out = asked.dealing(rows.n_rows)
        if folds < 2:
            return None, None
        dealt = DealtFolds(folds, held_out, 0, np.arange(int(held_out is not None), folds))
        found = without_folds_over_shards(system, work, outcome, dealt)  # type: ignore[arg-type]
        return (None, None) if found is None else found
    if form == "moments":
        assert work.seed is not None
        numbers = left_out_folds(system.folds, work.plan.held_out is not None)  # type: ignore[attr-defined]
        if work.plan.folds < 2 or not numbers:
            return None, None
        dealt = DealtFolds(work.plan.folds, work.plan.held_out, work.seed, np.array(numbers))
        return dealt, without_folds(system, work, outcome)  # type: ignore[arg-type]
    folds, held_out = asked.dealing(rows.n_rows)
    if folds < 2:
        return None, None
    numbers = list(range(int(held_out is not None), folds))
    dealt = DealtFolds(folds, held_out, 0, np.array(numbers))
    if form == "products":
        return dealt, without_folds_by_products(system, outcome, dealt, asked.tolerance)  # type: ignore[arg-type]
    labels = np.concatenate(rows.map(places_of, dealt, light=True))
    places = list(range(len(numbers)))
    if form == "kernel matrix":
        models = without_folds_dual(system, work, outcome, labels, places)  # type: ignore[arg-type]
    else:
        models = without_folds_by_kernel_products(system, outcome, labels, places)  # type: ignore[arg-type]
    if models is not None and len(models.numbers) < len(numbers):  # folds without weight
        dealt = DealtFolds(folds, held_out, dealt.seed, dealt.numbers[models.numbers])
    return dealt, models


def places_of(shard: Shard, dealt: DealtFolds) -> Array:
    """Task: return the places of a shard's rows among the folds that are left out."""
    return dealt.places(shard)


def left_out_by(
    rows: RowSet,
    targets: Targets,
    basis: BasisTransformer,
    asked: LeaveOut,
    dealt: DealtFolds,
    model: tuple[Array, Array],
    models: FoldModels,
    alpha: Penalty,
    label: str,
) -> Left | None:
    """Predict the left-out rows by the models without them, in a pass over the rows.

    Over shards, intervals need only sums; a map of scores needs the scores of all left-out rows.
    """
    functions = chosen_functions(basis.size) if asked.scale else None
    # With an alpha of each output, the smallest: it can tell the most about single rows.
    novelty = _novelty(rows, basis, float(np.min(alpha))) if asked.scale else None
    share = min(1.0, asked.sample / max(1, rows.n_rows)) if dealt.held_out is None else 1.0
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
    points = getattr(basis, "landmarks_", None)
    if points is None and not rows.one_place:
        return None  # no row leaves its shard
    if points is None:
        points = rows.take(uniform_indices(rows.n_rows, CANDIDATES, np.random.default_rng(0)))
    return Novelty.of(basis.kernel_, points, alpha)


def _at_landmarks(rows: RowSet, basis: BasisTransformer) -> dict[int, Array]:
    """Return the rows of each shard that are landmarks: their functions are not left out."""
    indices = getattr(basis, "indices_", None)
    if not isinstance(basis, Landmarks) or basis.dual or indices is None:
        return {}
    if rows.n_rows - len(indices) < ENOUGH:
        return {}
    return rows.split_indices(np.sort(indices))

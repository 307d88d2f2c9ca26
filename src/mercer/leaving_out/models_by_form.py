"""The models without each fold or row of a fit, by the form of its system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.contracts import Array, Targets
from mercer.leaving_out.fold_models import FoldModels, Model, left_out_folds, without_folds
from mercer.leaving_out.fold_models_by_inverse import (
    without_folds_by_kernel_products,
    without_folds_dual,
)
from mercer.leaving_out.fold_models_by_products import (
    without_folds_by_products,
    without_folds_over_shards,
)
from mercer.leaving_out.one_row_models import without_rows, without_rows_dual
from mercer.leaving_out.wanted import LeaveOut
from mercer.moments import Pass
from mercer.moments.dealt_folds import DealtFolds
from mercer.rows.shards import Shard
from mercer.sampling import Deal
from mercer.solvers import BaseSolver
from mercer.systems import KernelMatrixSystem, MomentSystem, ProductSystem


def models_without(
    system: Any,
    model: Model,
    solver: BaseSolver,
    wanted: LeaveOut,
    again: Pass,
    deal: Deal,
) -> tuple[DealtFolds, FoldModels] | None:
    """Return how rows were dealt, and the models; None if no fold can be left out."""
    rows, moments = again.rows, isinstance(system, MomentSystem)
    if wanted.one_row:
        dealt = DealtFolds(rows.n_rows, None, deal, np.arange(rows.n_rows), alone=True)
        if moments:
            return dealt, without_rows(system, model, again)
        return _found(dealt, without_rows_dual(system, model))
    if moments and (rows.one_place or len(system.folds) > 1):
        held_out = again.reading.held_out
        numbers = left_out_folds(system.folds, held_out is not None)
        if len(system.folds) < 2 or not numbers:
            return None
        dealt = DealtFolds(len(system.folds), held_out, deal, np.array(numbers))
        return dealt, without_folds(system, model, solver, numbers, wanted.tolerance)
    folds, held_out = wanted.dealing(rows.n_rows)
    if folds < 2:
        return None
    dealt = DealtFolds(folds, held_out, deal, np.arange(int(held_out is not None), folds))
    if moments:
        if solver.regularized_by_steps or solver.cuts_off:
            return None
        return without_folds_over_shards(system, model, again, dealt, wanted.tolerance)
    if isinstance(system, ProductSystem):
        return without_folds_by_products(system, model, dealt, wanted.tolerance)
    labels = rows.by_number(rows.map(places_of, again.targets, dealt, light=True))
    places = list(range(len(dealt.numbers)))
    if isinstance(system, KernelMatrixSystem):
        return _found(dealt, without_folds_dual(system, model, solver, labels, places))
    return dealt, without_folds_by_kernel_products(system, model, labels, places)


def _found(dealt: DealtFolds, models: FoldModels | None) -> tuple[DealtFolds, FoldModels] | None:
    """Return models, and how rows were dealt to those folds that have weight."""
    if models is None:
        return None
    return replace(dealt, numbers=dealt.numbers[models.numbers]), models


def places_of(shard: Shard, targets: Targets, dealt: DealtFolds) -> Array:
    """Task: return the places of a shard's rows among the folds that are left out."""
    return dealt.places(shard, targets)

"""How rows are left out after a fit, and the models without them, by the form of its system."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from mercer.moments import Pass
from mercer.moments.by_fold import DealtFolds
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


#: The most rows that are left out one at a time.
MOST = 4000


@dataclass(frozen=True)
class LeaveOut:
    """How rows are left out after a fit, to be predicted by models without them.

    ``folds`` is the number of models. About half of the rows are left out, but at least ``few`` and
    at most ``sample``. ``scale`` is whether intervals are wanted, which need the local scale of
    errors. With ``one_row`` every row is left out by itself. ``tolerance`` is how well the change
    of a model has to be known where it is found in steps.

    >>> LeaveOut().dealing(1000), LeaveOut().dealing(8000), LeaveOut().dealing(1_000_000)
    ((10, None), (9, 0.5), (9, 0.02))
    """

    folds: int = 8
    sample: int = 20_000
    few: int = 4000
    scale: bool = False
    one_row: bool = False
    tolerance: float = 0.01

    @classmethod
    def for_scores(cls) -> LeaveOut:
        """Return how a map of scores leaves rows out: it has few parameters, so few are enough.

        >>> LeaveOut.for_scores().dealing(1000), LeaveOut.for_scores().dealing(10_000)
        ((10, None), (3, 0.2))
        """
        return cls(folds=2, sample=5000, few=2000)

    def dealing(self, n_rows: int) -> tuple[int, float | None]:
        """Return the number of folds, and the share of rows outside the first if that one stays."""
        if self.one_row:
            return 1, None
        if n_rows <= self.few:
            return max(1, min(10, n_rows)), None
        # The fewer rows a model leaves out, the more it is like that of all rows.
        share = 0.5 if self.folds > 2 else 0.2
        return self.folds + 1, min(self.sample, max(self.few, int(share * n_rows))) / n_rows


def check_one_row(n_rows: int, one_place: bool, form: str, exact: bool) -> None:
    """Raise ValueError if rows cannot be left out one at a time."""
    if not one_place:
        raise ValueError(
            "intervals='jackknife+' needs the errors of single rows, which stay in their shards: "
            "use intervals='cv+'"
        )
    if n_rows > MOST:
        raise ValueError(
            f"intervals='jackknife+' keeps a model for each row, for at most {MOST} rows, got "
            f"{n_rows}: use intervals='cv+'"
        )
    if form not in ("moments", "kernel matrix") or not exact:
        raise ValueError(
            "intervals='jackknife+' needs a direct solve, of moments or of the kernel matrix: use "
            "solver='ridge', or intervals='cv+'"
        )

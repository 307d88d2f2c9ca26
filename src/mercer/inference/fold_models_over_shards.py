"""The models without each fold over shards: vectors are exchanged, never matrices of folds.

.. math:: S_{-k} c = S c - \\sum_j \\sum_{i \\in D_j,\\, \\mathrm{fold}(i) = k} w_i h_i (h_i'c)

The matrix S of all rows is known from the fit. Every shard keeps the values of its left-out rows,
which are few, and multiplies by them: it sends one vector per fold and step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Targets
from mercer.engines import count_numbers
from mercer.forms import Work
from mercer.inference.fold_models import FoldModels, models_by_change
from mercer.inference.left_out_pass import ENTRIES
from mercer.moments import Moments
from mercer.moments.by_fold import add_folds, share_functions
from mercer.moments.dealt_folds import DealtFolds
from mercer.rows.shards import Shard
from mercer.solving import Outcome
from mercer.systems import MomentSystem

_NOTHING = np.zeros((0, 0))


@dataclass(frozen=True)
class FoldValues:
    """The values of the left-out rows of a shard by fold, times the roots of weights; and sums."""

    values: list[Array]
    sums: list[Moments]  # without the matrices


def without_folds_over_shards(
    system: MomentSystem, work: Work, outcome: Outcome, dealt: DealtFolds
) -> tuple[DealtFolds, FoldModels] | None:
    """Return the folds that can be left out, and the models without them."""
    rows = work.rows
    functions = share_functions(rows, system.basis)
    held = rows.hold(fold_values_of, work.request.targets, functions, dealt)
    sums: list[Moments] = held.sum(fold_sums_of_values, add_folds, record="sums of folds")
    whole = system.total.target_rows
    usable = [k for k, fold in enumerate(sums) if 0 < fold.target_rows < whole]
    if not usable:
        return None
    outputs = sums[0].cross.shape[1]
    columns = np.concatenate([k * outputs + np.arange(outputs) for k in usable])

    def image(C: Array) -> Array:
        every = np.zeros((len(C), len(sums) * outputs))
        every[:, columns] = C
        found = held.sum(
            fold_products_of, np.add, every, record="product", to_shard=count_numbers(C), light=True
        )
        return np.asarray(found[:, columns])

    places = [int(dealt.numbers[k]) for k in usable]
    asked = work.request.leave_out
    assert asked is not None
    left = [sums[k] for k in usable]
    models, _ = models_by_change(system, left, image, places, outcome, asked.tolerance)
    return replace(dealt, numbers=np.array(places)), models


def fold_values_of(
    shard: Shard, targets: Targets, basis: BasisTransformer, dealt: DealtFolds
) -> FoldValues:
    """Task: evaluate the left-out rows of a shard, and keep them."""
    folds = len(dealt.numbers)
    values: list[list[Array]] = [[] for _ in range(folds)]
    empty = Moments.of(np.zeros((0, basis.size)), np.zeros((0, targets.outputs)))
    sums = [replace(empty, gram=_NOTHING) for _ in range(folds)]
    block_rows = max(64, min(4096, ENTRIES // max(1, basis.size)))
    with shard.naming():
        for block, Y, places in dealt.blocks(shard, targets, block_rows):
            for fold in range(folds):
                at = np.flatnonzero(places == fold)
                if not len(at):
                    continue
                H = np.array(basis.orthogonalized(block.X[at]))
                weight = np.ones(len(at)) if block.weight is None else block.weight[at]
                labelled = np.asarray(~np.isnan(Y[at]).any(axis=1))
                sums[fold] = sums[fold] + _vector_sums(H, Y[at], weight, labelled)
                values[fold].append(H * np.sqrt(weight).astype(H.dtype)[:, None])
    none = np.zeros((0, basis.size), dtype=basis.precision_)
    return FoldValues([np.concatenate([none, *parts]) for parts in values], sums)


def _vector_sums(H: Array, Y: Array, weight: Array, labelled: Array) -> Moments:
    """Return all moments of some rows but the matrix."""
    wide, known = H.astype(np.float64), weight * labelled
    Y = np.where(labelled[:, None], Y, 0.0)
    return Moments(
        rows=int(np.count_nonzero(weight)),
        weight=float(weight.sum()),
        sum_h=weight @ wide,
        gram=_NOTHING,
        target_rows=int(np.count_nonzero(known)),
        target_weight=float(known.sum()),
        target_sum_h=known @ wide,
        cross=wide.T @ (known[:, None] * Y),
        sum_y=known @ Y,
        sum_yy=known @ Y**2,
    )


def fold_sums_of_values(held: FoldValues) -> list[Moments]:
    """Task: return the vector sums of a shard's left-out rows, by fold."""
    return held.sums


def fold_products_of(held: FoldValues, C: Array) -> Array:
    """Task: return ``S_k c`` of a shard for the columns of each fold."""
    outputs = C.shape[1] // len(held.values)
    image = np.zeros(C.shape)
    for fold, H in enumerate(held.values):
        own = slice(fold * outputs, (fold + 1) * outputs)
        image[:, own] = H.T @ (H @ C[:, own].astype(H.dtype))
    return image

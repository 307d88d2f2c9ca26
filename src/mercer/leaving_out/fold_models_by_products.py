"""The models without each fold by products with the rows of folds: no matrix of a fold is formed.

.. math:: (S_{-k}/W_{-k} - m_k m_k' + \\lambda \\Gamma)\\, c_k
          = t_{-k}/W_{-k} - m_k \\bar y_k, \\qquad
          S_{-k} c = S c - \\sum_{i:\\, \\mathrm{fold}(i) = k} w_i h_i (h_i'c)

A fit by products multiplies by all rows: the folds share one pass over their values for each step,
in which the rows of a fold do not count for its own columns. A fit to sums over shards knows S:
every shard keeps the values of its left-out rows, which are few, multiplies by them, and sends one
vector per fold and step. The start is the solution for all rows.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Targets
from mercer.engines import count_numbers
from mercer.leaving_out.fold_models import FoldModels, Model, models_by_change
from mercer.leaving_out.rests_of_moments import solve_separately
from mercer.moments import Moments, Pass, Workspace
from mercer.moments.by_fold import DealtFolds, add_folds, row_sums, share_functions
from mercer.moments.products import fold_sums_of, product_without
from mercer.moments.queries import QueryParts, QuerySums
from mercer.rows.shards import Shard
from mercer.systems import MomentSystem, ProductSystem

#: Steps of conjugate gradients at most.
STEPS = 40


def without_folds_by_products(
    system: ProductSystem, model: Model, dealt: DealtFolds, tolerance: float
) -> tuple[DealtFolds, FoldModels] | None:
    """Return the folds that can be left out, and the models without them."""
    products, outputs, whole = system.products, system.b.shape[1], system.sums
    sums = products.sum(fold_sums_of, add_folds, dealt, label="folds", record="sums")
    usable = [k for k, fold in enumerate(sums) if 0 < fold.rows < whole.rows]
    if not usable:
        return None
    dealt = replace(dealt, numbers=dealt.numbers[usable])
    folds, between = zip(*(sums[k].joined() for k in usable), strict=True)
    weights = np.array([whole.weight - fold.weight for fold in folds])
    mean_h = np.zeros((len(folds), len(system.b)))
    mean_y = np.zeros((len(folds), outputs))
    if system.intercept:
        mean_h = np.stack([whole.sum_h - fold.sum_h for fold in folds]) / weights[:, None]
        mean_y = np.stack([whole.sum_y - fold.sum_y for fold in folds]) / weights[:, None]
    right = np.hstack(
        [
            (whole.cross - fold.cross) / w - np.outer(m, y)
            for fold, w, m, y in zip(folds, weights, mean_h, mean_y, strict=True)
        ]
    )
    columns = np.repeat(np.arange(len(folds)), outputs)

    def product(V: Array) -> Array:
        image = products.sum(
            product_without,
            operator.add,
            V,
            dealt,
            record="product",
            to_shard=count_numbers(V),
            light=True,
        )
        image = image + system.between.T @ (system.between @ V)
        for k, B in enumerate(between):
            image[:, columns == k] -= B.T @ (B @ V[:, columns == k])
        image = image / weights[columns]
        image -= mean_h[columns].T * np.einsum("jm,mj->j", mean_h[columns], V)
        return np.asarray(image + system.penalty(V, exact=False))

    start = np.tile(model.solution.value, len(folds))
    value, _ = solve_separately(product, system.precondition, right, start, STEPS, tolerance)
    models = []
    for k in range(len(folds)):
        own = value[:, columns == k]
        models.append((own, mean_y[k] - mean_h[k] @ own))
    return dealt, FoldModels.stacked(dealt.numbers.tolist(), models)


#: Values of functions of a block of rows.
ENTRIES = 2**22


@dataclass(frozen=True)
class FoldValues:
    """The values of the left-out rows of a shard by fold, times the roots of weights; and sums.

    In a ranking values are centered by query, and ``parts`` are those of queries that are cut.
    """

    values: list[Array]
    sums: list[Moments]  # without the matrices
    parts: list[QueryParts]


def without_folds_over_shards(
    system: MomentSystem, model: Model, again: Pass, dealt: DealtFolds, tolerance: float
) -> tuple[DealtFolds, FoldModels] | None:
    """Return the folds that can be left out, and the models without them."""
    rows, targets = again.rows, again.targets
    held = rows.hold(fold_values_of, targets, share_functions(rows, system.basis), dealt)
    sums = held.sum(fold_sums_of_values, add_folds, record="sums of folds")
    whole = system.total.target_rows
    usable = [k for k, fold in enumerate(sums) if 0 < fold.target_rows < whole]
    if not usable:
        return None
    between: dict[int, Array] = {}
    if targets.pairs is not None:
        cut = held.map(fold_parts_of, record="parts of queries")
        for k in usable:
            between[k], Y, _ = QueryParts.stacked([parts[k] for parts in cut]).joined()
            sums[k] = replace(sums[k], cross=sums[k].cross + between[k].T @ Y)
    outputs = sums[0].cross.shape[1]
    columns = np.concatenate([k * outputs + np.arange(outputs) for k in usable])

    def image(C: Array) -> Array:
        every = np.zeros((len(C), len(sums) * outputs))
        every[:, columns] = C
        found = held.sum(
            fold_products_of, np.add, every, record="product", to_shard=count_numbers(C), light=True
        )
        for k, B in between.items():
            own = slice(k * outputs, (k + 1) * outputs)
            found[:, own] += B.T @ (B @ every[:, own])
        return np.asarray(found[:, columns])

    places = [int(dealt.numbers[k]) for k in usable]
    left = [sums[k] for k in usable]
    models, _ = models_by_change(system, left, image, places, model, tolerance)
    return replace(dealt, numbers=np.array(places)), models


def fold_values_of(
    shard: Shard, targets: Targets, basis: BasisTransformer, dealt: DealtFolds
) -> FoldValues:
    """Task: evaluate the left-out rows of a shard, and keep them."""
    workspace = Workspace(basis.size, basis.precision_)
    sums = [row_sums(targets, basis, workspace, False, keep=True) for _ in dealt.numbers]
    block_rows = max(64, min(4096, ENTRIES // max(1, basis.size)))
    with shard.naming():
        for block, Y, places in dealt.blocks(shard, targets, block_rows):
            columns: list[Any] = [block.X, Y, block.weight]
            if targets.pairs is not None:
                columns.append(targets.codes(block))
            for fold in np.unique(places[places >= 0]).tolist():
                at = np.flatnonzero(places == fold)
                sums[fold].add(*(None if column is None else column[at] for column in columns))
    totals = [fold.total() for fold in sums]
    parts = [fold.parts for fold in sums if isinstance(fold, QuerySums)]
    return FoldValues([fold.rows_kept() for fold in sums], totals, parts)


def fold_sums_of_values(held: FoldValues) -> list[Moments]:
    """Task: return the vector sums of a shard's left-out rows, by fold."""
    return held.sums


def fold_parts_of(held: FoldValues) -> list[QueryParts]:
    """Task: return the parts of queries among a shard's left-out rows, by fold."""
    return held.parts


def fold_products_of(held: FoldValues, C: Array) -> Array:
    """Task: return ``S_k c`` of a shard for the columns of each fold."""
    outputs = C.shape[1] // len(held.values)
    image = np.zeros(C.shape)
    for fold, H in enumerate(held.values):
        own = slice(fold * outputs, (fold + 1) * outputs)
        image[:, own] = H.T @ (H @ C[:, own].astype(H.dtype))
    return image

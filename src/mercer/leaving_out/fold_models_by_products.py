"""The models without each fold by products with the rows: no matrix of moments is ever formed.

.. math:: (S_{-k}/W_{-k} - m_k m_k' + \\lambda \\Gamma)\\, c_k = t_{-k}/W_{-k} - m_k \\bar y_k

All folds share one pass over the values of the rows for each step, in which the rows of a fold do
not count for its own columns; the solution for all rows is the start.
"""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from mercer.contracts import Array
from mercer.engines import count_numbers
from mercer.leaving_out.fold_models import FoldModels, Model
from mercer.leaving_out.separate_gradients import solve_separately
from mercer.moments.by_fold import add_folds
from mercer.moments.dealt_folds import DealtFolds
from mercer.moments.products import fold_sums_of, product_without
from mercer.systems import ProductSystem

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

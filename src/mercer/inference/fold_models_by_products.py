"""The models without each fold by products with the rows: no matrix of moments is ever formed.

.. math:: (S_{-k}/W_{-k} - m_k m_k' + \\lambda \\Gamma)\\, c_k = t_{-k}/W_{-k} - m_k \\bar y_k

All folds share one pass over the values of the rows for each step, in which the rows of a fold do
not count for its own columns; the solution for all rows is the start.
"""

from __future__ import annotations

import operator

import numpy as np

from mercer.contracts import Array
from mercer.engines import count_numbers
from mercer.inference.fold_models import FoldModels
from mercer.inference.separate_gradients import solve_separately
from mercer.moments.dealt_folds import DealtFolds
from mercer.moments.products import fold_sums_of, product_without
from mercer.solving import Outcome
from mercer.systems import ProductSystem

#: Steps of conjugate gradients at most.
STEPS = 40


def without_folds_by_products(
    system: ProductSystem, outcome: Outcome, dealt: DealtFolds, tolerance: float
) -> FoldModels:
    """Return the models without each fold."""
    products, outputs = system.products, system.b.shape[1]
    sums = products.sum(fold_sums_of, operator.add, dealt, label="folds", record="sums")
    numbers = [int(k) for k in dealt.numbers]
    folds = [sums.fold(k) for k in range(len(numbers))]
    weights = np.array([system.sums.weight - fold.weight for fold in folds])
    crosses = [system.sums.cross - fold.cross for fold in folds]
    mean_h = np.zeros((len(folds), len(system.b)))
    mean_y = np.zeros((len(folds), outputs))
    if system.intercept:
        mean_h = np.stack([system.sums.sum_h - fold.sum_h for fold in folds]) / weights[:, None]
        mean_y = np.stack([system.sums.sum_y - fold.sum_y for fold in folds]) / weights[:, None]
    right = np.hstack(
        [
            t / w - np.outer(m, y)
            for t, w, m, y in zip(crosses, weights, mean_h, mean_y, strict=True)
        ]
    )
    columns = np.repeat(np.arange(len(numbers)), outputs)

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
        image = image / weights[columns]
        image -= mean_h[columns].T * np.einsum("jm,mj->j", mean_h[columns], V)
        return np.asarray(image + system.penalty(V, exact=False))

    start = np.tile(outcome.solution.value, len(numbers))
    value, _ = solve_separately(product, system.precondition, right, start, STEPS, tolerance)
    models = []
    for k in range(len(numbers)):
        own = value[:, columns == k]
        models.append((own, mean_y[k] - mean_h[k] @ own))
    return FoldModels.stacked(numbers, models)

"""The average gradient outer product of a fit, a sum over rows.

.. math:: G = \\frac1W \\sum_i w_i \\sum_o \\nabla f_o(x_i) \\nabla f_o(x_i)'

Its large directions are those in which the fit varies (Radhakrishnan, Beaglehole, Pandit and
Belkin, 2024). It needs no y, adds over blocks, shards and machines, and a shard sends d^2 numbers,
or d for the diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.columns.scaling import Scaling
from mercer.contracts import Array, Reading, RowBlock, Rows, Targets
from mercer.engines import in_order
from mercer.moments.by_fold import share_functions
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.symmetric import symmetric, triangle
from mercer.validation import check_finite, check_total_weight, check_weight

#: Entries of the gradients of a block: rows times columns times outputs.
ENTRIES = 2**21


def gradient_outer_product(
    rows: RowSet,
    basis: BasisTransformer,
    coefficients: Array,
    reading: Reading,
    *,
    diagonal: bool = False,
    scaling: Scaling | None = None,
    targets: Targets | None = None,
) -> Array:
    """Return G of shape (d, d), or its diagonal (d,), over all rows.

    Parameters
    ----------
    rows : RowSet
        The rows; their y is not used.
    basis : BasisTransformer
        The fitted functions.
    coefficients : array of shape (M, k)
        The fit, in terms of the functions.
    reading : Reading
        How rows are read.
    diagonal : bool
        Whether only the diagonal is needed.
    scaling : Scaling or None
        If given, gradients are in the scaled columns instead of x.
    targets : Targets or None
        Of a ranking: rows then count as much as their pairs.

    Examples
    --------
    >>> from mercer import KernelRegressor, Linear
    >>> from mercer.rows import ArraySource
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> model = KernelRegressor(Linear(), alpha=1e-9, scale=None).fit(X, X @ [3.0, -1.0])
    >>> rows = RowSet.in_one_place(ArraySource(X))
    >>> gradient_outer_product(rows, model.basis_, model.dual_coef_, Reading(50, 1)).round(3)
    array([[ 9., -3.],
           [-3.,  1.]])
    """
    total, weight = rows.sum(
        outer_products_of,
        add_sums,
        share_functions(rows, basis),
        rows.share(coefficients, "coefficients"),
        rows.reading(reading),
        diagonal,
        scaling,
        None if targets is None or targets.pairs is None else targets,
        label="gradients",
        record="gradient outer product",
    )
    check_total_weight(weight)
    mean = np.asarray(total / weight)
    return mean if diagonal else symmetric(mean)


def add_sums(left: tuple[Array, float], right: tuple[Array, float]) -> tuple[Array, float]:
    """Add sums of outer products, and of weights."""
    return left[0] + right[0], left[1] + right[1]


def outer_products_of(
    shard: Shard,
    basis: BasisTransformer,
    coefficients: Array,
    reading: Reading,
    diagonal: bool,
    scaling: Scaling | None,
    targets: Targets | None,
) -> tuple[Array, float]:
    """Task: return the weighted sum over a shard's rows, as a triangle, and the sum of weights."""
    source = shard.source
    width = source.n_features
    fewest = max(64, ENTRIES // max(1, width * coefficients.shape[1]))
    block_rows = min(reading.block_rows, fewest)

    def pieces() -> Iterator[tuple[Rows, Array]]:
        for block in source.blocks(block_rows):
            check_finite(block.X, start=block.start, names=source.feature_names)
            yield block.X, _weights(block, targets)
            shard.report("gradients", block.start + block.n_rows)

    def products(gradients: Any, piece: tuple[Rows, Array]) -> tuple[Array, float]:
        X, weight = piece
        found = gradients(X)
        if scaling is not None:
            slope = np.broadcast_to(scaling.slope(X), X.shape)
            found = np.divide(found, slope, out=np.zeros_like(found), where=slope > 0)
        if diagonal:
            total = np.einsum("oij,oij,i->j", found, found, weight, dtype=np.float64)
        else:
            flat = (found * np.sqrt(weight)[:, None].astype(found.dtype)).reshape(-1, X.shape[1])
            total = (flat.T @ flat).astype(np.float64)
        return total, float(weight.sum())

    with shard.naming():
        parts = in_order(lambda: basis.gradients(coefficients), pieces(), products, reading.lanes)
    nothing = np.zeros(width if diagonal else (width, width))
    total, weight = reduce(add_sums, parts, (nothing, 0.0))
    return total if diagonal else triangle(total), weight


def _weights(block: RowBlock, targets: Targets | None) -> Array:
    """Return the weight of each row; in a ranking, times that of its query's pairs."""
    weight = np.ones(block.n_rows)
    if block.weight is not None:
        check_weight(block.weight, start=block.start)
        weight = block.weight
    if targets is None:
        return weight
    return np.asarray(weight * targets.pairs.factor[targets.codes(block)])


#: Weights and directions below this share of the largest are left out.
SMALLEST = 1e-3


def learned_matrix(G: Array, power: float) -> Array | None:
    """Return the next metric, a root of G: (d,) from a diagonal, or (d, r); None if f is constant.

    .. math:: P = G^p, \\qquad p = \\tfrac12 \\text{ (moves fast) or } \\tfrac14 \\text{ (steadier)}

    Only ratios count: the bandwidth sets the scale, so the
    largest weight is 1.

    >>> learned_matrix(np.array([4.0, 1.0, 0.0]), 0.5)
    array([1. , 0.5, 0. ])
    >>> learned_matrix(np.diag([4.0, 1.0, 0.0]), 0.5).shape
    (3, 2)
    """
    if G.ndim == 1:
        values = np.maximum(G, 0.0)
        if not values.max(initial=0.0) > 0:
            return None
        weights = (values / values.max()) ** power
        return np.where(weights >= SMALLEST, weights, 0.0)
    values, vectors = np.linalg.eigh(G)
    values = np.maximum(values, 0.0)
    if not values[-1] > 0:
        return None
    weights = (values / values[-1]) ** power
    kept = np.flatnonzero(weights >= SMALLEST)[::-1]
    vectors = vectors[:, kept]
    # The sign of an eigenvector is arbitrary: the largest entry is positive.
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(len(kept))])
    return np.asarray(vectors * weights[kept])

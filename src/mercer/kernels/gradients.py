"""Gradients of sums ``f_o(x) = sum_j w_j c_jo h_j(x)``: what those of all functions share.

Where ``grad h_j(x) = a_j(x) v_j``, a slope times a fixed vector, the slopes are computed once per
block of rows, and

.. math:: \\nabla f_o(x_i) = \\sum_j A_{ij} c_{jo} v_j, \\qquad A_{ij} = w_{ij} a_j(x_i)

is one matrix product per output. At a kink, the gradient is the mean of the one-sided ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from scipy import sparse

from mercer.contracts import Array, BlockGradient, Precision, Rows

#: Slopes that are held at a time, so that they stay in the cache.
TILE = 2**19
#: Values of differences that are held at a time.
PAIR_VALUES = 2**20


class Scratch:
    """Arrays that the tiles of one call share: memory that is allocated again costs page faults."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Array] = {}

    def take(self, name: str, shape: tuple[int, int], dtype: str) -> Array:
        """Return an array with any values in it, that of the last call where it is large enough."""
        size, held = shape[0] * shape[1], self._held.get((name, dtype))
        if held is None or held.size < size:
            held = self._held[name, dtype] = np.empty(size, dtype=dtype)
        return held[:size].reshape(shape)


#: ``(X, C, weight, scratch)`` -> gradients of a few rows.
TileGradient: TypeAlias = Callable[[Rows, Array, Array | None, Scratch], Array]


def in_tiles(tile: TileGradient, n_points: int, precision: Precision) -> BlockGradient:
    """Return the gradient of blocks of any size, which are taken a few rows at a time."""
    step = max(16, TILE // max(1, n_points))

    def block(X: Rows, C: Array, weight: Array | None = None) -> Array:
        scratch = Scratch()
        out = np.empty((C.shape[1], *X.shape), dtype=precision)
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            share = None if weight is None else weight[rows]
            out[:, rows] = tile(X[rows], C, share, scratch)
        return out

    return block


def slopes_times_vectors(slopes: Array, C: Array, vectors: Array) -> Array:
    """Return ``sum_j A_ij c_jo v_j`` of shape (k, rows, d), in the dtype of the slopes.

    >>> slopes_times_vectors(np.array([[2.0, 1.0]]), np.array([[1.0], [3.0]]), np.eye(2))
    array([[[2., 3.]]])
    """
    C, vectors = C.astype(slopes.dtype, copy=False), vectors.astype(slopes.dtype, copy=False)
    out = np.empty((C.shape[1], len(slopes), vectors.shape[1]), dtype=slopes.dtype)
    for output, c in zip(out, C.T, strict=True):
        np.matmul(slopes, c[:, None] * vectors, out=output)
    return out


def weighted(values: Array, weight: Array | None) -> Array:
    """Multiply values by weights in place, if there are any."""
    if weight is not None:
        np.multiply(values, weight, out=values, casting="same_kind")
    return values


def pair_chunks(pairs: tuple[Array, ...], n_features: int) -> Iterator[tuple[Array, Array]]:
    """Yield pairs (i, j) of a row and a point, a bounded number at a time."""
    rows, points = pairs
    step = max(1, PAIR_VALUES // max(1, n_features))
    for start in range(0, len(rows), step):
        yield rows[start : start + step], points[start : start + step]


def add_pairs(
    out: Array, i: Array, j: Array, vectors: Array, C: Array, weight: Array | None
) -> None:
    """Add ``w_ij c_jo v_ij`` to ``out[o, i]`` for some pairs, with one vector a pair."""
    share = np.ones(len(i)) if weight is None else weight[i, j]
    columns = np.arange(len(i))
    for output, c in zip(out, C.T, strict=True):
        share_of_row = sparse.csr_array((share * c[j], (i, columns)), shape=(out.shape[1], len(i)))
        output += share_of_row @ vectors


def product_over_columns(
    rows: Array,
    points: Array,
    value: Callable[[Array, Array], Array],
    slope: Callable[[Array, Array], Array],
    C: Array,
    weight: Array | None,
    out: Array,
) -> Array:
    """Write to ``out`` the gradient for functions ``h_j(x) = prod_l value(x_l, z_jl)``.

    ``value`` and ``slope``, its derivative in x, are called with a column of rows (rows, 1) and
    one of points (M,). Other columns' values are computed again for every column, so that memory
    does not grow with their number.
    """
    n_features = rows.shape[1]
    for column in range(n_features):
        slopes = np.asarray(slope(rows[:, column, None], points[:, column]), dtype=out.dtype)
        weighted(slopes, weight)
        for other in range(n_features):
            if other != column:
                slopes *= value(rows[:, other, None], points[:, other])
        out[:, :, column] = (slopes @ C.astype(out.dtype, copy=False)).T
    return out

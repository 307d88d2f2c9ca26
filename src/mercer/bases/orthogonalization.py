"""Orthogonalized functions, which make sums over rows accurate in float32 and in float64.

Kernel functions at nearby landmarks are almost equal. Their moments S hold the same large number
many times over. The small differences, which a fit with a small penalty needs, are lost in the
rounding of the sums: normal equations square the condition number. The remedy is to sum other
functions with the same span. With a Cholesky factorization in a good order of the functions,

.. math:: \\Gamma = L L', \\qquad
          L = \\begin{pmatrix} L_{11} & 0 \\\\ L_{21} & L_{22} \\end{pmatrix},

the first q functions are made orthonormal and projected out of the others:

.. math:: g = L_{11}^{-1} h_1, \\qquad \\tilde h_2 = h_2 - L_{21} g,
          \\qquad \\tilde\\Gamma = \\begin{pmatrix} I & 0 \\\\ 0 & L_{22} L_{22}' \\end{pmatrix}.

The rest is as small as the q-th pivot, so the rounding of its sums is smaller by that factor. The
rounding within g is proportional to the size of each function, which is harmless. This adds about
2q/M to the work of the sums. Rounding the *values* of h is also harmless: the moments are then
exact for slightly perturbed functions, the same ones that are used to predict.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.bases.whitening import Whitener
from mercer.contracts import Array, Precision

#: A pivot is the squared norm of a function after projecting out the earlier ones. A function whose
#: pivot, relative to the largest, is below this is dropped as dependent.
CUT = {"float64": 1e-13, "float32": 1e-7}
#: Pivots above this are well above the rounding of kernel values in float32.
FLOAT32_PIVOT = 1e-5
#: The smallest q.
LEADING = 64
#: q grows until the pivot is below this times the square of the smallest: the rounding of the
#: sums, times the pivot at q, over the smallest pivot, must stay below the smallest eigenvalue.
GROWTH = {"float64": 1e19, "float32": 2e9}


def ordered_cholesky(gram: Array, cut: float) -> tuple[Array, Array]:
    """Return L (r, r) and an order p (r,) with ``gram[p][:, p] = L L'``; drop dependent functions.

    The first pivots are drawn with probability proportional to the residual norm of each function
    (randomly pivoted Cholesky; Chen, Epperly, Tropp and Webber, 2022), which reduces most of the
    residual; always taking the largest would pick the outliers. The remaining pivots are taken
    largest first, which reveals the rank.

    >>> L, order = ordered_cholesky(np.ones((2, 2)), 1e-13)
    >>> L.tolist(), len(order)
    ([[1.0]], 1)
    """
    size = len(gram)
    diagonal = np.array(np.diagonal(gram))
    tolerance = cut * max(float(diagonal.max(initial=0.0)), 0.0)
    columns, head = leading_columns(diagonal, lambda pivot: gram[:, pivot], cut)
    rest = np.setdiff1d(np.arange(size), head)
    schur = gram[np.ix_(rest, rest)] - columns[rest] @ columns[rest].T
    rank, pivots = 0, np.zeros(0, dtype=np.intp)
    tail = np.zeros((0, 0))
    if len(rest) and schur.diagonal().max() > tolerance > 0:
        factor, found, rank, info = lapack.dpstrf(schur, lower=1, tol=tolerance)
        if info < 0:
            raise ValueError(f"LAPACK dpstrf refused its argument {-info}")
        pivots, tail = np.asarray(found[:rank], dtype=np.intp) - 1, np.tril(factor[:rank, :rank])
    order = np.concatenate([head, rest[pivots]])
    L = np.zeros((len(order), len(order)))
    L[:, : len(head)] = columns[order]
    L[: len(head), : len(head)] = np.tril(L[: len(head), : len(head)])
    L[len(head) :, len(head) :] = tail
    return L, order


def leading_columns(
    diagonal: Array, column_of: Callable[[int], Array], cut: float
) -> tuple[Array, Array]:
    """Return the first columns of L (M, q), with rows in the original order, and their pivots.

    Only q = 64 columns of Gamma are evaluated.
    """
    rng = np.random.default_rng(0)  # this decides the order, not the span
    left = np.array(diagonal)
    tolerance = cut * max(float(left.max(initial=0.0)), 0.0)
    drawn: list[int] = []
    columns = np.zeros((len(left), min(LEADING, len(left))))
    while len(drawn) < columns.shape[1] and left.max(initial=0.0) > tolerance > 0:
        pivot = int(rng.choice(len(left), p=left / left.sum()))
        if not left[pivot] > tolerance:
            break
        column = column_of(pivot) - columns @ columns[pivot]
        columns[:, len(drawn)] = column / np.sqrt(column[pivot])
        left = np.maximum(left - columns[:, len(drawn)] ** 2, 0.0)
        drawn.append(pivot)
        left[drawn] = 0.0
    return columns[:, : len(drawn)], np.array(drawn, dtype=np.intp)


def leading_order(
    diagonal: Array, column_of: Callable[[int], Array], cut: float
) -> tuple[Array, Array]:
    """Return only the first columns of L, (M, q), and an order that starts with their pivots.

    This is enough for an :class:`Orthogonalization`, without a full Cholesky factorization.
    """
    columns, head = leading_columns(diagonal, column_of, cut)
    order = np.concatenate([head, np.setdiff1d(np.arange(len(diagonal)), head)])
    L = columns[order]
    L[: len(head)] = np.tril(L[: len(head)])
    return L, order


def first_columns(gram: Array) -> Array | None:
    """Return the first columns of L, (M, q), given those of Gamma, without another order.

    None if the leading q x q block is not positive definite to rounding.

    >>> first_columns(np.array([[4.0], [2.0]]))
    array([[2.],
           [1.]])
    """
    q = gram.shape[1]
    corner, info = lapack.dpotrf(gram[:q], lower=1, clean=1)
    if info != 0:
        return None
    L = np.empty(gram.shape)
    L[:q] = corner
    L[q:] = solve_triangular(corner, gram[q:].T, lower=True, check_finite=False).T
    return L


def trusted_precision(factor: Array, wanted: Precision) -> Precision:
    """Return float64 if the pivots are too small for float32, otherwise ``wanted``."""
    pivots = np.diagonal(factor) ** 2
    if len(pivots) and pivots.min() < FLOAT32_PIVOT * pivots.max():
        return "float64"
    return wanted


class Orthogonalization:
    """The change from functions h, in the order of their pivots, to orthogonalized functions.

    Parameters
    ----------
    factor : array of shape (r, r) or (r, q)
        L, lower triangular, or only its first columns: then there is no whitener.
    precision : "float32" or "float64"
        Of the blocks.
    """

    def __init__(self, factor: Array, precision: Precision) -> None:
        pivots = np.diagonal(factor) ** 2
        leading = 0
        if factor.shape[1] < factor.shape[0]:
            leading = factor.shape[1]
        elif len(pivots):
            pivots = pivots / pivots.max()
            small = pivots <= GROWTH[precision] * pivots.min() ** 2
            small[:LEADING] = False  # drawn at random, not sorted
            leading = int(np.argmax(small)) if small.any() else len(pivots)
        self.factor = factor
        self.leading = leading
        corner = factor[:leading, :leading]
        inverse = solve_triangular(corner, np.eye(leading), lower=True).T
        self._inverse = np.ascontiguousarray(inverse, dtype=precision)
        self._explained = np.ascontiguousarray(factor[leading:, :leading].T, dtype=precision)

    def apply(self, H: Array, spare: Array | None = None) -> Array:
        """Turn values of h (rows, r) into values of the orthogonalized functions, in place."""
        q = self.leading
        g = H[:, :q] @ self._inverse
        H[:, :q] = g
        if q < H.shape[1]:
            room = None if spare is None else spare.reshape(-1)[: len(H) * (H.shape[1] - q)]
            out = None if room is None else room.reshape(len(H), -1)
            H[:, q:] -= np.matmul(g, self._explained, out=out)
        return H

    def whitener(self) -> Whitener:
        """Return the whitener of the orthogonalized functions."""
        orthogonalized = np.array(self.factor, order="F")
        orthogonalized[: self.leading, : self.leading] = np.eye(self.leading)
        orthogonalized[self.leading :, : self.leading] = 0.0
        return Whitener(orthogonalized, len(orthogonalized))

    def vectors(self, t: Array) -> Array:
        """Return the sums (r, k) of the orthogonalized functions, given the sums t (r, k) of h."""
        q = self.leading
        g = np.array(t)
        g[:q] = solve_triangular(self.factor[:q, :q], g[:q], lower=True)
        g[q:] -= self.factor[q:, :q] @ g[:q]
        return g

    def gram_block(self, gram: Array, rows: slice) -> Array:
        """Convert rows of Gamma to rows of the orthogonalized Gram matrix, in place.

        Both hold only the columns from ``rows.start`` on, because the matrix is symmetric.
        """
        q, first = self.leading, rows.start
        gram -= self.factor[rows, :q] @ self.factor[first:, :q].T
        inside = max(0, min(q - first, len(gram)))
        gram[:inside] = 0.0
        gram[:, : max(0, q - first)] = 0.0
        gram[np.arange(inside), np.arange(inside)] = 1.0
        return gram

    def coefficients(self, orthogonalized: Array) -> Array:
        """Return the coefficients of h, given those (r, k) of the orthogonalized functions."""
        q = self.leading
        c = np.array(orthogonalized)
        c[:q] -= self.factor[q:, :q].T @ orthogonalized[q:]
        c[:q] = solve_triangular(self.factor[:q, :q], c[:q], lower=True, trans="T")
        return c

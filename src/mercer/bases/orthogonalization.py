"""Orthogonalized functions, which make sums over rows accurate in float32 and in float64.

Kernel functions at nearby landmarks are almost equal. Their moments S hold the same large number
many times over. The small differences, which a fit with a small penalty needs, are lost in the
rounding of the sums: normal equations square the condition number. The remedy is to sum other
functions with the same span. With a Cholesky factorization in a good order of the functions,

.. math:: \\Gamma = L L', \\qquad
          L = \\begin{pmatrix} L_{11} & 0 \\\\ L_{21} & L_{22} \\end{pmatrix},

the first q functions are made orthonormal and projected out of the others, and each of these is
then freed of its nearest predecessors, those that are most correlated with it:

.. math:: g = L_{11}^{-1} h_1, \\qquad r = h_2 - L_{21} g,
          \\qquad \\tilde h_j = r_j - \\sum_{i \\in N(j)} w_{ji} r_i.

The first step removes what all functions share, the second tells close landmarks apart (a sparse
inverse Cholesky factor: Vecchia, 1988; Schaefer, Katzfuss and Owhadi, 2021). With U = I - (w_ji)
the Gram matrix of the new functions has the factor

.. math:: \\tilde L = \\begin{pmatrix} I & 0 \\\\ 0 & U L_{22} \\end{pmatrix},

lower triangular too, so that no second factorization is needed. What rounding of the sums costs
depends on how correlated the new functions are, not on how small they are. Departures from the
textbook: values are rounded to the precision of blocks after the first step, which is computed in
float64 if pivots are small, because its error is magnified by ``1 / L_22``; and w is rounded
before U is, so that the functions are exactly those that L describes. Rounding the *values* of h is
harmless: the moments are then exact for slightly perturbed functions, the same ones that are used
to predict.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular
from scipy.sparse import csr_array

from mercer.bases.whitening import Whitener
from mercer.contracts import Array, Precision

#: A pivot is the squared norm of a function after projecting out the earlier ones. A function whose
#: pivot, relative to the largest, is below this is dropped as dependent.
CUT = {"float64": 1e-13, "float32": 1e-7}
#: The smallest q; and that of many functions in float32 with pivots below the last number.
LEADING, MORE_LEADING, SMALL_PIVOT = 64, 256, 1e-5
#: q grows until the pivot is below this times the square of the smallest: the rounding of the
#: sums in float64, times the pivot at q, over the smallest pivot, must stay below the smallest
#: eigenvalue.
GROWTH = 1e19
#: The fewest and the most predecessors that a function is freed of, and functions for each of them:
#: the more functions there are, the closer they are to each other, and the less this costs.
FEWEST, MOST, FUNCTIONS_EACH = 12, 32, 160
#: A function that keeps more than this share of its norm beside all predecessors stays as it is.
INDEPENDENT = 0.1
#: Functions less correlated than this are left as they are.
CLOSE = 0.3
#: Functions processed at a time.
TILE = 256


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


def residual_trace(gram: Array, L: Array, order: Array) -> float:
    """Return the squared norms of functions that are not in ``order``, outside the span of those.

    >>> gram = np.array([[1.0, 0.6], [0.6, 1.0]])
    >>> round(residual_trace(gram, np.ones((1, 1)), np.array([0])), 6)
    0.64
    """
    rest = np.setdiff1d(np.arange(len(gram)), order)
    inside = solve_triangular(L, gram[np.ix_(order, rest)], lower=True)
    left = gram[rest, rest] - np.einsum("ij,ij->j", inside, inside)
    rounding = CUT["float64"] * float(gram.diagonal().max(initial=0.0))
    return float(left[left > rounding].sum())


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


def leading_size(factor: Array, precision: Precision) -> int:
    """Return q, from the pivots of L."""
    pivots = np.diagonal(factor) ** 2
    if not len(pivots):
        return 0
    pivots = pivots / pivots.max()
    coarse = precision == "float32" and pivots.min() < SMALL_PIVOT
    least = MORE_LEADING if coarse and len(pivots) > 2 * MORE_LEADING else LEADING
    small = pivots <= GROWTH * pivots.min() ** 2
    small[:least] = False  # the first are drawn at random, not sorted
    return int(np.argmax(small)) if small.any() else len(pivots)


def nearest_predecessors(
    gram: Array, leading: Array, pivots: Array, number: int = MOST
) -> tuple[Array, Array]:
    """Return N (m, k) and w (m, k) of the functions that q leading ones leave.

    Parameters
    ----------
    gram : array of shape (r, r)
        Gamma, in the order of the functions.
    leading : array of shape (r, q)
        The first columns of L.
    pivots : array of shape (r - q,)
        What all predecessors leave of the squared norms of the other functions.
    number : int
        How many predecessors to look for.

    Returns
    -------
    neighbors, weights : arrays of shape (r - q, k)
        Predecessors of each function, counted from q, and the weights with which they leave the
        smallest norm; 0 for those that are not correlated with it.

    Examples
    --------
    >>> gram = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.99], [0.0, 0.99, 1.0]])
    >>> neighbors, weights = nearest_predecessors(gram, np.zeros((3, 0)), np.array([1, 1, 0.02]))
    >>> int(neighbors[2, weights[2] > 0].item()), weights[2].max().round(6).item()
    (1, 0.99)
    """
    q = leading.shape[1]
    size = len(gram) - q
    number = min(number, max(0, size - 1))
    neighbors = np.zeros((size, number), dtype=np.int32)
    weights = np.zeros((size, number))
    if not number:
        return neighbors, weights
    left = leading[q:]
    diagonal = np.maximum(gram.diagonal()[q:] - np.einsum("ij,ij->i", left, left), 1e-300)
    inverse = 1.0 / np.sqrt(diagonal)
    rest = gram[q:, q:] - left @ left.T
    for start in range(0, size, TILE):
        rows = np.arange(start, min(start + TILE, size))
        before = max(number, int(rows[-1]))
        own = rest[rows, :before]
        strength = np.abs(own * inverse[:before]) * inverse[rows, None]
        strength[np.arange(before) >= rows[:, None]] = -1.0
        best = np.argpartition(-strength, number - 1, axis=1)[:, :number]
        close = np.take_along_axis(strength, best, axis=1) > CLOSE
        close &= (pivots[rows] < INDEPENDENT * diagonal[rows])[:, None]
        right = np.where(close, np.take_along_axis(own, best, axis=1), 0.0)
        among = rest[best[:, :, None], best[:, None, :]]
        among = np.where(close[:, :, None] & close[:, None, :], among, 0.0)
        # Neighbors may be nearly dependent themselves; a little more norm than the least is fine.
        lift = np.where(close, 1e-9 * diagonal[best], 1.0)
        among[:, np.arange(number), np.arange(number)] += lift
        neighbors[rows] = best
        weights[rows] = np.linalg.solve(among, right[:, :, None])[:, :, 0]
    return neighbors, weights


class Orthogonalization:
    """The change from functions h, in the order of their pivots, to orthogonalized functions.

    Parameters
    ----------
    factor : array of shape (r, r) or (r, q)
        L, lower triangular, or only its first q columns: then there is no whitener.
    precision : "float32" or "float64"
        Of the blocks.
    neighbors, weights : arrays of shape (r - q, k)
        N and w of the functions after the first q (:func:`nearest_predecessors`).
    """

    def __init__(
        self, factor: Array, precision: Precision, neighbors: Array, weights: Array
    ) -> None:
        self.factor, self.neighbors, self.weights = factor, neighbors, weights
        q, rest = len(factor) - len(neighbors), len(neighbors)
        self.leading = q
        self._inverse = solve_triangular(factor[:q, :q], np.eye(q), lower=True)
        self._explained = np.ascontiguousarray(factor[q:, :q])
        # Rounding of the projection is magnified by 1 / L_22: float32 is enough for larger pivots.
        pivots = np.diagonal(factor) ** 2
        self._coarse: tuple[Array, Array] | None = None
        if precision == "float32" and rest and pivots.min() >= SMALL_PIVOT * pivots.max():
            self._coarse = self._inverse.astype("f4"), self._explained.astype("f4")
        # The functions are defined by w as it is rounded for blocks.
        present = weights.astype(precision) != 0
        self._changed = np.flatnonzero(present.any(axis=1))
        rows = np.repeat(np.arange(len(self._changed)), present[self._changed].sum(axis=1))
        entries = weights[present].astype(precision), (rows, neighbors[present])
        self._shared = csr_array(entries, shape=(len(self._changed), rest))
        self._exactly = self._shared.astype(np.float64)

    @classmethod
    def of(cls, gram: Array, factor: Array, precision: Precision) -> Orthogonalization:
        """Choose q and the predecessors, for Gamma in the order of L.

        In float64 q functions are enough: what is left has digits to spare.
        """
        q = leading_size(factor, precision)
        most = min(MOST, max(FEWEST, len(factor) // FUNCTIONS_EACH))
        number = 0 if precision == "float64" else most
        pivots = np.diagonal(factor)[q:] ** 2
        return cls(factor, precision, *nearest_predecessors(gram, factor[:, :q], pivots, number))

    def apply(self, H: Array) -> Array:
        """Turn values of h (rows, r) into those of the orthogonalized functions, in place.

        It is fastest in column-major order, where the values of a function are contiguous.
        """
        values, q = H.T, self.leading
        self._project(values)
        if len(self._changed):
            values[q + self._changed] -= self._shared @ values[q:]
        return H

    def _project(self, values: Array) -> None:
        """Make the first q functions orthonormal and project them out of the others, in place."""
        q = self.leading
        if self._coarse is not None and values.dtype == np.float32 and values.flags.c_contiguous:
            inverse, explained = self._coarse
            g = inverse @ values[:q]
            blas.sgemm(-1.0, g.T, explained.T, 1.0, values[q:].T, overwrite_c=1)
        else:
            g = self._inverse @ values[:q]
            for start in range(q, len(values), TILE):
                part = values[start : start + TILE]
                known = self._explained[start - q : start - q + TILE] @ g
                np.subtract(part, known, out=part, casting="same_kind")
        values[:q] = g

    def whitener(self) -> Whitener:
        """Return the whitener of the orthogonalized functions, by ``U L_22``."""
        q = self.leading
        orthogonalized = np.array(self.factor, order="F")
        orthogonalized[:q, :q] = np.eye(q)
        orthogonalized[q:, :q] = 0.0
        if len(self._changed):
            orthogonalized[q + self._changed, q:] -= self._exactly @ self.factor[q:, q:]
        return Whitener(orthogonalized, len(orthogonalized))

    def vectors(self, t: Array) -> Array:
        """Return the sums (r, k) of the orthogonalized functions, given the sums t (r, k) of h."""
        q = self.leading
        g = np.array(t)
        g[:q] = solve_triangular(self.factor[:q, :q], g[:q], lower=True)
        g[q:] -= self._explained @ g[:q]
        if len(self._changed):
            g[q + self._changed] -= self._exactly @ g[q:]
        return g

    def gram_block(self, gram: Array, rows: slice) -> Array:
        """Convert rows of Gamma to rows of the orthogonalized Gram matrix, in place.

        Both hold only the columns from ``rows.start`` on, because the matrix is symmetric. This is
        for functions of which only the first columns of L are known, which have no neighbors.
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
        if len(self._changed):
            c[q:] -= self._exactly.T @ orthogonalized[q + self._changed]
        c[:q] -= self._explained.T @ c[q:]
        c[:q] = solve_triangular(self.factor[:q, :q], c[:q], lower=True, trans="T")
        return c

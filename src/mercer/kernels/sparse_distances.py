"""Squared distances between sparse rows and sparse points, by a product of sparse matrices.

.. math:: -\\tfrac12 \\|x - z\\|^2 = x'z - \\tfrac12 \\|x\\|^2 - \\tfrac12 \\|z\\|^2

A value of x meets only those points that have one in the same column, so the product takes time for
pairs of values, not for all columns of all points. Shifted points would be dense, so neither rows
nor points are shifted; instead all of it is in float64, which costs no more here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from mercer.contracts import Array, Rows

#: The share of points that a value meets up to which this is faster than a product with dense
#: points: a pair of values takes about sixteen times as long as one of many in a row.
MET = 1 / 16
#: Distances that are computed at a time, in float64: the cache holds them.
TILE = 2**17
#: The least value: ``exp`` of it is 0, also in float32, and times 0 it is 0, unlike infinity.
FARTHEST = -1e30


def share_met(Z: Rows) -> float:
    """Return the share of points that a value of a row meets, if rows are like the points.

    With c_j values of M points in column j it is ``sum_j c_j^2 / (M sum_j c_j)``.

    >>> share_met(np.array([[1.0, 0.0], [0.0, 1.0]])), share_met(np.ones((2, 2)))
    (0.5, 1.0)
    """
    if hasattr(Z, "tocsr"):
        counts = np.bincount(Z.tocsr().indices, minlength=Z.shape[1])
    else:
        counts = (np.asarray(Z) != 0).sum(axis=0)
    counts = counts.astype(np.float64)
    return float(counts @ counts / max(1.0, Z.shape[0] * counts.sum()))


class ScaledValues:
    """Sparse rows in units of the bandwidth, in float64, and half their squared norms.

    Parameters
    ----------
    X : sparse rows
        The rows, which stay as they are.
    bandwidth : float or array of shape (d,)
        Columns are divided by it.
    """

    def __init__(self, X: Rows, bandwidth: float | Array) -> None:
        rows, inverse = X.tocsr(), 1.0 / np.asarray(bandwidth)
        if not rows.has_canonical_format:  # values that are stored twice add up
            rows = rows.copy()
            rows.sum_duplicates()
        self.shape = rows.shape
        self.indices, self.indptr = rows.indices, rows.indptr
        self.data = rows.data * (inverse[rows.indices] if inverse.ndim else inverse)
        self.half_norms = 0.5 * (self.with_data(self.data * self.data) @ np.ones(rows.shape[1]))

    def with_data(self, values: Array) -> Any:
        """Return rows with other values in the same places."""
        return sparse.csr_array((values, self.indices, self.indptr), shape=self.shape)

    def between(self, start: int, stop: int) -> Any:
        """Return consecutive rows."""
        first, last = self.indptr[start], self.indptr[stop]
        parts = self.data[first:last], self.indices[first:last], self.indptr[start : stop + 1]
        where = parts[2] - first
        return sparse.csr_array((parts[0], parts[1], where), shape=(stop - start, self.shape[1]))


class SparseDistances:
    """``-||x - z||^2 / 2`` in units of the bandwidth, for sparse rows x and fixed points z.

    Parameters
    ----------
    Z : rows
        The fixed points, most of whose values are 0.
    bandwidth : float or array of shape (d,)
        Columns are divided by it.

    Examples
    --------
    >>> Z = sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> SparseDistances(Z, 2.0)(Z, np.empty((2, 2)))
    array([[ 0.   , -0.625],
           [-0.625,  0.   ]])
    """

    def __init__(self, Z: Rows, bandwidth: float | Array) -> None:
        points = ScaledValues(sparse.csr_array(Z), bandwidth)
        self.bandwidth, self.half_norms = bandwidth, points.half_norms
        self._columns = points.with_data(points.data).T.tocsr()

    def __call__(self, X: Rows, out: Array) -> Array:
        """Write ``-||x - z||^2 / 2``, never positive, into ``out`` of shape (rows, points)."""
        rows = ScaledValues(X, self.bandwidth)
        step = max(1, TILE // max(1, len(self.half_norms)))
        for start in range(0, len(out), step):
            stop = min(start + step, len(out))
            product = safe_sparse_dot(rows.between(start, stop), self._columns, dense_output=True)
            product -= self.half_norms
            product -= rows.half_norms[start:stop, None]
            np.clip(product, FARTHEST, 0.0, out=product)
            out[start:stop] = product
        return out

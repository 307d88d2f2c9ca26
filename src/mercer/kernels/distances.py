"""Squared distances between blocks of rows and fixed points, in the lowest safe precision.

.. math:: -\\tfrac12 \\|x - z\\|^2 = x'z - \\tfrac12 \\|x\\|^2 - \\tfrac12 \\|z\\|^2

is one matrix product, but its terms cancel: the absolute error is the unit round-off times the
largest squared norm. Rows are therefore first shifted by the mean of the fixed points and scaled,
in float64. The product then runs in float32 if the norms allow it, otherwise in float64. Where even
float64 would lose digits, the differences are computed one by one.

Shifting would make sparse rows dense, so they stay where they are. A value of x meets only those
points that have one in the same column, so the product of sparse rows and sparse points takes time
for pairs of values, not for all columns of all points; it is in float64, which costs no more here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import safe_sparse_dot

from mercer.contracts import Array, Precision, Rows
from mercer.kernels.gradients import pair_chunks
from mercer.kernels.kernel import dense

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


#: Largest squared norm for which the expanded form errs by less than about 1e-3 in float32 (where
#: rows are that far out, the kernel is nearly 0 or the points nearly coincide) and 1e-7 in float64.
TRUSTED = {"float32": 4096.0, "float64": 1e8}

#: Squared distances below this, relative to the largest squared norm, are computed again from the
#: differences of the pair: beyond, the expanded form errs by less than 1e-11 in the distance.
NEAR = 1e-10

#: Bytes of rows that a product holds at a time: rows of very many columns are taken in parts. Parts
#: must not be short, since a product first copies all points in the order that a processor wants.
PART_BYTES = 2**24
#: Values that are shifted and scaled at a time, in float64: the cache holds them.
SCALED = 2**15

#: Threads wait for one of them to prepare the points: twice would take twice the memory.
_preparing = threading.RLock()


class ScaledDistances:
    """``-||x - z||^2 / 2`` in units of the bandwidth, for fixed points z.

    Parameters
    ----------
    Z : rows
        The fixed points. What is made of them is made when rows need it, so they must not change.
    bandwidth : float or array of shape (d,)
        Columns are divided by it.
    precision : "float32" or "float64"
        The lowest precision that is accurate enough; also the dtype of ``out``.
    """

    def __init__(self, Z: Rows, bandwidth: float | Array, precision: Precision) -> None:
        self.Z = Z if hasattr(Z, "tocsr") else np.asarray(Z)
        self.bandwidth = bandwidth
        self.precision = precision
        self.n_points = int(self.Z.shape[0])
        # The mean at once: a model file with points that overflow is refused when it is loaded.
        self.center = np.zeros(self.Z.shape[1])
        if self.n_points:
            self.center = np.asarray(self.Z.mean(axis=0, dtype=np.float64)).ravel()
        self._zeros = {name: np.zeros(self.n_points, dtype=name) for name in TRUSTED}
        self._prepared: dict[tuple[str, Precision], Array] = {}

    def __call__(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``-||x - z||^2 / 2``, never positive, of shape (rows, points)."""
        if out is None:
            out = np.empty((X.shape[0], self.n_points), dtype=self.precision)
        if hasattr(X, "tocsr"):
            if self._among_sparse is not None:
                return self._among_sparse(X, out)
            if X is not self.Z:
                return self._sparse(X, out)
            X = dense(X)  # a Gram matrix will be factored, which needs the digits of shifted rows
        n_rows, columns = X.shape
        step = max(16, PART_BYTES // (out.itemsize * max(1, columns)))
        if n_rows <= step:
            self._part(X, out)
            return out
        for start in range(0, n_rows, step):
            self._part(X[start : start + step], out[start : start + step])
        return out

    def recompute_near(self, X: Rows, out: Array) -> None:
        """Compute the distances of rows that are almost points from their differences.

        Cancellation leaves no digits of these few, and a square root makes 1e-8 of 1e-16.
        """
        largest = self._largest_point
        if hasattr(X, "tocsr"):  # not centered
            center = self.center / self.bandwidth
            largest = 2 * (largest + float(center @ center))
        if largest > TRUSTED["float64"]:  # dense rows have differences already
            return
        near = np.divmod(np.flatnonzero(out > -0.5 * NEAR * largest), self.n_points)
        for i, j in pair_chunks(near, X.shape[1]):
            difference = (dense(X[i]) - dense(self.Z[j])) / self.bandwidth
            out[i, j] = -0.5 * np.einsum("ij,ij->i", difference, difference)

    def _part(self, X: Array, out: Array) -> None:
        working = self._precision_of_points
        stacked, half_norms = self._stacked_rows(X, working)
        if self._largest(half_norms) <= TRUSTED[working]:
            self._product(stacked, working, out)
        else:
            with np.errstate(over="ignore"):
                rows = self.scaled(X)
            self.of_scaled(rows, half_norms, out)

    def scaled(self, X: Array, out: Array | None = None) -> Array:
        """Return dense rows, shifted and in units of the bandwidth, in float64."""
        rows = np.subtract(X, self.center, dtype=np.float64, out=out)
        rows /= self.bandwidth
        return rows

    def _scaled_parts(self, X: Rows) -> Iterator[tuple[slice, Array]]:
        """Yield scaled rows, a few at a time in the same array, and which they are."""
        n_rows, columns = X.shape
        step = max(1, min(n_rows, SCALED // max(1, columns)))
        held = np.empty((step, columns))
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            rows = dense(X[part]) if hasattr(X, "tocsr") else X[part]
            yield part, self.scaled(rows, held[: len(rows)])

    def _stacked_rows(self, X: Rows, working: Precision) -> tuple[Array, Array]:
        """Return scaled rows, stacked with ``-||x||^2 / 2`` and 1, and half their squared norms.

        With the two extra columns, a single product is enough.
        """
        stacked = np.empty((X.shape[0], X.shape[1] + 2), dtype=working)
        half_norms = np.empty(X.shape[0])
        with np.errstate(over="ignore"):
            for part, rows in self._scaled_parts(X):
                np.einsum("ij,ij->i", rows, rows, out=half_norms[part])
                stacked[part, :-2] = rows
            half_norms *= 0.5
            np.negative(half_norms, out=stacked[:, -2], casting="same_kind")
        stacked[:, -1] = 1.0
        return stacked, half_norms

    def working(self, half_norms: Array, precision: Precision) -> Precision:
        """Return the precision of products with rows of these norms."""
        return "float64" if self._largest(half_norms) > TRUSTED[precision] else precision

    def _largest(self, half_norms: Array) -> float:
        """Return the largest squared norm of points and rows."""
        return max(self._largest_point, 2 * float(half_norms.max(initial=0.0)))

    def of_scaled(self, rows: Array, half_norms: Array, out: Array) -> Array:
        """Return ``-||x - z||^2 / 2`` for scaled rows and half their squared norms."""
        if self._largest(half_norms) > TRUSTED["float64"]:
            with np.errstate(over="ignore"):
                np.multiply(cdist(rows, self.points, "sqeuclidean"), -0.5, out=out)
            return np.maximum(out, FARTHEST, out=out)
        working = self.working(half_norms, self.precision)
        stacked = np.empty((len(rows), rows.shape[1] + 2), dtype=working)
        stacked[:, :-2] = rows
        stacked[:, -2] = -half_norms
        stacked[:, -1] = 1.0
        return self._product(stacked, working, out)

    def _product(self, stacked: Array, working: Precision, out: Array) -> Array:
        points = self._stacked_points(working)
        if out.dtype == working:
            np.matmul(stacked, points.T, out=out)
        else:
            out[...] = stacked @ points.T
        # A row of zeros: against a single number, NumPy is three times slower.
        return np.minimum(out, self._zeros[out.dtype.name], out=out)

    def _sparse(self, X: Rows, out: Array) -> Array:
        # Shifting would make the rows dense. ||x - z||^2 with z shifted and x not needs one more
        # vector: x - z = (x - c) - (z - c), and c'x is a product like the others.
        rows, center = ScaledValues(X, self.bandwidth), self.center / self.bandwidth
        shift = 0.5 * float(center @ center)
        working = self.working(rows.half_norms + shift, self.precision)
        half_norms = rows.half_norms + (shift - rows.with_data(rows.data) @ center)
        value = rows.with_data(rows.data.astype(working, copy=False)) @ self._columns(working)
        value -= (self._with_center + self.half_norms).astype(working)
        value -= half_norms.astype(working)[:, None]
        np.clip(value, FARTHEST, 0.0, out=value)
        out[...] = value
        return out

    # -- what is made of the points, when rows need it --------------------------------------------

    @cached_property
    def points(self) -> Array:
        """The points, shifted and in units of the bandwidth, in float64."""
        with np.errstate(over="ignore"):
            return self.scaled(dense(self.Z))

    @cached_property
    def half_norms(self) -> Array:
        """Half the squared norms of the points."""
        found = np.empty(self.n_points)
        with np.errstate(over="ignore"):
            for part, rows in self._scaled_parts(self.Z):
                found[part] = 0.5 * np.einsum("ij,ij->i", rows, rows)
        return found

    @cached_property
    def _with_center(self) -> Array:
        """The product of each point with the center."""
        center = self.center / self.bandwidth
        return np.concatenate([rows @ center for _, rows in self._scaled_parts(self.Z)])

    @cached_property
    def _largest_point(self) -> float:
        return 2 * float(self.half_norms.max(initial=0.0))

    @cached_property
    def _precision_of_points(self) -> Precision:
        """The lowest precision of products that the norms of the points allow."""
        return "float64" if self._largest_point > TRUSTED[self.precision] else self.precision

    @cached_property
    def _among_sparse(self) -> SparseDistances | None:
        """Distances by sparse products; None if too few values are 0, or points too far from 0."""
        if share_met(self.Z) > MET:
            return None
        found = SparseDistances(self.Z, self.bandwidth)
        far = 2 * float(found.half_norms.max(initial=0.0)) > TRUSTED["float64"]
        return None if far else found

    def _stacked_points(self, working: Precision) -> Array:
        """Return the points with the two columns that belong to those of rows."""
        found = self._prepared.get(("stacked", working))
        if found is None:
            with _preparing:
                found = self._prepared.get(("stacked", working))
                if found is None:
                    found, _ = self._stacked_rows(self.Z, working)
                    found[:, [-2, -1]] = found[:, [-1, -2]]
                    self._prepared["stacked", working] = found
        return found

    def _columns(self, working: Precision) -> Array:
        """Return the points, one a column; sparse products need them in this order."""
        with _preparing:
            if ("columns", working) not in self._prepared:
                found = np.empty((self.Z.shape[1], self.n_points), dtype=working)
                for part, rows in self._scaled_parts(self.Z):
                    found[:, part] = rows.T
                self._prepared["columns", working] = found
        return self._prepared["columns", working]

"""Squared distances between blocks of rows and fixed points, in the lowest safe precision.

.. math:: -\\tfrac12 \\|x - z\\|^2 = x'z - \\tfrac12 \\|x\\|^2 - \\tfrac12 \\|z\\|^2

is one matrix product, but its terms cancel: the absolute error is the unit round-off times the
largest squared norm. Rows are therefore first shifted by the mean of the fixed points and scaled,
in float64. The product then runs in float32 if the norms allow it, otherwise in float64. Where even
float64 would lose digits, the differences are computed one by one.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from mercer.contracts import Array, Precision, Rows
from mercer.kernels.kernel import dense

#: Largest squared norm for which the expanded form errs by less than about 1e-3 in float32 (where
#: rows are that far out, the kernel is nearly 0 or the points nearly coincide) and 1e-7 in float64.
TRUSTED = {"float32": 4096.0, "float64": 1e8}

#: Values of rows that are held at a time, in float64: rows of very many columns are taken in parts.
ENTRIES = 2**22
#: The least value: ``exp`` of it is 0, also in float32, and times 0 it is 0, unlike infinity.
FARTHEST = -1e30


class ScaledDistances:
    """``-||x - z||^2 / 2`` in units of the bandwidth, for fixed points z.

    Parameters
    ----------
    Z : rows
        The fixed points.
    bandwidth : float or array of shape (d,)
        Columns are divided by it.
    precision : "float32" or "float64"
        The lowest precision that is accurate enough; also the dtype of ``out``.
    """

    def __init__(self, Z: Rows, bandwidth: float | Array, precision: Precision) -> None:
        points = dense(Z)
        self.bandwidth = bandwidth
        self.precision = precision
        self.center = points.mean(axis=0) if len(points) else np.zeros(points.shape[1])
        self.points = (points - self.center) / bandwidth
        self.half_norms = 0.5 * np.einsum("ij,ij->i", self.points, self.points)
        self._largest = float(self.half_norms.max(initial=0.0)) * 2
        self._zeros = {name: np.zeros(len(points), dtype=name) for name in TRUSTED}
        self._made: dict[tuple[str, Precision], Array] = {}

    def __call__(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``-||x - z||^2 / 2``, never positive, of shape (rows, points)."""
        if out is None:
            out = np.empty((X.shape[0], len(self.points)), dtype=self.precision)
        if hasattr(X, "tocsr"):
            return self._sparse(X, out)
        step = max(16, ENTRIES // max(1, X.shape[1]))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            with np.errstate(over="ignore"):
                rows = self.scaled(X[part])
                half_norms = 0.5 * np.einsum("ij,ij->i", rows, rows)
            self.of_scaled(rows, half_norms, out[part])
        return out

    def scaled(self, X: Array) -> Array:
        """Return dense rows, shifted and in units of the bandwidth, in float64."""
        rows = np.subtract(X, self.center, dtype=np.float64)
        rows /= self.bandwidth
        return rows

    def working(self, half_norms: Array, precision: Precision) -> Precision:
        """Return the precision of products with rows of these norms."""
        largest = max(self._largest, 2 * float(half_norms.max(initial=0.0)))
        return "float64" if largest > TRUSTED[precision] else precision

    def of_scaled(self, rows: Array, half_norms: Array, out: Array) -> Array:
        """Return ``-||x - z||^2 / 2`` for scaled rows and half their squared norms."""
        if max(self._largest, 2 * float(half_norms.max(initial=0.0))) > TRUSTED["float64"]:
            with np.errstate(over="ignore"):
                np.multiply(cdist(rows, self.points, "sqeuclidean"), -0.5, out=out)
            return np.maximum(out, FARTHEST, out=out)
        working = self.working(half_norms, self.precision)
        # Two extra columns carry the norms, so that a single product is enough.
        stacked = np.empty((len(rows), rows.shape[1] + 2), dtype=working)
        stacked[:, :-2] = rows
        stacked[:, -2] = -half_norms
        stacked[:, -1] = 1.0
        if out.dtype == working:
            np.matmul(stacked, self._stacked(working).T, out=out)
        else:
            out[...] = stacked @ self._stacked(working).T
        # A row of zeros: against a single number, NumPy is three times slower.
        return np.minimum(out, self._zeros[out.dtype.name], out=out)

    def _stacked(self, working: Precision) -> Array:
        """Return the points with the two columns that belong to those of rows."""
        found = self._made.get(("stacked", working))
        if found is None:
            found = np.empty((len(self.points), self.points.shape[1] + 2), dtype=working)
            found[:, :-2] = self.points
            found[:, -2] = 1.0
            found[:, -1] = -self.half_norms
            self._made["stacked", working] = found
        return found

    def _columns(self, working: Precision) -> Array:
        """Return the points, one a column; sparse products need them in this order."""
        found = self._made.get(("columns", working))
        if found is None:
            found = self._made["columns", working] = np.array(
                self.points.T, dtype=working, order="C"
            )
        return found

    def _sparse(self, X: Rows, out: Array) -> Array:
        # Shifting would make the rows dense. ||x - z||^2 with z shifted and x not needs one more
        # vector: x - z = (x - c) - (z - c), and c'x is a product like the others.
        rows, center = X.tocsr(), self.center / self.bandwidth
        inverse = 1.0 / np.asarray(self.bandwidth)
        data = rows.data * (inverse[rows.indices] if inverse.ndim else inverse)

        def with_data(values: Array) -> Rows:
            return type(rows)((values, rows.indices, rows.indptr), shape=rows.shape)

        half_norms = 0.5 * (with_data(data * data) @ np.ones(rows.shape[1]))
        shift = 0.5 * float(center @ center)
        working = self.working(half_norms + shift, self.precision)
        half_norms += shift - with_data(data) @ center
        scaled = with_data(data.astype(working, copy=False))
        value = scaled @ self._columns(working)
        value -= (self.points @ center + self.half_norms).astype(working)
        value -= half_norms.astype(working)[:, None]
        np.clip(value, FARTHEST, 0.0, out=value)
        out[...] = value
        return out

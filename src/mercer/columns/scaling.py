"""Maps of single columns: centered and scaled, or to normal quantiles.

A column with scale 0 is constant: it maps to zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mercer.contracts import Array, Rows
from mercer.storage.state import AT_LEAST_0, INCREASING, Numbers, State


@dataclass(frozen=True)
class ShiftedRows:
    """``x_i + s`` for sparse rows x_i; products are ``(X + 1s') W = XW + 1 (s'W)``.

    NumPy reads it as the dense array, for whatever needs the values themselves.

    Examples
    --------
    >>> from scipy import sparse
    >>> rows = ShiftedRows(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]]), np.array([-1.0, 0.5]))
    >>> np.asarray(rows)
    array([[-1. ,  2.5],
           [ 0. ,  0.5]])
    >>> rows[1:] @ np.array([[1.0], [2.0]])
    array([[1.]])
    """

    values: Rows  # sparse, (n, d)
    shift: Array  # (d,)
    ndim: ClassVar[int] = 2

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        n_rows, columns = self.values.shape
        return n_rows, columns

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Array | slice) -> ShiftedRows:
        return ShiftedRows(self.values[rows], self.shift)

    def __matmul__(self, matrix: Array) -> Array:
        return np.asarray(self.values @ matrix + self.shift @ matrix)

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Array:
        return np.asarray(self.values.toarray() + self.shift, dtype=dtype)

    def weighted(self, columns: Array, weights: Array) -> ShiftedRows:
        """Return some of the columns, multiplied by a weight each."""
        values = self.values[:, columns].multiply(weights).tocsr()
        return ShiftedRows(values, self.shift[columns] * weights)


class Scaling:
    """A map ``u_j = s_j(x_j)`` of every column."""

    def __call__(self, X: Rows) -> Rows:
        """Return the columns, mapped, in float64."""
        raise TypeError(f"{type(self).__name__} does not define __call__()")

    def slope(self, X: Rows) -> Array:
        """Return ``s_j'(x_j)``, of a shape that broadcasts against rows."""
        raise TypeError(f"{type(self).__name__} does not define slope()")

    def mean_slope(self, X: Rows) -> Array:
        """Return the mean of the slopes on both sides, which differ at kinks."""
        return self.slope(X)


@dataclass(frozen=True)
class StandardScaling(Scaling):
    """``u_j = (x_j - center_j) / scale_j``; sparse rows become sparse rows and a shift."""

    state = State(center=Numbers("d"), scale=Numbers("d", rule=AT_LEAST_0))
    center: Array  # (d,)
    scale: Array  # (d,); 0 if the column is constant

    @cached_property
    def _factor(self) -> Array:
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def __call__(self, X: Rows) -> Rows:
        """Return centered and scaled columns."""
        if hasattr(X, "tocsr"):
            values = X.multiply(self._factor).tocsr()
            shift = -self.center * self._factor
            return ShiftedRows(values, shift) if shift.any() else values
        return (np.asarray(X, dtype=np.float64) - self.center) * self._factor

    def slope(self, X: Rows) -> Array:
        """Return 1 / scale."""
        return self._factor

    def uncentered(self) -> StandardScaling:
        """Return the map without its shift, which differences of rows do not see."""
        return replace(self, center=np.zeros_like(self.center))


@dataclass(frozen=True)
class QuantileScaling(Scaling):
    """``u_j``: the normal quantile of the rank of ``x_j``, linear between knots.

    Values beyond the outer knots map to the outer quantiles. So a column of any distribution has
    about the same spread, and a value far out is only the largest of all.
    """

    state = State(knots=Numbers("d q", rule=INCREASING), values=Numbers("d q"))
    knots: Array  # (d, q), increasing
    values: Array  # (d, q)

    def __call__(self, X: Rows) -> Rows:
        """Return normal quantiles."""
        X = np.asarray(X.toarray() if hasattr(X, "tocsr") else X, dtype=np.float64)
        out = np.empty(X.shape)
        for column, (knots, values) in enumerate(zip(self.knots, self.values, strict=True)):
            out[:, column] = np.interp(X[:, column], knots, values)
        return out

    def slope(self, X: Rows) -> Array:
        """Return the slope of the piece that each value lies in; 0 beyond the knots.

        At a knot, it is that of the piece below.
        """
        return self._slope(X, "left")

    def mean_slope(self, X: Rows) -> Array:
        """Return the slope, at a knot the mean of those of the pieces below and above."""
        return (self._slope(X, "left") + self._slope(X, "right")) / 2

    def _slope(self, X: Rows, side: Literal["left", "right"]) -> Array:
        X = np.asarray(X.toarray() if hasattr(X, "tocsr") else X, dtype=np.float64)
        slopes = np.diff(self.values, axis=1) / np.diff(self.knots, axis=1)
        slopes = np.pad(slopes, ((0, 0), (1, 1)))
        out = np.empty(X.shape)
        for column, knots in enumerate(self.knots):
            out[:, column] = slopes[column][np.searchsorted(knots, X[:, column], side)]
        return out


@dataclass(frozen=True)
class MeanSlopes(Scaling):
    """The same map, whose slope at a kink is the mean of those on both sides.

    >>> scaling = QuantileScaling(np.array([[0.0, 1.0, 3.0]]), np.array([[-1.0, 0.0, 1.0]]))
    >>> scaling.slope(np.array([[1.0]])), MeanSlopes(scaling).slope(np.array([[1.0]]))
    (array([[1.]]), array([[0.75]]))
    """

    scaling: Scaling

    def __call__(self, X: Rows) -> Rows:
        """Return the columns, mapped."""
        return self.scaling(X)

    def slope(self, X: Rows) -> Array:
        """Return the mean slope."""
        return self.scaling.mean_slope(X)

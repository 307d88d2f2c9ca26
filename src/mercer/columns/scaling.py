"""Maps of single columns: centered and scaled, or to normal quantiles.

A column with scale 0 is constant: it maps to zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from mercer.contracts import Array, Rows
from mercer.validation import check_array


class Scaling:
    """A map ``u_j = s_j(x_j)`` of every column."""

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if the arrays do not describe ``n_features`` columns."""
        raise TypeError(f"{type(self).__name__} does not define check_state()")

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
    """``u_j = (x_j - center_j) / scale_j``.

    Sparse rows are divided only: centering would make them dense. Their center is 0.
    """

    center: Array  # (d,)
    scale: Array  # (d,); 0 if the column is constant

    @cached_property
    def _factor(self) -> Array:
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def check_state(self, n_features: int) -> None:
        """Raise ValueError unless there is a center and a scale per column."""
        check_array(self.center, "center", (n_features,))
        if (check_array(self.scale, "scale", (n_features,)) < 0).any():
            raise ValueError("scale must be at least 0 in every column")

    def __call__(self, X: Rows) -> Rows:
        """Return centered and scaled columns."""
        if hasattr(X, "tocsr"):
            return X.multiply(self._factor).tocsr()
        return (np.asarray(X, dtype=np.float64) - self.center) * self._factor

    def slope(self, X: Rows) -> Array:
        """Return 1 / scale."""
        return self._factor


@dataclass(frozen=True)
class QuantileScaling(Scaling):
    """``u_j``: the normal quantile of the rank of ``x_j``, linear between knots.

    Values beyond the outer knots map to the outer quantiles. So a column of any distribution has
    about the same spread, and a value far out is only the largest of all.
    """

    knots: Array  # (d, q), increasing
    values: Array  # (d, q)

    def check_state(self, n_features: int) -> None:
        """Raise ValueError unless there are increasing knots, and a value per knot."""
        check_array(self.knots, "knots", (n_features, None))
        check_array(self.values, "values", self.knots.shape)
        if not (np.diff(self.knots, axis=1) > 0).all():
            raise ValueError("knots must increase in every column")

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

    def check_state(self, n_features: int) -> None:
        """Check the map itself."""
        self.scaling.check_state(n_features)

    def __call__(self, X: Rows) -> Rows:
        """Return the columns, mapped."""
        return self.scaling(X)

    def slope(self, X: Rows) -> Array:
        """Return the mean slope."""
        return self.scaling.mean_slope(X)

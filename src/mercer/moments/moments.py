"""Moments: the sums over rows that a solver needs.

.. math::

    S = \\sum_i w_i h(x_i) h(x_i)', \\qquad t = \\sum_i w_i h(x_i) y_i'

They can be added over blocks, shards and machines, and subtracted, for example to leave out a fold
or to forget rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer.bases.whitening import Whitener
from mercer.contracts import Array
from mercer.storage.state import Numbers, State
from mercer.symmetric import symmetric, triangle
from mercer.validation import check_total_weight


@dataclass(frozen=True)
class NormalEquations:
    """``(A + lambda I) v = b`` in whitened coordinates, and the sums needed for scoring.

    With an intercept the moments are centered: ``A = R'(S/W - m m')R``, ``b = R'(t/W - m ybar)``,
    and the intercept is ``ybar - m'c``.
    """

    A: Array  # (r, r)
    b: Array  # (r, k)
    target_square: Array  # (k,) mean of y^2, centered with an intercept
    mean_h: Array  # (M,) zeros without an intercept
    mean_y: Array  # (k,) zeros without an intercept
    count: float  # effective number of rows

    def intercept(self, coefficients: Array) -> Array:
        """Return ``ybar - m'c``, for c in the functions of the moments."""
        return np.asarray(self.mean_y - self.mean_h @ coefficients)


@dataclass(frozen=True)
class Moments:
    """Sums over rows, ``S = sum_i w_i h_i h_i'`` and ``t = sum_i w_i h_i y_i'``, not normalized.

    Sums over all rows (``weight``, ``sum_h``, ``gram``) are separate from those over labelled rows
    (``target_*``, ``cross``, ``sum_y``, ``sum_yy``). Rows with weight 0 do not count.

    Examples
    --------
    >>> H, y = np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])
    >>> both = Moments.of(H, y)
    >>> parts = Moments.of(H[:1], y[:1]) + Moments.of(H[1:], y[1:])
    >>> both.gram.item(), parts.gram.item(), (both - parts).gram.item()
    (5.0, 5.0, 0.0)
    """

    state = State(
        sum_h=Numbers("m"),
        target_sum_h=Numbers("m"),
        gram=Numbers("m m"),
        cross=Numbers("m k"),
        sum_y=Numbers("k"),
        sum_yy=Numbers("k"),
    )
    rows: int
    weight: float
    sum_h: Array  # (M,)
    gram: Array  # (M, M); its triangle, M (M + 1) / 2, while it is sent
    target_rows: int
    target_weight: float
    target_sum_h: Array  # (M,)
    cross: Array  # (M, k)
    sum_y: Array  # (k,)
    sum_yy: Array  # (k,)

    @classmethod
    def of(cls, H: Array, Y: Array, weight: Array | None = None) -> Moments:
        """Compute the moments of all rows at once, in float64, by definition."""
        H, Y = np.asarray(H, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        w = np.ones(len(H)) if weight is None else np.asarray(weight, dtype=np.float64)
        total, weighted = float(w.sum()), H * w[:, None]
        return cls(
            rows=int(np.count_nonzero(w)),
            weight=total,
            sum_h=weighted.sum(axis=0),
            gram=weighted.T @ H,
            target_rows=int(np.count_nonzero(w)),
            target_weight=total,
            target_sum_h=weighted.sum(axis=0),
            cross=weighted.T @ Y,
            sum_y=w @ Y,
            sum_yy=w @ Y**2,
        )

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return len(self.sum_h)

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows."""
        return self._combine(other, operator.add)

    def __sub__(self, other: Moments) -> Moments:
        """Return the moments of the rows of ``self`` that are not in ``other``."""
        return self._combine(other, operator.sub)

    def _combine(self, other: Moments, operation: Callable[[Any, Any], Any]) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.cross.shape != other.cross.shape:
            raise ValueError(
                f"moments can only be added for the same basis and the same outputs: got (M, k) = "
                f"{self.cross.shape} and {other.cross.shape}"
            )
        return Moments(
            **{
                f.name: operation(getattr(self, f.name), getattr(other, f.name))
                for f in fields(self)
            }
        )

    def packed(self) -> Moments:
        """Return the moments as they are sent, with S as a triangle; they add as before.

        >>> both = Moments.of(np.array([[1.0, 2.0]]), np.array([[3.0]])).packed()
        >>> both.gram, (both + both).whole().gram[0]
        (array([1., 2., 4.]), array([2., 4.]))
        """
        return replace(self, gram=triangle(self.gram))

    def whole(self) -> Moments:
        """Return packed moments with S as a matrix."""
        return replace(self, gram=symmetric(self.gram))

    def scaled(self, factor: float) -> Moments:
        """Return the moments with every weight multiplied by ``factor``."""
        counts = ("rows", "target_rows")
        return Moments(
            **{
                f.name: getattr(self, f.name) * (1 if f.name in counts else factor)
                for f in fields(self)
            }
        )

    def normal_equations(self, whitener: Whitener, intercept: bool) -> NormalEquations:
        """Return (A, b) in the coordinates of ``whitener``."""
        check_total_weight(self.weight)
        if not self.target_weight > 0:
            raise ValueError("no row has a label: at least one y must not be NaN")
        A = whitener.matrix(self.gram)
        A /= self.weight
        b = whitener.vectors(self.cross) / self.target_weight
        square = self.sum_yy / self.target_weight
        mean_h, mean_y = self.means(intercept)
        if intercept:
            target_mean_h = self.target_sum_h / self.target_weight
            m = whitener.vectors(mean_h)
            A -= np.outer(m, m)
            b = b - np.outer(whitener.vectors(target_mean_h), mean_y)
            square = square - mean_y**2
        return NormalEquations(
            A=A,
            b=b,
            target_square=np.maximum(square, 0.0),
            mean_h=mean_h,
            mean_y=mean_y,
            # Weights are repeat counts if their mean is above 1; weights that were scaled to a
            # small sum must not turn many rows into few.
            count=max(self.target_weight, float(self.target_rows)),
        )

    def means(self, intercept: bool) -> tuple[Array, Array]:
        """Return the means of h and y if there is an intercept, otherwise zeros."""
        if not intercept:
            return np.zeros(self.size), np.zeros(len(self.sum_y))
        return self.sum_h / self.weight, self.sum_y / self.target_weight

    def squared_error(self, coefficients: Array, intercept: Array) -> Array:
        """Return ``sum_i w_i (y_i - c'h(x_i) - a)^2`` over labelled rows, for each column of c.

        If some rows have no label, the mean of f^2 is taken over all rows. ``coefficients`` (M, k)
        and ``intercept`` (k,) have one column per output; l solutions can be stacked, with shapes
        (M, l * k) and (l * k,), which gives (l * k,).
        """
        cross = np.tile(self.cross, coefficients.shape[1] // self.cross.shape[1])
        return self.error_of(
            fit_square=np.einsum("ij,ij->j", coefficients, self.gram @ coefficients),
            fit_cross=np.einsum("ij,ij->j", coefficients, cross),
            fit_sum=self.sum_h @ coefficients,
            intercept=intercept,
        )

    def error_of(
        self, fit_square: Array, fit_cross: Array, fit_sum: Array, intercept: Array
    ) -> Array:
        """Return the squared error from ``c'Sc``, ``c't`` and ``c'sum_h``."""
        repeats = len(intercept) // len(self.sum_y)
        share = self.target_weight / self.weight if self.weight else 1.0  # 1 if all have labels
        error = (
            np.tile(self.sum_yy, repeats)
            + share * fit_square
            + self.target_weight * intercept**2
            - 2.0 * fit_cross
            - 2.0 * intercept * np.tile(self.sum_y, repeats)
            + 2.0 * intercept * share * fit_sum
        )
        return np.asarray(np.maximum(error, 0.0))

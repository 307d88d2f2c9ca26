"""Kernels of the inner product, linear, polynomial and arc-cosine, and their gradients.

For ``K(x, z) = phi(x'z)`` the gradient in x is ``phi'(x'z) z``. For the arc-cosine kernels, with
theta the angle between x and z, and u and v their directions,

.. math:: \\nabla K_1(x, z) = \\frac{\\|z\\|}{\\pi} ((\\pi - \\theta) v + \\sin\\theta\\, u),
          \\qquad
          \\nabla K_0(x, z) = \\frac{v - \\cos\\theta\\, u}{\\pi \\|x\\| \\sin\\theta},

where the second has a kink at parallel x and z.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.feature_maps import (
    ColumnFeatures,
    ReluFeatures,
    gaussian_directions,
    products,
)
from mercer.kernels.gradients import (
    Scratch,
    add_pairs,
    in_tiles,
    pair_chunks,
    slopes_times_vectors,
    weighted,
)
from mercer.kernels.kernel import Kernel, dense
from mercer.validation import check_count, check_number


def _squared_norms(X: Rows) -> Array:
    if hasattr(X, "tocsr"):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    rows = np.asarray(X, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _store(value: Array, precision: Precision, out: Array | None) -> Array:
    if out is None:
        return value.astype(precision, copy=False)
    out[...] = value
    return out


class Linear(Kernel):
    """The linear kernel ``K(x, z) = x'z``: ridge regression on the columns.

    Examples
    --------
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    accepts_sparse = True
    has_gradient = True

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z)
        return lambda X, out=None: _store(products(X, points.T), precision, out)

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient, ``sum_j c_j z_j`` for every row."""
        return in_tiles(InnerProductGradient(Z, precision, None), Z.shape[0], precision)

    def diag(self, X: Rows) -> Array:
        """Return squared norms."""
        return _squared_norms(X)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> ColumnFeatures:
        """Return the columns themselves, whatever ``size`` is: they are exact."""
        return ColumnFeatures(n_features)


class Polynomial(Kernel):
    """The polynomial kernel ``K(x, z) = (gamma x'z + offset)^degree``.

    Parameters
    ----------
    degree : int
        The power, at least 1.
    gamma : float or None
        Scale of the inner product; None means one over the number of columns.
    offset : float
        Nonnegative constant that gives weight to the lower degrees.

    Examples
    --------
    >>> Polynomial(degree=2, gamma=1.0)(np.array([[1.0]]), np.array([[3.0]]))
    array([[16.]])
    """

    accepts_sparse = True
    has_gradient = True

    def __init__(self, degree: int = 3, gamma: float | None = None, offset: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.offset = offset

    def check_parts(self) -> None:
        """Raise an error if a parameter is out of range."""
        check_count(self.degree, "degree of Polynomial")
        check_number(self.offset, "offset of Polynomial", minimum=0.0)
        if self.gamma is not None:
            check_number(self.gamma, "gamma of Polynomial", above=0.0)

    def fitted(self, X: Rows) -> Polynomial:
        """Return a copy with gamma as a number."""
        self.check_parts()
        return self if self.gamma is not None else self._with(gamma=1.0 / X.shape[1])

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z)

        def block(X: Rows, out: Array | None = None) -> Array:
            return _store(self._power(products(X, points.T)), precision, out)

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient, with slopes ``degree gamma (gamma x'z + offset)^(degree - 1)``."""
        gamma = 1.0 if self.gamma is None else self.gamma

        def slope(value: Array) -> Array:
            factor = self.degree * gamma
            return np.asarray(factor * (gamma * value + self.offset) ** (self.degree - 1))

        return in_tiles(InnerProductGradient(Z, precision, slope), Z.shape[0], precision)

    def diag(self, X: Rows) -> Array:
        """Return K(x, x)."""
        return self._power(_squared_norms(X))

    def _power(self, value: Array) -> Array:
        gamma = 1.0 if self.gamma is None else self.gamma
        return np.asarray((gamma * value + self.offset) ** self.degree)


class ArcCosine(Kernel):
    """The arc-cosine kernel, an infinitely wide layer of threshold or rectified units.

    .. math:: K(x, z) = 2\\, E_{w \\sim N(0, I)}[(w'x)_+^q (w'z)_+^q]

    With theta the angle between x and z: order q = 0 gives ``1 - theta / pi``, order 1 gives
    ``||x|| ||z|| (sin theta + (pi - theta) cos theta) / pi`` (Cho and Saul, 2009).

    Parameters
    ----------
    order : 0 or 1
        Threshold units or rectified linear units.

    Examples
    --------
    >>> ArcCosine(order=1)(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(3)
    array([[1.   , 0.318]])
    """

    accepts_sparse = True
    has_gradient = True
    scratch = 6

    def __init__(self, order: int = 1) -> None:
        self.order = order

    def check_parts(self) -> None:
        """Raise ValueError if there is no formula for the order."""
        if self.order not in (0, 1):
            raise ValueError(f"order of ArcCosine must be 0 or 1, got {self.order!r}")

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z)
        lengths = np.sqrt(_squared_norms(points))

        def block(X: Rows, out: Array | None = None) -> Array:
            scale = np.sqrt(_squared_norms(X))[:, None] * lengths
            cosine = np.zeros_like(scale)
            np.divide(products(X, points.T), scale, out=cosine, where=scale > 0)
            np.clip(cosine, -1.0, 1.0, out=cosine)
            angle = np.arccos(cosine)
            if self.order == 0:
                _recompute_near(angle, cosine, X, points)
                return _store(1.0 - angle / np.pi, precision, out)
            value = np.sqrt(1.0 - cosine**2) + (np.pi - angle) * cosine
            return _store(scale * value / np.pi, precision, out)

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient; for order 0 that of parallel rows, at a kink, is left out."""
        return in_tiles(ArcCosineGradient(Z, self.order), Z.shape[0], precision)

    def diag(self, X: Rows) -> Array:
        """Return K(x, x): one for order 0, the squared norm for order 1."""
        return np.ones(X.shape[0]) if self.order == 0 else _squared_norms(X)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> ReluFeatures:
        """Draw threshold or rectified units."""
        return ReluFeatures(gaussian_directions(n_features, size, rng, orthogonal), self.order)


#: ``1 - |cos|`` of pairs whose sine is computed from the difference of their directions.
NEAR = 1e-8
#: The difference of directions, up to rounding, of parallel rows.
PARALLEL = 1e-15


def _recompute_near(angle: Array, cosine: Array, X: Rows, points: Array) -> None:
    """Take angles of nearly parallel rows from ``|u -+ v| = 2 sin(theta / 2)``.

    The cosine has no digits of them: at 0 an arc cosine makes 1e-8 of its rounding.
    """
    near = np.divmod(np.flatnonzero(np.abs(cosine) > 1.0 - NEAR), len(points))
    for i, j in pair_chunks(near, points.shape[1]):
        signs = np.sign(cosine[i, j])
        difference = _directions(dense(X[i]))[0] - signs[:, None] * _directions(points[j])[0]
        half = 0.5 * np.sqrt(np.einsum("ij,ij->i", difference, difference))
        apart = 2.0 * np.arcsin(half)
        angle[i, j] = np.where(signs > 0, apart, np.pi - apart)


class InnerProductGradient:
    """``sum_j w_ij c_jo phi'(x_i'z_j) z_j``, as (k, rows, d); ``slope`` is phi'."""

    def __init__(
        self, Z: Rows, precision: Precision, slope: Callable[[Array], Array] | None
    ) -> None:
        self.points = dense(Z)
        self.precision = precision
        self.slope = slope

    def __call__(self, X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
        """Return ``sum_j weight_ij C_jo dK(x_i, z_j)/dx_i``."""
        shape = (X.shape[0], len(self.points))
        slopes = scratch.take("slopes", shape, self.precision)
        if self.slope is None:
            slopes[...] = 1.0
        else:
            slopes[...] = self.slope(dense(X) @ self.points.T)
        weighted(slopes, weight)
        return slopes_times_vectors(slopes, C, self.points)


class ArcCosineGradient:
    """The gradient for an arc-cosine kernel of order 0 or 1, as (k, rows, d).

    Rows or points at the origin have no direction: the kernel has a kink there, and what is taken
    is the mean over opposite directions. All is computed in float64: slopes of order 0 are large.
    """

    def __init__(self, Z: Rows, order: int) -> None:
        self.directions, self.lengths = _directions(dense(Z))
        self.order = order

    def __call__(self, X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
        """Return ``sum_j weight_ij C_jo dK(x_i, z_j)/dx_i``."""
        directions, lengths = _directions(dense(X))
        cosine = scratch.take("cosine", (len(lengths), len(self.lengths)), "float64")
        np.matmul(directions, self.directions.T, out=cosine)
        np.clip(cosine, -1.0, 1.0, out=cosine)
        C = np.asarray(C, dtype=np.float64)
        if self.order == 1:
            return self._of_order_1(cosine, directions, C, weight)
        return self._of_order_0(cosine, directions, lengths, C, weight)

    def _of_order_1(
        self, cosine: Array, directions: Array, C: Array, weight: Array | None
    ) -> Array:
        along = np.pi - np.arccos(cosine)
        outward = np.sqrt(1.0 - cosine**2)
        for slopes in (along, outward):
            slopes *= self.lengths / np.pi
            weighted(slopes, weight)
        out = slopes_times_vectors(along, C, self.directions)
        out += (outward @ C).T[:, :, None] * directions
        return out

    def _of_order_0(
        self, cosine: Array, directions: Array, lengths: Array, C: Array, weight: Array | None
    ) -> Array:
        near = np.nonzero(np.abs(cosine) > 1.0 - NEAR)
        signs = np.sign(cosine[near])
        cosine[near] = 0.0
        slopes = 1.0 / np.sqrt(1.0 - cosine**2)
        slopes[near] = 0.0
        weighted(slopes, weight)
        out = slopes_times_vectors(slopes, C, self.directions)
        slopes *= cosine
        out -= (slopes @ C).T[:, :, None] * directions
        at = 0
        for i, j in pair_chunks(near, directions.shape[1]):
            sign = signs[at : at + len(i), None]
            at += len(i)
            # With e = u - v: sin = |e| sqrt(1 - |e|^2 / 4), and v - cos u = |e|^2 / 2 u - e.
            difference = directions[i] - sign * self.directions[j]
            square = np.einsum("ij,ij->i", difference, difference)[:, None]
            sine = np.sqrt(square * (1.0 - 0.25 * square))
            vectors = sign * (0.5 * square * directions[i] - difference)
            apart = sine > PARALLEL
            add_pairs(
                out,
                i,
                j,
                np.divide(vectors, sine, out=np.zeros_like(vectors), where=apart),
                C,
                weight,
            )
        inverse = np.zeros_like(lengths)
        np.divide(1.0 / np.pi, lengths, out=inverse, where=lengths > 0)
        out *= inverse[:, None]
        return out


def _directions(rows: Array) -> tuple[Array, Array]:
    """Return rows of length 1, or 0 at the origin, and their lengths."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    directions = np.zeros_like(rows)
    np.divide(rows, lengths[:, None], out=directions, where=lengths[:, None] > 0)
    return directions, lengths

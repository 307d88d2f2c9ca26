"""Gradients of functions made of kernels of the distance.

With k a function of ``s = ||x - z||^2`` in units of the bandwidth,

.. math:: \\nabla f(x) = 2 \\sum_j c_j k'(s_j) (x - z_j) = 2 (x \\sum_j a_j - Z'a),
          \\qquad a_j = c_j k'(s_j),

which is one matrix product with ``[Z, 1]`` per output. Its terms cancel where x is close to z,
which matters only if k has a kink (``k'(s)`` is then of order ``1 / sqrt(s)``): the differences of
those few pairs are computed one by one, and those with ``x = z`` are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.contracts import Array, BlockKernel, Precision, Rows
from mercer.kernels.distances import ScaledDistances
from mercer.kernels.gradients import (
    Scratch,
    add_pairs,
    pair_chunks,
    slopes_times_vectors,
    weighted,
)
from mercer.kernels.kernel import dense

#: Squared distances, relative to the squared norms, below which a kernel with a kink needs the
#: differences of the pair: beyond, the expanded form errs by less than 1e-4 and 1e-8.
NEAR = {"float32": 1e-6, "float64": 1e-8}


class DistanceGradient:
    """``sum_j w_ij c_jo grad K(x_i, z_j)`` for a kernel of the distance, as (k, rows, d).

    Parameters
    ----------
    Z : rows
        The fixed points.
    bandwidth : float or array of shape (d,)
        Columns are divided by it.
    precision : "float32" or "float64"
        The dtype of the result, and of the products if the norms of rows allow it.
    slope : function
        ``slope(value, spare)`` replaces ``-s / 2`` by ``-2 k'(s)``, in place.
    kink : bool
        Whether ``k'(s)`` is infinite at 0.
    """

    def __init__(
        self,
        Z: Rows,
        bandwidth: float | Array,
        precision: Precision,
        slope: Callable[[Array, Array], Array],
        kink: bool = False,
    ) -> None:
        self.Z = dense(Z)
        self.precision = precision
        self.slope = slope
        self.kink = kink
        # The inverse of a small distance magnifies errors, so it is then computed in float64.
        self.distances = ScaledDistances(self.Z, bandwidth, "float64" if kink else precision)
        vectors = np.hstack([self.distances.points, np.ones((len(self.Z), 1))])
        self._vectors = {"float64": vectors}
        self._vectors[precision] = vectors.astype(precision, copy=False)

    def __call__(self, X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
        """Return ``sum_j weight_ij C_jo dK(x_i, z_j)/dx_i``."""
        X, distances = dense(X), self.distances
        with np.errstate(over="ignore"):
            rows = distances.scaled(X)
            half_norms = 0.5 * np.einsum("ij,ij->i", rows, rows)
        working = distances.working(half_norms, self.precision)
        shape = (len(X), len(self.Z))
        slopes = scratch.take("slopes", shape, "float64" if self.kink else working)
        distances.of_scaled(rows, half_norms, slopes)
        near: tuple[Array, ...] = ()
        if self.kink:
            near = np.nonzero(slopes >= (-2 * NEAR[working] * half_norms)[:, None])
            slopes[near] = -np.inf  # has no slope
            wide, slopes = slopes, scratch.take("narrow", shape, working)
            slopes[...] = wide
        weighted(self.slope(slopes, scratch.take("spare", shape, working)), weight)
        found = slopes_times_vectors(slopes, C, self._vectors[working])
        out = np.empty((C.shape[1], *X.shape), dtype=self.precision)
        rows = rows.astype(working, copy=False)
        scale = np.asarray(distances.bandwidth, dtype=working)
        for output, sums in zip(out, found, strict=True):
            difference = sums[:, :-1]
            difference -= rows * sums[:, -1:]
            difference /= scale
            output[...] = difference
        if self.kink:
            self._add_near(X, C, weight, near, out)
        return out

    def _add_near(
        self, X: Array, C: Array, weight: Array | None, near: tuple[Array, ...], out: Array
    ) -> None:
        for i, j in pair_chunks(near, X.shape[1]):
            difference = (X[i] - self.Z[j]) / self.distances.bandwidth
            squares = np.einsum("ij,ij->i", difference, difference)
            slopes = np.zeros_like(squares)
            apart = squares > 0
            squares = squares[apart]
            slopes[apart] = self.slope(-0.5 * squares, np.empty_like(squares))
            vectors = difference * -slopes[:, None] / self.distances.bandwidth
            add_pairs(out, i, j, vectors, C, weight)


def gaussian_slope(value: Array, spare: Array) -> Array:
    """Return ``exp(-s / 2)``."""
    return np.exp(value, out=value)


def exponential_slope(value: Array, spare: Array) -> Array:
    """Return ``exp(-r) / r`` with ``r = sqrt(s)``; 0 at infinity."""
    r = _root(value, 1.0)
    factor = np.exp(np.negative(r, out=spare), out=spare)
    return np.divide(factor, r, out=r)


def once_differentiable_slope(value: Array, spare: Array) -> Array:
    """Return ``3 exp(-sqrt(3) r)``."""
    r = _root(value, 3.0)
    np.exp(np.negative(r, out=r), out=r)
    r *= 3.0
    return r


def twice_differentiable_slope(value: Array, spare: Array) -> Array:
    """Return ``5/3 (1 + sqrt(5) r) exp(-sqrt(5) r)``."""
    r = _root(value, 5.0)
    factor = np.exp(np.negative(r, out=spare), out=spare)
    factor *= 5.0 / 3.0
    r += 1.0
    r *= factor
    return r


def _root(value: Array, factor: float) -> Array:
    """Return ``sqrt(factor) r``."""
    value *= -2.0 * factor
    return np.sqrt(value, out=value)


class CityBlockGradient:
    """``-sum_j w_ij c_jo K(x_i, z_j) sign(x_i - z_j) / bandwidth``, as (k, rows, d).

    One column at a time, so that no (rows, M, d) array is held. A row that ties with a point in a
    column is at a kink, whose mean gradient is 0.

    Parameters
    ----------
    Z : rows
        The fixed points.
    bandwidth : float or array of shape (d,)
        Columns are divided by it.
    precision : "float32" or "float64"
        The dtype of the result and of the values.
    values : function
        X -> K(X, Z), in this precision.
    """

    def __init__(
        self, Z: Rows, bandwidth: float | Array, precision: Precision, values: BlockKernel
    ) -> None:
        self.bandwidth = bandwidth
        self.precision = precision
        self.values = values
        self.n_points = Z.shape[0]
        # Signs depend on the order only, and differences of ranks are exact also in float32: the
        # m-th knot has the rank 2 m + 1, and what is between it and the next has 2 m + 2.
        self.knots: list[tuple[Array, Array]] = []
        for column in dense(Z).T:
            knots, at = np.unique(column, return_inverse=True)
            self.knots.append((np.append(knots, np.inf), (2 * at + 1).astype(precision)))

    def __call__(self, X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
        """Return ``sum_j weight_ij C_jo dK(x_i, z_j)/dx_i``."""
        shape = (X.shape[0], self.n_points)
        slopes = self.values(X, scratch.take("slopes", shape, self.precision))
        weighted(slopes, weight)
        C = C.astype(slopes.dtype, copy=False)
        out = np.empty((C.shape[1], *X.shape), dtype=slopes.dtype)
        signed = scratch.take("signed", shape, self.precision)
        for column, (values, (knots, ranks)) in enumerate(zip(dense(X).T, self.knots, strict=True)):
            left = np.searchsorted(knots, values)
            place = (2 * left + (knots[left] == values)).astype(self.precision)
            np.subtract(place[:, None], ranks, out=signed)
            np.clip(signed, -1.0, 1.0, out=signed)
            signed *= slopes
            out[:, :, column] = (signed @ C).T
        out /= np.asarray(-self.bandwidth, dtype=slopes.dtype)
        return out

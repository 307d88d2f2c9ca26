"""Gradients of functions made of kernels of the inner product.

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

from mercer.contracts import Array, Precision, Rows
from mercer.kernels.gradients import (
    Scratch,
    add_pairs,
    pair_chunks,
    slopes_times_vectors,
    weighted,
)
from mercer.kernels.kernel import dense

#: ``1 - |cos|`` of pairs whose sine is computed from the difference of their directions.
NEAR = 1e-8
#: The difference of directions, up to rounding, of parallel rows.
PARALLEL = 1e-15


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

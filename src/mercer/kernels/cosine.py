"""The cosine kernel: the linear kernel of rows of length 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.feature_maps import ColumnFeatures, _output
from mercer.kernels.gradients import Scratch, in_tiles, slopes_times_vectors, weighted
from mercer.kernels.kernel import Kernel, dense


class Cosine(Kernel):
    """The cosine kernel ``K(x, z) = x'z / (||x|| ||z||)``: the linear kernel of directions.

    Rows of zeros have no direction: their values are 0, as in scikit-learn's
    ``cosine_similarity``. The angle is that at the origin, so ``scale="auto"`` leaves the columns
    as they are.

    Examples
    --------
    >>> Cosine()(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[2.0, 0.0]]))
    array([[0.6],
           [0. ]])
    """

    bounded = True
    accepts_sparse = True
    has_gradient = True
    has_units = True

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(directions(Z)[0])

        def block(X: Rows, out: Array | None = None) -> Array:
            out = _output(X, len(points), precision, out)
            out[...] = directions(X)[0] @ points.T
            return out

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient: with u and v the directions of x and z, ``(v - u'v u) / ||x||``.

        At the origin, where the kernel jumps, it is 0.
        """
        points = dense(directions(Z)[0])

        def tile(X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
            unit, inverse = directions(dense(X))
            slopes = np.ones((len(unit), len(points)))
            weighted(slopes, weight)
            C = np.asarray(C, dtype=np.float64)
            out = slopes_times_vectors(slopes, C, points)
            return across(out, unit, inverse)

        return in_tiles(tile, len(points), precision)

    def diag(self, X: Rows) -> Array:
        """Return ones, and 0 for rows of zeros."""
        return np.asarray(directions(X)[1] > 0, dtype=np.float64)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> DirectionFeatures:
        """Return the columns of directions, whatever ``size`` is: they are exact."""
        return DirectionFeatures(n_features)


def directions(X: Rows) -> tuple[Rows, Array]:
    """Return rows of length 1, or of zeros, and the inverse lengths, 0 for rows of zeros.

    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]]))
    (array([[0.6, 0.8],
           [0. , 0. ]]), array([0.2, 0. ]))
    """
    if hasattr(X, "tocsr"):
        X = X.tocsr().astype(np.float64)
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        X = np.asarray(X, dtype=np.float64)
        squares = np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(squares)
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    unit = X.multiply(inverse[:, None]).tocsr() if hasattr(X, "tocsr") else X * inverse[:, None]
    return unit, inverse


def across(gradients: Array, unit: Array, inverse: Array) -> Array:
    """Return gradients in x from those in its direction, of shape (k, rows, d).

    Only the part across x turns it: ``(I - uu') g / ||x||``.
    """
    along = np.einsum("oij,ij->oi", gradients, unit)
    return np.asarray((gradients - along[:, :, None] * unit) * inverse[:, None])


@dataclass(frozen=True)
class DirectionFeatures(ColumnFeatures):
    """``psi_j(x) = sqrt(M) x_j / ||x||``: exact for the cosine kernel; M columns."""

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the columns of directions, scaled."""
        return super().__call__(directions(X)[0], precision, out)

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the gradient: that of the columns, across the row."""
        unit, inverse = directions(dense(X))
        found = super().gradient(unit, np.asarray(C, dtype=np.float64), "float64", weight)
        return across(found, unit, inverse).astype(precision, copy=False)

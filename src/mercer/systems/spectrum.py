"""What a matrix is brought into, so that every alpha is cheap: eigenvectors, or three diagonals.

.. math:: A = U \\operatorname{diag}(s) U', \\quad \\beta = U'b, \\quad
          v(\\lambda) = U \\operatorname{diag}\\Big(\\frac{1}{s + \\lambda}\\Big) \\beta

Choosing alpha asks for solutions, traces and quadratic forms of ``(A + alpha)^-1``, which a
tridiagonal form ``A = Q T Q'`` gives at a third of the cost of eigenvectors
(:mod:`mercer.systems.tridiagonal`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import eigh

from mercer.bases import Whitener
from mercer.contracts import Array, Penalty
from mercer.engines import threads_for


@dataclass(frozen=True)
class Spectrum:
    """``A = U diag(s) U'``, with eigenvalues below rounding set to zero, and ``beta = U'b``.

    Rounding moves eigenvalues up as far as down, so the most negative one measures it. Directions
    with an eigenvalue not above that level are dropped (their filter is 0), as in a pseudo-inverse.
    """

    values: Array  # (r,), increasing, at least 0
    vectors: Array  # (r, r)
    beta: Array  # (r, k)
    #: Whether alpha is a threshold below which eigenvalues are cut off, instead of a penalty.
    cutoff: bool = False

    name = "eigendecomposition"

    @classmethod
    def of(cls, A: Array, b: Array, cutoff: bool = False) -> Spectrum:
        """Decompose A; it may be overwritten."""
        if A.size == 0:
            return cls(np.zeros(0), np.zeros((0, 0)), np.zeros((0, b.shape[1])), cutoff)
        with threads_for(len(A)):
            values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
        floor = max(-2.0 * values[0], 4 * np.finfo(float).eps * len(values) * values[-1])
        return cls(np.where(values > floor, values, 0.0), vectors, vectors.T @ b, cutoff)

    @property
    def size(self) -> int:
        """The order of A."""
        return len(self.values)

    @property
    def dropped(self) -> int:
        """The number of dropped directions."""
        return int(np.count_nonzero(self.values == 0.0))

    @property
    def kept(self) -> Array:
        """Which directions are not dropped."""
        return self.values > 0

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest eigenvalue that is kept, and the largest; zeros if there are none."""
        values = self.values[self.kept]
        return (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)

    def filter(self, alpha: Penalty) -> Array:
        """Return ``1 / (s + alpha)``; for the cut-off, ``1 / s`` where s >= alpha, else 0.

        It is 0 for dropped directions. Its shape is (r,), or (r, k) for k alphas.
        """
        alpha = np.asarray(alpha, dtype=np.float64)
        values = np.add.outer(self.values, np.zeros(alpha.shape))
        kept = values > 0
        if self.cutoff:
            kept &= values >= alpha
        inverse = np.zeros_like(values)
        np.divide(1.0, values + alpha * (not self.cutoff), out=inverse, where=kept)
        return inverse

    def filtered(self, alpha: Penalty) -> Array:
        """Return ``beta / (s + alpha)``, of shape (r, k)."""
        filters = self.filter(alpha)
        return np.asarray((filters if filters.ndim > 1 else filters[:, None]) * self.beta)

    def solve(self, alpha: Penalty) -> Array:
        """Return ``v(alpha) = U diag(1 / (s + alpha)) beta``, of shape (r, k)."""
        return np.asarray(self.vectors @ self.filtered(alpha))

    def effective_dimension(self, alpha: Penalty) -> Penalty:
        """Return ``trace(A (A + alpha)^-1)``, for each alpha."""
        found = self.values @ self.filter(alpha)
        return found if np.ndim(found) else float(found)

    # -- coordinates in the directions that are kept

    def inward(self, V: Array) -> Array:
        """Return ``U'V``."""
        return np.asarray(self.vectors[:, self.kept].T @ V)

    def outward(self, V: Array) -> Array:
        """Return ``U V``."""
        return np.asarray(self.vectors[:, self.kept] @ V)

    def product(self, V: Array) -> Array:
        """Return ``diag(s) V``."""
        return np.asarray(self.values[self.kept][:, None] * V)

    def shifted(self, alphas: Array) -> Filters:
        """Return ``1 / (s + alpha)`` for every alpha."""
        kept = self.kept
        inverse = np.zeros((int(np.count_nonzero(kept)), len(alphas)))
        for column, alpha in enumerate(alphas):
            inverse[:, column] = self.filter(alpha)[kept]
        return Filters(self.values[kept], inverse, self.beta[kept])

    def for_rows(self, whitener: Whitener, precision: str) -> RotatedRows:
        """Return the map of rows of summed functions to these coordinates."""
        return RotatedRows(whitener.coefficients(self.vectors[:, self.kept]).astype(precision))


@dataclass(frozen=True)
class RotatedRows:
    """``g = T'h`` for rows of summed functions, with ``T = R U``; sent to shards."""

    directions: Array  # (M, r)

    def __call__(self, H: Array) -> Array:
        """Return g for every row of H."""
        return np.asarray(H @ self.directions)


@dataclass(frozen=True)
class Filters:
    """``(diag(s) + alpha)^-1`` for every alpha, in eigencoordinates."""

    values: Array  # (r,)
    inverse: Array  # (r, alphas)
    beta: Array  # (r, k)

    def astype(self, precision: str) -> Filters:
        """Return the filters in another precision."""
        return replace(
            self, inverse=self.inverse.astype(precision), beta=self.beta.astype(precision)
        )

    def apply(self, V: Array) -> Array:
        """Return the inverse times the columns of each alpha, side by side in V."""
        alphas = self.inverse.shape[1]
        columns = V.reshape(len(V), alphas, V.shape[1] // alphas)
        return np.asarray(self.inverse[:, :, None] * columns).reshape(V.shape)

    @property
    def solutions(self) -> Array:
        """``beta / (s + alpha)``, of shape (r, alphas * k)."""
        r, k = self.beta.shape
        return np.asarray(self.inverse[:, :, None] * self.beta[:, None]).reshape(
            r, k * self.inverse.shape[1]
        )

    @property
    def explained(self) -> Array:
        """``2 b'v - v'Av``, of shape (alphas, k)."""
        return np.asarray(
            (self.inverse * (2.0 - self.inverse * self.values[:, None])).T @ self.beta**2
        )

    @property
    def effective_dimension(self) -> Array:
        """``trace(A (A + alpha)^-1)``, of shape (alphas,)."""
        return np.asarray(self.values @ self.inverse)

    def quadratic(self, G: Array) -> Array:
        """Return ``g'(s + alpha)^-1 g`` for the rows of G, of shape (rows, alphas)."""
        return np.asarray(np.square(G) @ self.inverse)

    def pairs(self, G: Array, T: Array) -> tuple[Array, Array, Array]:
        """Return ``g'Fg``, ``g'Ft`` and ``t'Ft`` for pairs of rows, ``F = 1 / (s + alpha)``."""
        return self.quadratic(G), np.asarray((G * T) @ self.inverse), self.quadratic(T)


class Shifted(Protocol):
    """``(A + alpha)^-1`` for every alpha of a path, in the coordinates of a decomposition."""

    @property
    def solutions(self) -> Array:
        """``(A + alpha)^-1 b``, of shape (r, alphas * k)."""

    @property
    def explained(self) -> Array:
        """``2 b'v - v'Av``, by which the fit reduces the mean square of y; (alphas, k)."""

    @property
    def effective_dimension(self) -> Array:
        """``trace(A (A + alpha)^-1)``, of shape (alphas,)."""

    def apply(self, V: Array) -> Array:
        """Return the inverse times the columns of each alpha, side by side in V."""

    def quadratic(self, G: Array) -> Array:
        """Return ``g'(A + alpha)^-1 g`` for the rows of G, of shape (rows, alphas)."""

    def pairs(self, G: Array, T: Array) -> tuple[Array, Array, Array]:
        """Return ``g'Fg``, ``g'Ft`` and ``t'Ft`` for pairs of rows, ``F = (A + alpha)^-1``."""

    def astype(self, precision: str) -> Shifted:
        """Return the same in another precision."""


class RowMap(Protocol):
    """Maps rows of summed functions to the coordinates of a decomposition; sent to shards."""

    def __call__(self, H: Array) -> Array:
        """Return the coordinates of every row of H, which may be overwritten."""


class Decomposition(Protocol):
    """A in coordinates where every alpha is cheap."""

    name: str

    @property
    def size(self) -> int:
        """The order of A."""

    @property
    def beta(self) -> Array:
        """b in these coordinates, of shape (r, k)."""

    @property
    def dropped(self) -> int:
        """The number of directions below rounding, which are left out."""

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest eigenvalue above rounding, and the largest; zeros if there are none."""

    def inward(self, V: Array) -> Array:
        """Return the coordinates of the columns of V."""

    def outward(self, V: Array) -> Array:
        """Return the vectors with the given coordinates."""

    def product(self, V: Array) -> Array:
        """Return A V, both in these coordinates."""

    def shifted(self, alphas: Array) -> Shifted:
        """Return the inverse for every alpha."""

    def solve(self, alpha: Penalty) -> Array:
        """Return the solution for one alpha, or for one of each output."""

    def effective_dimension(self, alpha: Penalty) -> Penalty:
        """Return ``trace(A (A + alpha)^-1)`` for each alpha."""

    def for_rows(self, whitener: Whitener, precision: str) -> RowMap:
        """Return the map of rows of summed functions to these coordinates."""

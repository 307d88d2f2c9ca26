"""What a matrix is brought into, so that every alpha is cheap: eigenvectors, or three diagonals.

.. math:: A = U \\operatorname{diag}(s) U' \\qquad\\text{or}\\qquad A = Q T Q'

Choosing alpha asks for solutions, traces and quadratic forms of ``(A + alpha)^-1``, which a
tridiagonal form gives at a third of the cost of eigenvectors.
"""

from __future__ import annotations

from typing import Protocol

from mercer.bases import Whitener
from mercer.contracts import Array, Penalty


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

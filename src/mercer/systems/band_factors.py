"""Cholesky factors of a block tridiagonal matrix, shifted by every alpha of a path.

.. math:: B + \\alpha = L L', \\qquad
          L = \\begin{pmatrix} L_1 & & \\\\ C_1 & L_2 & \\\\ & \\ddots & \\ddots \\end{pmatrix},
          \\qquad L_i L_i' = D_i + \\alpha - C_{i-1} C_{i-1}', \\quad C_i = E_i L_i^{-T}

Everything is done for all alphas together, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from mercer.contracts import Array


@dataclass(frozen=True)
class BandFactors:
    """``(B + alpha)^-1`` for every alpha, by the inverses ``J_i`` of diagonal blocks of L.

    Examples
    --------
    >>> diagonal, below = [np.array([[2.0]]), np.array([[2.0]])], [np.array([[1.0]])]
    >>> factors = BandFactors.of(diagonal, below, np.array([[1.0], [0.0]]), np.array([0.0, 1.0]))
    >>> factors.solutions.round(3).tolist(), factors.effective_dimension.round(3).tolist()
    ([[0.667, 0.375], [-0.333, -0.125]], [2.0, 1.25])
    """

    alphas: Array
    beta: Array  # (r, k)
    inverse: list[Array]  # J_i, each (alphas, w, w)
    coupling: list[Array]  # J_i C_{i-1}, each (alphas, w, w'), from the second block on

    @classmethod
    def of(
        cls, diagonal: list[Array], below: list[Array], beta: Array, alphas: Array
    ) -> BandFactors:
        """Factor a positive definite matrix with the given blocks."""
        inverse: list[Array] = []
        coupling: list[Array] = []
        for number, D in enumerate(diagonal):
            block = D + alphas[:, None, None] * np.eye(len(D))
            C = None
            if number:
                E = below[number - 1]
                C = np.zeros((len(alphas), len(D), E.shape[1]))
                np.matmul(E, inverse[-1].transpose(0, 2, 1), out=C[:, : len(E)])
                block -= C @ C.transpose(0, 2, 1)
            inverse.append(_inverses(np.linalg.cholesky(block)))
            if C is not None:
                coupling.append(inverse[-1] @ C)
        return cls(alphas, beta, inverse, coupling)

    def astype(self, precision: str) -> BandFactors:
        """Return the factors in another precision."""
        return replace(
            self,
            beta=self.beta.astype(precision),
            inverse=[J.astype(precision) for J in self.inverse],
            coupling=[N.astype(precision) for N in self.coupling],
        )

    def half(self, V: Array) -> list[Array]:
        """Return ``L^-1 V`` for V (alphas or 1, r, columns) by blocks (alphas, w, columns)."""
        found: list[Array] = []
        start = 0
        for number, J in enumerate(self.inverse):
            stop = start + J.shape[1]
            part = J @ V[:, start:stop]
            if number:
                part -= self.coupling[number - 1] @ found[-1]
            found.append(part)
            start = stop
        return found

    def back(self, halves: list[Array]) -> Array:
        """Return ``L^-T Y`` of shape (alphas, r, columns)."""
        found: list[Array] = []
        right = halves[-1]
        for number in range(len(halves) - 1, -1, -1):
            if found:
                # y_i - C_i'z_{i+1}, with z_{i+1} = J_{i+1}' times the right side before
                right = halves[number] - self.coupling[number].transpose(0, 2, 1) @ right
            found.append(self.inverse[number].transpose(0, 2, 1) @ right)
        return np.concatenate(found[::-1], axis=1)

    def apply(self, V: Array) -> Array:
        """Return ``(B + alpha)^-1`` times the columns of each alpha, side by side in V."""
        return _side_by_side(self.back(self.half(_by_alpha(V, len(self.alphas)))))

    @cached_property
    def _solved(self) -> Array:
        return self.back(self.half(self.beta[None]))

    @property
    def solutions(self) -> Array:
        """``(B + alpha)^-1 beta``, of shape (r, alphas * k)."""
        return _side_by_side(self._solved)

    @property
    def explained(self) -> Array:
        """``2 b'v - v'Av = b'v + alpha v'v``, of shape (alphas, k)."""
        v = self._solved
        return np.asarray(
            np.einsum("ij,aij->aj", self.beta, v)
            + self.alphas[:, None] * np.einsum("aij,aij->aj", v, v)
        )

    @property
    def effective_dimension(self) -> Array:
        """``trace(A (A + alpha)^-1) = r - alpha trace((A + alpha)^-1)``, of shape (alphas,).

        The diagonal blocks of the inverse come from the last to the first:
        ``Z_i = J_i'J_i + (C_i J_i)' Z_{i+1} (C_i J_i)``.
        """
        trace = np.zeros(len(self.alphas))
        Z = None
        for number in range(len(self.inverse) - 1, -1, -1):
            J = self.inverse[number]
            inner = np.eye(J.shape[1])[None]
            if Z is not None:
                N = self.coupling[number]
                inner = inner + N.transpose(0, 2, 1) @ Z @ N
            # Z of this block without its outer J': the next one needs ``L' Z_{i+1} L``.
            trace += np.einsum("aij,aij->a", inner @ J, J)
            Z = inner
        return len(self.beta) - self.alphas * trace

    def quadratic(self, G: Array) -> Array:
        """Return ``g'(B + alpha)^-1 g`` for the rows of G, of shape (rows, alphas)."""
        found = np.zeros((len(self.alphas), len(G)), dtype=G.dtype)
        for half in self._halves(G):
            found += np.einsum("aij,aij->aj", half, half)
        return found.T

    def pairs(self, G: Array, T: Array) -> tuple[Array, Array, Array]:
        """Return ``g'Fg``, ``g'Ft`` and ``t'Ft`` for pairs of rows, ``F = (B + alpha)^-1``."""
        found = np.zeros((3, len(self.alphas), len(G)), dtype=G.dtype)
        for half in self._halves(np.vstack([G, T])):
            g, t = half[:, :, : len(G)], half[:, :, len(G) :]
            for form, (left, right) in zip(found, ((g, g), (g, t), (t, t)), strict=True):
                form += np.einsum("aij,aij->aj", left, right)
        return found[0].T, found[1].T, found[2].T

    def _halves(self, G: Array) -> Iterator[Array]:
        """Yield the blocks (alphas, w, rows) of ``L^-1 G'``, of which only one is kept."""
        start, before = 0, None
        for number, J in enumerate(self.inverse):
            stop = start + J.shape[1]
            part = J @ np.ascontiguousarray(G[:, start:stop].T)
            if before is not None:
                part -= self.coupling[number - 1] @ before
            yield part
            start, before = stop, part


def _inverses(L: Array) -> Array:
    """Return the inverses of lower triangular matrices."""
    return np.stack([lapack.dtrtri(one, lower=1)[0] for one in L])


def _by_alpha(V: Array, alphas: int) -> Array:
    return V.reshape(len(V), alphas, -1).transpose(1, 0, 2)


def _side_by_side(V: Array) -> Array:
    return np.ascontiguousarray(V.transpose(1, 0, 2)).reshape(V.shape[1], -1)

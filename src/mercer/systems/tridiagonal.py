"""A symmetric matrix in tridiagonal form, which makes every alpha cheap without eigenvectors.

.. math:: A = Q T Q', \\qquad T + \\alpha = L \\operatorname{diag}(p)\\, L', \\qquad
          p_i = t_i + \\alpha - e_{i-1} l_{i-1}, \\quad l_i = L_{i+1, i} = e_i / p_i

with t and e the diagonals of T. LAPACK's reduction by reflectors takes a third of the time of
eigenvectors (Golub and Van Loan, 2013, section 8.3), and what follows is a few operations on each
number, for all alphas together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas, eigvalsh_tridiagonal, lapack

from mercer.bases import Whitener
from mercer.contracts import Array, Penalty
from mercer.engines import threads_for


def rounding(A: Array) -> float:
    """Return an upper bound of the level at which eigenvalues of A are rounding."""
    return 4 * np.finfo(float).eps * len(A) * max(0.0, float(np.trace(A)))


@dataclass(frozen=True)
class Reflectors:
    """``Q`` as LAPACK keeps it: products of reflectors, which leave the first coordinate alone."""

    vectors: Array  # (r - 1, r - 1), below its diagonal
    scales: Array  # (r - 1,)

    def apply(self, V: Array, transposed: bool) -> Array:
        """Return ``Q V``, or ``Q'V``."""
        if V.ndim == 1:
            return self.apply(V[:, None], transposed)[:, 0]
        out = np.array(V, order="F")
        if len(self.scales) and V.shape[1]:
            multiply = lapack.sormqr if self.vectors.dtype == np.float32 else lapack.dormqr
            trans, tail = "T" if transposed else "N", np.asfortranarray(out[1:])
            room = int(multiply("L", trans, self.vectors, self.scales, tail, -1)[1][0])
            out[1:] = multiply("L", trans, self.vectors, self.scales, tail, room, overwrite_c=1)[0]
        return out

    def astype(self, precision: str) -> Reflectors:
        """Return them in another precision."""
        return Reflectors(self.vectors.astype(precision), self.scales.astype(precision))


@dataclass(frozen=True)
class Tridiagonal:
    """``A = Q T Q'`` with T tridiagonal, and ``beta = Q'b``.

    It has no rule for eigenvalues below rounding: A must be positive definite beyond that, as
    :meth:`of_regular` checks.

    Examples
    --------
    >>> form = Tridiagonal.of(np.diag([3.0, 1.0]), np.array([[4.0], [0.0]]))
    >>> form.solve(1.0).round(12).tolist(), round(form.effective_dimension(1.0), 12)
    ([[1.0], [0.0]], 1.25)
    """

    diagonal: Array  # (r,)
    below: Array  # (r - 1,)
    reflectors: Reflectors
    beta: Array  # (r, k)

    #: For messages; and directions that are left out.
    name = "tridiagonal form"
    dropped = 0

    @classmethod
    def of(cls, A: Array, b: Array) -> Tridiagonal:
        """Reduce A."""
        if len(A) == 1:
            none = np.zeros(0)
            return cls(A[0], none, Reflectors(np.zeros((0, 0)), none), np.array(b))
        room = int(lapack.dsytrd_lwork(len(A), lower=1)[0])
        with threads_for(len(A)):
            packed, diagonal, below, scales, _ = lapack.dsytrd(A, lower=1, lwork=room)
            reflectors = Reflectors(np.asfortranarray(packed[1:, :-1]), scales)
            return cls(diagonal, below, reflectors, reflectors.apply(b, transposed=True))

    @classmethod
    def of_regular(cls, A: Array, b: Array) -> Tridiagonal | None:
        """Reduce A; None if it is singular up to rounding.

        Directions below rounding are dropped, for which their vectors are needed. There are none if
        A is positive definite by more than rounding.
        """
        with threads_for(len(A)):
            lowered = np.array(A, order="F")
            lowered[np.diag_indices_from(lowered)] -= rounding(A)
            _, info = lapack.dpotrf(lowered, lower=1, overwrite_a=1, clean=0)
        return cls.of(A, b) if info == 0 else None

    @property
    def size(self) -> int:
        """r, the order of A."""
        return len(self.diagonal)

    def inward(self, V: Array) -> Array:
        """Return ``Q'V``."""
        return self.reflectors.apply(V, transposed=True)

    def outward(self, V: Array) -> Array:
        """Return ``Q V``."""
        return self.reflectors.apply(V, transposed=False)

    def product(self, V: Array) -> Array:
        """Return ``T V``."""
        out = self.diagonal[:, None] * V
        out[1:] += self.below[:, None] * V[:-1]
        out[:-1] += self.below[:, None] * V[1:]
        return np.asarray(out)

    def shifted(self, alphas: Array) -> Pivots:
        """Return the factors of ``T + alpha`` for every alpha."""
        return Pivots.of(self, alphas)

    def for_rows(self, whitener: Whitener, precision: str) -> ReflectedRows:
        """Return the map of rows of summed functions to these coordinates."""
        factor = None if whitener.factor is None else whitener.factor.astype(precision)
        return ReflectedRows(factor, self.reflectors.astype(precision))

    def solve(self, alpha: Penalty) -> Array:
        """Return ``v(alpha) = Q (T + alpha)^-1 Q'b``, of shape (r, k)."""
        outputs = np.arange(self.beta.shape[1])
        alphas, place = np.unique(np.broadcast_to(alpha, outputs.shape), return_inverse=True)
        solutions = self.shifted(alphas).solutions.reshape(self.size, len(alphas), -1)
        return self.outward(solutions[:, place, outputs])

    def effective_dimension(self, alpha: Penalty) -> Penalty:
        """Return ``trace(A (A + alpha)^-1)``, for each alpha."""
        found = self.shifted(np.atleast_1d(alpha)).effective_dimension
        return found if np.ndim(alpha) else float(found[0])

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue."""
        values = eigvalsh_tridiagonal(self.diagonal, self.below)
        return float(values[0]), float(values[-1])


@dataclass(frozen=True)
class ReflectedRows:
    """``g = Q'R'h`` for rows of summed functions, with ``R = L^-T``; sent to shards."""

    factor: Array | None  # L (M, M), or None for the identity
    reflectors: Reflectors

    def __call__(self, H: Array) -> Array:
        """Return g for every row of H, which is overwritten."""
        if self.factor is not None:
            solve = blas.strsm if H.dtype == np.float32 else blas.dtrsm
            H = solve(1.0, self.factor, H.T, lower=1, overwrite_b=1).T
        return self.reflectors.apply(H.T, transposed=True).T


@dataclass(frozen=True)
class Pivots:
    """``(T + alpha)^-1`` for every alpha, by the factors ``L diag(p) L'``.

    Examples
    --------
    >>> form = Tridiagonal.of(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]]))
    >>> pivots = form.shifted(np.array([0.0, 1.0]))
    >>> form.outward(pivots.solutions).round(3).tolist(), pivots.effective_dimension.round(3)
    ([[0.667, 0.375], [-0.333, -0.125]], array([2.  , 1.25]))
    """

    alphas: Array
    beta: Array  # (r, k)
    pivots: Array  # (r, alphas) p
    factors: Array  # (r - 1, alphas) l

    @classmethod
    def of(cls, form: Tridiagonal, alphas: Array) -> Pivots:
        """Factor T for every alpha."""
        pivots = np.add.outer(form.diagonal, alphas)
        factors = np.empty((len(form.below), len(alphas)))
        for i, e in enumerate(form.below):
            factors[i] = e / pivots[i]
            pivots[i + 1] -= e * factors[i]
        return cls(alphas, form.beta, pivots, factors)

    def astype(self, precision: str) -> Pivots:
        """Return the factors in another precision."""
        arrays = {name: getattr(self, name).astype(precision) for name in ("beta", "pivots")}
        return replace(self, factors=self.factors.astype(precision), **arrays)

    def _halves(self, V: Array) -> Iterator[Array]:
        """Yield the rows of ``L^-1 V`` (alphas, columns), for the same V; each is overwritten."""
        half = np.repeat(V[:1], len(self.alphas), axis=0)
        yield half
        for row, factor in zip(V[1:], self.factors, strict=True):
            half *= -factor[:, None]
            half += row
            yield half

    def apply(self, V: Array) -> Array:
        """Return ``(T + alpha)^-1`` times the columns of each alpha, side by side in V."""
        out = np.array(V.reshape(len(V), len(self.alphas), -1))
        for i, factor in enumerate(self.factors):
            out[i + 1] -= factor[:, None] * out[i]
        out /= self.pivots[:, :, None]
        for i in range(len(out) - 2, -1, -1):
            out[i] -= self.factors[i][:, None] * out[i + 1]
        return out.reshape(V.shape)

    @cached_property
    def solutions(self) -> Array:
        """``(T + alpha)^-1 beta``, of shape (r, alphas * k)."""
        return self.apply(np.tile(self.beta, len(self.alphas)))

    @property
    def explained(self) -> Array:
        """``2 b'v - v'Av = b'v + alpha v'v``, of shape (alphas, k)."""
        v = self.solutions.reshape(len(self.beta), len(self.alphas), -1)
        return np.asarray(
            np.einsum("ij,iaj->aj", self.beta, v)
            + self.alphas[:, None] * np.einsum("iaj,iaj->aj", v, v)
        )

    @property
    def effective_dimension(self) -> Array:
        """``r - alpha trace((A + alpha)^-1)``, of shape (alphas,).

        The diagonal of the inverse comes from the last to the first: ``z_i = 1 / p_i + l_i^2
        z_{i+1}`` (Takahashi, Fagan and Chin, 1973).
        """
        z = np.reciprocal(self.pivots)
        for i in range(len(z) - 2, -1, -1):
            z[i] += np.square(self.factors[i]) * z[i + 1]
        return np.asarray(len(z) - self.alphas * z.sum(axis=0))

    def quadratic(self, G: Array) -> Array:
        """Return ``g'(T + alpha)^-1 g`` for the rows of G, of shape (rows, alphas)."""
        found = np.zeros((len(self.alphas), len(G)), dtype=G.dtype)
        for half, pivot in zip(self._halves(np.ascontiguousarray(G.T)), self.pivots, strict=True):
            found += np.square(half) / pivot[:, None]
        return found.T

    def pairs(self, G: Array, T: Array) -> tuple[Array, Array, Array]:
        """Return ``g'Fg``, ``g'Ft`` and ``t'Ft`` for pairs of rows, ``F = (T + alpha)^-1``."""
        found = np.zeros((3, len(self.alphas), len(G)), dtype=G.dtype)
        stacked = np.ascontiguousarray(np.vstack([G, T]).T)
        for half, pivot in zip(self._halves(stacked), self.pivots, strict=True):
            g, t = half[:, : len(G)], half[:, len(G) :]
            for form, (left, right) in zip(found, ((g, g), (g, t), (t, t)), strict=True):
                form += left * right / pivot[:, None]
        return found[0].T, found[1].T, found[2].T

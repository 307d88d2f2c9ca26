"""A symmetric matrix reduced to band form, which makes every alpha cheap without eigenvectors.

.. math:: A = Q B Q', \\qquad
          B = \\begin{pmatrix} D_1 & E_1' & \\\\ E_1 & D_2 & \\ddots \\\\ & \\ddots & \\ddots
              \\end{pmatrix}

with blocks of b x b numbers and Q a product of block reflectors ``I - V T V'`` (Schreiber and Van
Loan, 1989): the first stage of a two-stage reduction to tridiagonal form (Bischof, Lang and Sun,
2000). All work is in products of matrices, where the usual reduction spends half of it in products
with single vectors, bound by memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh

from mercer.bases import Whitener
from mercer.contracts import Array, Penalty
from mercer.engines import available_cores, blas_threads
from mercer.systems.band_factors import BandFactors

#: b, the size of blocks: wider ones reduce faster, but cost more for each alpha.
WIDTH = 48
#: Rows of a trailing matrix that are updated at once.
TILE = 256


@dataclass(frozen=True)
class Reflector:
    """``I - V T V'`` on the last rows: V has a unit lower triangle on top."""

    V: Array  # (m, w)
    VT: Array  # (m, w)

    def astype(self, precision: str) -> Reflector:
        """Return it in another precision."""
        return Reflector(self.V.astype(precision), self.VT.astype(precision))


@dataclass(frozen=True)
class BandForm:
    """``A = Q B Q'`` with B block tridiagonal, and ``beta = Q'b``.

    It has no rule for eigenvalues below rounding: A must be positive definite beyond that, as
    :func:`~mercer.systems.decomposition.decompose` checks.

    Examples
    --------
    >>> form = BandForm.of(np.diag([3.0, 1.0]), np.array([[4.0], [0.0]]))
    >>> form.solve(1.0).round(12).tolist(), round(form.effective_dimension(1.0), 12)
    ([[1.0], [0.0]], 1.25)
    """

    diagonal: list[Array]
    below: list[Array]
    reflectors: list[Reflector]
    beta: Array  # (r, k)

    #: For messages; and directions that are left out.
    name = "band form"
    dropped = 0

    @classmethod
    def of(cls, A: Array, b: Array, width: int = WIDTH) -> BandForm:
        """Reduce A; its lower triangle is overwritten."""
        diagonal, below, reflectors = [], [], []
        with blas_threads(1):  # panels are narrow; the large products below use all cores
            for start in range(0, len(A), width):
                stop = min(start + width, len(A))
                corner = np.tril(A[start:stop, start:stop])
                diagonal.append(corner + np.tril(corner, -1).T)
                if stop < len(A):
                    triangle, reflector = _panel(A[stop:, start:stop])
                    below.append(triangle)
                    reflectors.append(reflector)
                    _transform(A, stop, reflector)
        form = cls(diagonal, below, reflectors, b)
        return cls(diagonal, below, reflectors, form.inward(b))

    @property
    def size(self) -> int:
        """r, the order of A."""
        return len(self.beta)

    def inward(self, V: Array) -> Array:
        """Return ``Q'V``."""
        out = np.array(V)
        for reflector in self.reflectors:
            tail = out[len(out) - len(reflector.V) :]
            tail -= reflector.V @ (reflector.VT.T @ tail)
        return out

    def outward(self, V: Array) -> Array:
        """Return ``Q V``."""
        out = np.array(V)
        for reflector in reversed(self.reflectors):
            tail = out[len(out) - len(reflector.V) :]
            tail -= reflector.VT @ (reflector.V.T @ tail)
        return out

    def product(self, V: Array) -> Array:
        """Return ``B V``."""
        out = np.empty_like(V)
        for number, (start, D) in enumerate(self._blocks()):
            rows = slice(start, start + len(D))
            out[rows] = D @ V[rows]
            if number:
                E = self.below[number - 1]
                before = slice(start - E.shape[1], start)
                head = slice(start, start + len(E))
                out[head] += E @ V[before]
                out[before] += E.T @ V[head]
        return out

    def shifted(self, alphas: Array) -> BandFactors:
        """Return the factors of ``B + alpha`` for every alpha."""
        return BandFactors.of(self.diagonal, self.below, self.beta, alphas)

    def for_rows(self, whitener: Whitener, precision: str) -> ReflectedRows:
        """Return the map of rows of summed functions to these coordinates."""
        factor = None if whitener.factor is None else whitener.factor.astype(precision)
        return ReflectedRows(factor, [one.astype(precision) for one in self.reflectors])

    def solve(self, alpha: Penalty) -> Array:
        """Return ``v(alpha) = Q (B + alpha)^-1 Q'b``, of shape (r, k)."""
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
        """The smallest and the largest eigenvalue, by Lanczos iterations."""
        start = np.random.default_rng(0).standard_normal(self.size)

        def end(apply: LinearOperator) -> float:
            return float(eigsh(apply, 1, which="LA", v0=start, return_eigenvectors=False)[0])

        shape = (self.size, self.size)
        largest = end(LinearOperator(shape, matvec=self.product, dtype=float))
        factor, info = lapack.dpbtrf(self._banded(), lower=1)
        if info != 0:
            raise ValueError("a band form needs a positive definite matrix")

        def inverse(v: Array) -> Array:
            return np.asarray(lapack.dpbtrs(factor, v, lower=1)[0])

        return 1.0 / end(LinearOperator(shape, matvec=inverse, dtype=float)), largest

    def exceeds(self, level: float) -> bool:
        """Return whether all eigenvalues are above ``level``.

        >>> form = BandForm.of(np.diag([3.0, 1.0]), np.zeros((2, 1)))
        >>> form.exceeds(0.9), form.exceeds(1.1)
        (True, False)
        """
        banded = self._banded()
        banded[0] -= level
        return bool(lapack.dpbtrf(banded, lower=1)[1] == 0)

    def _banded(self) -> Array:
        """Return the lower triangle of B as LAPACK stores bands: ``ab[i - j, j] = B[i, j]``."""
        width = len(self.diagonal[0])
        ab = np.zeros((width + 1, self.size))
        for number, (start, D) in enumerate(self._blocks()):
            lower = np.tril(D)
            if number < len(self.below):
                lower = np.vstack([lower, self.below[number]])
            for column in range(len(D)):
                part = lower[column : column + width + 1, column]
                ab[: len(part), start + column] = part
        return ab

    def _blocks(self) -> Iterator[tuple[int, Array]]:
        start = 0
        for D in self.diagonal:
            yield start, D
            start += len(D)


@dataclass(frozen=True)
class ReflectedRows:
    """``g = Q'R'h`` for rows of summed functions, with ``R = L^-T``; sent to shards."""

    factor: Array | None  # L (M, M), or None for the identity
    reflectors: list[Reflector]

    def __call__(self, H: Array) -> Array:
        """Return g for every row of H, which is overwritten."""
        if self.factor is not None:
            solve = blas.strsm if H.dtype == np.float32 else blas.dtrsm
            H = solve(1.0, self.factor, H.T, lower=1, overwrite_b=1).T
        for reflector in self.reflectors:
            tail = H[:, H.shape[1] - len(reflector.V) :]
            tail -= (tail @ reflector.VT) @ reflector.V.T
        return H


def _panel(panel: Array) -> tuple[Array, Reflector]:
    """Return the upper triangle of a QR decomposition, and Q as ``I - V T V'``."""
    packed, tau, _, _ = lapack.dgeqrf(panel)
    count = len(tau)
    V = np.ascontiguousarray(np.tril(packed[:, :count], -1))
    np.fill_diagonal(V, 1.0)
    # T^-1 = diag(1 / tau) + the strict upper triangle of V'V, where tau may be 0.
    inner = tau[:, None] * np.triu(V.T @ V, 1)
    np.fill_diagonal(inner, 1.0)
    T = solve_triangular(inner, np.diag(tau), unit_diagonal=True, check_finite=False)
    return np.triu(packed[:count]), Reflector(V, V @ T)


def _transform(A: Array, first: int, reflector: Reflector) -> None:
    """Replace the trailing matrix S by ``(I - V T'V') S (I - V T V')``, in place.

    With ``W = S V T`` and ``X = W - V (T'V'W) / 2`` this is ``S - V X' - X V'``. Only tiles on and
    below the diagonal are read and written.
    """
    V, VT = reflector.V, reflector.VT
    bounds = [first, *range((first // TILE + 1) * TILE, len(A), TILE), len(A)]
    tiles = [slice(low, high) for low, high in pairwise(bounds)]
    W = np.zeros_like(VT)
    with blas_threads(available_cores()):
        for tile in tiles:
            own = slice(tile.start - first, tile.stop - first)
            W[own] += A[tile, first : tile.stop] @ VT[: own.stop]
            if own.start:
                W[: own.start] += A[tile, first : tile.start].T @ VT[own]
        X = W - 0.5 * V @ (VT.T @ W)
        left, right = np.hstack([V, X]), np.hstack([X, V]).T
        room = np.empty((TILE, len(V)))
        for tile in tiles:
            own = slice(tile.start - first, tile.stop - first)
            change = room[: own.stop - own.start, : own.stop]
            A[tile, first : tile.stop] -= np.matmul(left[own], right[:, : own.stop], out=change)

"""The full kernel in its dual form: one coefficient a row.

.. math:: (K + \\lambda W \\operatorname{diag}(1/w))\\, a = y - \\mu, \\qquad
          \\textstyle\\sum_i a_i = 0 \\text{ determines the intercept } \\mu.

Without an intercept mu is 0. The symmetric form ``B = D^(1/2) K D^(1/2) / W`` with ``D = diag(w)``
(and K centered by the weighted mean where there is an intercept) has the same spectrum as A of the
normal equations, so path, scores and effective dimension are computed as for any other basis.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from mercer.contracts import Array, Solution, Status
from mercer.solvers.spectrum import Spectrum

#: A weight that stands for 0: the row is there, and has no part in the fit.
ABSENT = 1e-300


@dataclass
class DualSystem:
    """K, targets and weights of all rows.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix in float64.
    Y : array of shape (n, k)
        Targets.
    weight : array of shape (n,)
        Positive weights.
    intercept : bool
        Whether a constant is fitted without penalty.
    """

    K: Array
    Y: Array
    weight: Array
    intercept: bool
    #: Whether alpha is a threshold for eigenvalues instead of a penalty.
    cutoff: bool = False

    def __post_init__(self) -> None:
        self.total = float(self.weight.sum())
        self.root = np.sqrt(self.weight)
        share = self.weight / self.total
        self.mean_y = share @ self.Y if self.intercept else np.zeros(self.Y.shape[1])
        self.mean_h = share @ self.K if self.intercept else np.zeros(len(self.K))

    @property
    def target_square(self) -> Array:
        """The weighted mean of y^2, centered with an intercept; shape (k,)."""
        return np.asarray(self.weight @ (self.Y - self.mean_y) ** 2 / self.total)

    @property
    def count(self) -> float:
        """What one row's share of the fit is measured against (see Moments)."""
        return max(self.total, float(np.count_nonzero(self.weight > ABSENT)))

    @cached_property
    def spectrum(self) -> Spectrum:
        """Eigenvalues s and vectors U of B; beta is ``sqrt(s) U' D^(1/2) (y - ybar) / sqrt(W)``."""
        B = np.array(self.K)
        if self.intercept:
            B -= self.mean_h[:, None]
            B -= self.mean_h[None, :]
            B += self.mean_h @ self.weight / self.total
        B *= self.root[:, None] / self.total
        B *= self.root[None, :]
        raw = Spectrum.of(B, self.root[:, None] * (self.Y - self.mean_y) / np.sqrt(self.total))
        beta = np.sqrt(raw.values)[:, None] * raw.beta
        return Spectrum(raw.values, raw.vectors, beta, self.cutoff)

    def coefficients(self, filtered: Array) -> Array:
        """Return a for ``filtered = beta / (s + alpha)``, in eigencoordinates."""
        scale = np.zeros_like(self.spectrum.values)
        np.divide(1.0, np.sqrt(self.spectrum.values), out=scale, where=self.spectrum.values > 0)
        inner = self.spectrum.vectors @ (scale[:, None] * filtered)
        a = self.root[:, None] * inner / np.sqrt(self.total)
        if self.intercept:
            # The constant direction has eigenvalue 0, and rounding mixes it into small ones.
            a -= np.outer(self.weight / self.total, a.sum(axis=0))
        return np.asarray(a)

    def constant(self, coefficients: Array) -> Array:
        """Return the intercept that goes with the coefficients; shape (k,)."""
        return np.asarray(self.mean_y - self.mean_h @ coefficients)

    def solve(self, alpha: float, method: str = "auto") -> tuple[Array, Array, Solution]:
        """Return coefficients, intercept, and how they were found; methods as for Ridge."""
        start = time.perf_counter()
        known = "spectrum" in self.__dict__
        eigen = known or self.cutoff or method == "eigen"
        found = None if eigen else self._cholesky(alpha)
        status, reason = Status.SOLVED, "one Cholesky factorization of the kernel matrix"
        if found is None:
            spectrum = self.spectrum
            a = self.coefficients(spectrum.filter(alpha)[:, None] * spectrum.beta)
            found = a, self.constant(a)
            reason = "eigendecomposition of the kernel matrix"
            needless = int(self.intercept)  # the constant direction is always 0 when centered
            if self.cutoff:
                kept = int(np.count_nonzero(spectrum.filter(alpha)))
                reason = f"{kept} of {len(self.Y)} principal components"
            elif spectrum.dropped > needless:
                status = Status.RANK_REDUCED
                reason = (
                    f"{spectrum.dropped - needless} of {len(self.Y)} directions are below the "
                    f"rounding of the kernel matrix and were left out"
                )
        a, constant = found
        residual = self.Y - constant - self.K @ a
        if not self.cutoff:
            residual -= alpha * self.total * a / self.weight[:, None]
        scale = float(np.linalg.norm(self.Y - self.mean_y))
        relative = float(np.linalg.norm(residual)) / scale if scale > 0 else 0.0
        seconds = time.perf_counter() - start
        return a, constant, Solution(a, status, reason, 0, np.array([relative]), seconds)

    def _cholesky(self, alpha: float) -> tuple[Array, Array] | None:
        """Solve with the bordered system for the intercept, or None if not positive definite."""
        ridge = alpha * self.total / self.weight
        # Rounding of the factorization grows with n and the largest eigenvalue (at most the trace).
        noise = 4 * np.finfo(float).eps * len(self.K) * np.trace(self.K)
        if not ridge.min() > noise:
            return None
        # The factor takes the place of one triangle and the diagonal of K, and the other triangle
        # brings them back: for ten thousand rows a copy would cost as much as a sixth of the solve.
        self.K = np.ascontiguousarray(self.K)
        diagonal = self.K.diagonal().copy()
        np.fill_diagonal(self.K, diagonal + ridge)
        factor, info = lapack.dpotrf(self.K.T, lower=1, overwrite_a=1, clean=0)
        if info == 0:
            right = np.hstack([self.Y, np.ones((len(self.Y), 1))])
            solved, info = lapack.dpotrs(factor, right, lower=1)
        _mirror_lower(self.K)
        np.fill_diagonal(self.K, diagonal)
        if info != 0:
            return None
        a, ones = solved[:, :-1], solved[:, -1:]
        if not self.intercept:
            return a, np.zeros(a.shape[1])
        constant = a.sum(axis=0) / ones.sum()
        return a - ones * constant, constant


def _mirror_lower(matrix: Array, tile: int = 512) -> None:
    """Copy the lower triangle of a square matrix onto the upper one, tile by tile."""
    for row in range(0, len(matrix), tile):
        rows = slice(row, row + tile)
        for column in range(0, row, tile):
            columns = slice(column, column + tile)
            matrix[columns, rows] = matrix[rows, columns].T
        corner = matrix[rows, rows]
        corner[...] = np.tril(corner) + np.tril(corner, -1).T

"""The full kernel in its dual form: one coefficient per row.

.. math:: (K + \\lambda W \\operatorname{diag}(1/w))\\, a = y - \\mu, \\qquad
          \\textstyle\\sum_i a_i = 0 \\text{ determines the intercept } \\mu.

Without an intercept mu is 0. The symmetric form ``B = D^(1/2) K D^(1/2) / W`` with ``D = diag(w)``
(and K centered by the weighted mean if there is an intercept) has the same spectrum as A in the
normal equations, so path, scores and effective dimension are computed as for any other basis.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer.contracts import Array, ErrorOf, Penalty
from mercer.sampling import fold_labels
from mercer.symmetric import mirror_lower
from mercer.systems.direct import DirectSystem
from mercer.systems.iterated import KernelSystem
from mercer.systems.spectrum import Decomposition, Spectrum

#: A weight that represents 0: the row has no influence on the fit.
ABSENT = 1e-300


class KernelMatrixSystem(DirectSystem):
    """``(K + lambda W diag(1/w)) a = y - mu``, where a are the coefficients of ``K(x_i, .)``.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix in float64.
    Y : array of shape (n, k)
        Targets.
    weight : array of shape (n,)
        Positive weights.
    intercept : bool
        Whether to fit an unpenalized intercept.
    units : array of shape (k,) or (k, k), or None
        Squared scale of each target column; None means ones. A diagonal matrix keeps the errors of
        the columns apart.
    cutoff : bool
        Whether alpha is an eigenvalue threshold instead of a penalty.
    """

    offers = frozenset({"matrix", "steps"})
    made_of, factored = "kernel matrix", "one Cholesky factorization of the kernel matrix"

    def __init__(
        self,
        K: Array,
        Y: Array,
        weight: Array,
        intercept: bool,
        units: Array | None = None,
        cutoff: bool = False,
    ) -> None:
        self.K, self.Y, self.rows_weight, self.intercept = K, Y, weight, intercept
        self.units = np.ones(Y.shape[1]) if units is None else units
        self.cutoff = cutoff
        self.weight = float(weight.sum())
        self.root = np.sqrt(weight)
        share = weight / self.weight
        self.mean_y = share @ Y if intercept else np.zeros(Y.shape[1])
        self.mean_h = share @ K if intercept else np.zeros(len(K))
        # Centering makes the eigenvalue of the constant direction 0.
        self.empty_directions = int(intercept)

    @property
    def target_square(self) -> Array:
        """The weighted mean of y^2, centered with an intercept; shape (k,)."""
        return np.asarray(self.rows_weight @ (self.Y - self.mean_y) ** 2 / self.weight)

    @property
    def count(self) -> float:
        """The effective number of rows (see Moments)."""
        return max(self.weight, float(np.count_nonzero(self.rows_weight > ABSENT)))

    @cached_property
    def spectrum(self) -> Spectrum:
        """Eigenvalues s and vectors U of B; beta is ``sqrt(s) U' D^(1/2) (y - ybar) / sqrt(W)``."""
        B = np.array(self.K)
        if self.intercept:
            B -= self.mean_h[:, None]
            B -= self.mean_h[None, :]
            B += self.mean_h @ self.rows_weight / self.weight
        B *= self.root[:, None] / self.weight
        B *= self.root[None, :]
        raw = Spectrum.of(B, self.root[:, None] * (self.Y - self.mean_y) / np.sqrt(self.weight))
        beta = np.sqrt(raw.values)[:, None] * raw.beta
        return Spectrum(raw.values, raw.vectors, beta, self.cutoff)

    @cached_property
    def decomposition(self) -> Decomposition:
        """The eigendecomposition: its vectors give the leverages of all rows."""
        return self.spectrum

    def by_decomposition(self, alpha: Penalty) -> Array:
        """Return the coefficients for one alpha, or for one of each output."""
        return self.by_spectrum(alpha)

    def by_spectrum(self, alpha: Penalty) -> Array:
        """Return a from ``beta / (s + alpha)``, in eigencoordinates."""
        spectrum = self.spectrum
        filtered = spectrum.filtered(alpha)
        scale = np.zeros_like(spectrum.values)
        np.divide(1.0, np.sqrt(spectrum.values), out=scale, where=spectrum.values > 0)
        a = self.root[:, None] * (spectrum.vectors @ (scale[:, None] * filtered))
        a /= np.sqrt(self.weight)
        if self.intercept:
            # The constant direction has eigenvalue 0; rounding mixes it with small ones.
            a -= np.outer(self.rows_weight / self.weight, a.sum(axis=0))
        return np.asarray(a)

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return the coefficients (n, k) and the intercept (k,)."""
        return value, np.asarray(self.mean_y - self.mean_h @ value)

    def residual(self, value: Array, alpha: Penalty) -> float:
        """Return ``||(K + lambda W diag(1/w)) a - (y - mu)|| / ||y - ybar||``."""
        _, constant = self.coefficients(value)
        left = self.Y - constant - self.K @ value
        if not self.cutoff:
            left -= alpha * self.weight * value / self.rows_weight[:, None]
        scale = float(np.linalg.norm(self.Y - self.mean_y))
        return float(np.linalg.norm(left)) / scale if scale > 0 else 0.0

    def cholesky(self, alpha: float) -> Array | None:
        """Solve by Cholesky, bordered for the intercept; None if not safely positive definite."""
        ridge = alpha * self.weight / self.rows_weight
        # The rounding of the factorization grows with n and the largest eigenvalue, at most the
        # trace.
        noise = 4 * np.finfo(float).eps * len(self.K) * np.trace(self.K)
        if not ridge.min() > noise:
            return None
        # The factor overwrites one triangle and the diagonal of K, which are then restored from the
        # other triangle: for ten thousand rows a copy would cost a sixth of the solve.
        self.K = np.ascontiguousarray(self.K)
        diagonal = self.K.diagonal().copy()
        np.fill_diagonal(self.K, diagonal + ridge)
        factor, info = lapack.dpotrf(self.K.T, lower=1, overwrite_a=1, clean=0)
        if info == 0:
            right = np.hstack([self.Y, np.ones((len(self.Y), 1))])
            solved, info = lapack.dpotrs(factor, right, lower=1)
        mirror_lower(self.K)
        np.fill_diagonal(self.K, diagonal)
        if info != 0:
            return None
        a, ones = solved[:, :-1], solved[:, -1:]
        return np.asarray(a - ones * (a.sum(axis=0) / ones.sum()) if self.intercept else a)

    def kept(self) -> dict[str, Any]:
        """Return what a fit stores to add rows or to resume."""
        return {"dual_rows": (self.Y, self.rows_weight)}

    def of_rows(self, rows: Array) -> KernelMatrixSystem:
        """Return the system of some rows, with their functions."""
        block, weight = self.K[np.ix_(rows, rows)], self.rows_weight[rows]
        return KernelMatrixSystem(block, self.Y[rows], weight, self.intercept, cutoff=self.cutoff)

    # -- iterations

    @property
    def present(self) -> Array:
        """Weights, with 0 for rows that are excluded from the fit."""
        return np.where(self.rows_weight > ABSENT, self.rows_weight, 0.0)

    def dealt(self, folds: int, share: float | None, rng: np.random.Generator) -> Array:
        """Return the fold of every row; -1 for rows excluded from the fit."""
        present = np.flatnonzero(self.rows_weight > ABSENT)
        labels = np.full(len(self.Y), -1)
        labels[present] = fold_labels(len(present), folds, rng, share)
        return labels

    def with_weight(self, weight: Array, alpha: float) -> KernelSystem:
        """Return the system of the rows with a weight above 0."""
        return KernelSystem(self.K, self.Y, weight, self.intercept, alpha)

    def at(self, alpha: float) -> KernelSystem:
        """Return the system of all rows for one alpha."""
        return self.with_weight(self.present, alpha)

    def training_error(self) -> ErrorOf:
        """Return a function that computes the error of a solution on all rows."""
        return self._error(self.present, self.at(0.0))

    def held_out(
        self, rule: Any, alpha: float, rng: np.random.Generator, labels: Array | None
    ) -> tuple[list[tuple[KernelSystem, ErrorOf]], Array]:
        """Return, for each fold, the system without it and its held-out error; and the folds."""
        weight, found = self.present, []
        if labels is None:
            labels = self.dealt(rule.folds, rule.held_out, rng)
        for fold in range(rule.folds) if rule.held_out is None else [1]:
            out, rest = np.where(labels == fold, weight, 0), np.where(labels == fold, 0, weight)
            if out.any() and rest.any():
                part = self.with_weight(rest, alpha)
                found.append((part, self._error(out, part)))
        return found, labels

    def _error(self, weight: Array, fitted: KernelSystem) -> ErrorOf:
        def error(value: Array) -> float:
            f = fitted.metric(value)
            left = self.Y - f - fitted.constant(f)
            return float(weight @ left**2 @ self.units / weight.sum())

        return error

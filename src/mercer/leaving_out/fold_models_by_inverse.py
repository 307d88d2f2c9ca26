"""The models of the full kernel without each fold, from blocks of one inverse.

.. math:: P = G^{-1} - \\frac{G^{-1} 1 1' G^{-1}}{1' G^{-1} 1}, \\qquad
          e_F = P_{FF}^{-1} a_F, \\qquad a_{-F} = a - P_{\\cdot F}\\, e_F

with ``G = K + lambda W diag(1/w)``, and without the second term of P if there is no intercept: e
are the errors of the rows of fold F in the model without them, and a the coefficients for all rows.
For folds of one row this is ``e_i = a_i / P_ii``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from mercer.contracts import Array
from mercer.leaving_out.fold_models import FoldModels, Model, same_steps
from mercer.leaving_out.rests_of_moments import solve_separately
from mercer.solvers import BaseSolver
from mercer.symmetric import mirror_lower
from mercer.systems import ABSENT, KernelMatrixSystem, KernelProductSystem

#: Steps of conjugate gradients at most, for the full kernel by products.
STEPS = 60


_ALL = slice(None)


@dataclass(frozen=True)
class DualInverse:
    """P, and what the intercept needs."""

    P: Array  # (n, n)
    ones: Array | None  # G^-1 1, with an intercept
    Y: Array  # (n, k)

    @classmethod
    def of(
        cls, system: KernelMatrixSystem, alpha: float, outputs: Array | slice = _ALL
    ) -> DualInverse | None:
        """Invert the matrix of a system; None if it is not safely positive definite.

        ``outputs`` are those with this alpha.
        """
        G = np.array(system.K, order="F")
        G[np.diag_indices_from(G)] += alpha * system.weight / system.rows_weight
        factor, info = lapack.dpotrf(G, lower=1, overwrite_a=1)
        if info == 0:
            lower, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
        if info != 0:
            return None
        mirror_lower(lower)
        P = lower.T
        ones = None
        if system.intercept:
            ones = P.sum(axis=1)
            if not ones.sum() > 0:  # rows that are equal to rounding
                return None
            P -= np.outer(ones, ones / ones.sum())
        return cls(P, ones, system.Y[:, outputs])

    @cached_property
    def a(self) -> Array:
        """``P y``, the coefficients for all rows, (n, k).

        Those of a fit by eigenvectors lack what directions below rounding add to them. It is
        nothing in f, but not in the errors of left-out rows.
        """
        return np.asarray(self.P @ self.Y)

    def without(self, rows: Array) -> tuple[Array, Array]:
        """Return coefficients (n, k) and intercept (k,) of the model without some rows."""
        a = self.a
        block = self.P[np.ix_(rows, rows)]
        errors = cho_solve(cho_factor(block, lower=True), a[rows])
        found = a - self.P[:, rows] @ errors
        found[rows] = 0.0
        if self.ones is None:
            return found, np.zeros(a.shape[1])
        # The model without the rows is that of their predictions instead of their targets.
        total = self.ones @ self.Y - self.ones[rows] @ errors
        return found, total / self.ones.sum()


def without_folds_dual(
    system: KernelMatrixSystem,
    model: Model,
    solver: BaseSolver,
    labels: Array,
    numbers: Sequence[int],
) -> FoldModels | None:
    """Return the models without each fold, given the fold of each row."""
    present = system.rows_weight > ABSENT
    folds = [np.flatnonzero((labels == number) & present) for number in numbers]
    kept = [k for k, rows in enumerate(folds) if 0 < len(rows) < np.count_nonzero(present)]
    if not kept:
        return None
    if not solver.regularized_by_steps and not solver.cuts_off:
        shape = len(kept), *model.coefficients.shape
        coefficients, intercept = np.empty(shape), np.empty((len(kept), shape[2]))
        for alpha in np.unique(model.alpha):
            own = np.flatnonzero(np.broadcast_to(model.alpha, shape[2]) == alpha)
            inverse = DualInverse.of(system, float(alpha), own)
            if inverse is None:
                return None
            for place, k in enumerate(kept):
                coefficients[place][:, own], intercept[place, own] = inverse.without(folds[k])
        models = list(zip(coefficients, intercept, strict=True))
    else:
        models = [_again(system, solver, model, folds[k]) for k in kept]
    return FoldModels.stacked([numbers[k] for k in kept], models)


def _again(
    system: KernelMatrixSystem, solver: BaseSolver, model: Model, rows: Array
) -> tuple[Array, Array]:
    """Solve without some rows as all rows were solved: by steps, or with a cut-off."""
    if solver.cuts_off:
        rest = np.setdiff1d(np.arange(len(system.Y)), rows)
        part = system.of_rows(rest)
        a, constant = part.coefficients(part.by_spectrum(model.alpha))
        found = np.zeros_like(model.coefficients)
        found[rest] = a
        return found, constant
    weight = system.present
    weight[rows] = 0.0
    assert isinstance(model.alpha, float)
    iterated = system.with_weight(weight, model.alpha)
    value = same_steps(solver, iterated, model)
    return value, iterated.constant(iterated.metric(value))


def without_folds_by_kernel_products(
    system: KernelProductSystem, model: Model, labels: Array, numbers: Sequence[int]
) -> FoldModels:
    """Return the models without each fold, by products with the kernel that leave out its rows."""
    columns = system.b.shape[1]
    mask = np.hstack([np.repeat((labels != k)[:, None], columns, axis=1) for k in numbers])

    def product(V: Array) -> Array:
        return np.asarray(mask * system.product(V, exact=False))

    def precondition(R: Array) -> Array:
        return np.asarray(mask * system.precondition(R))

    right = mask * np.tile(system.b, len(numbers))
    start = mask * np.tile(model.solution.value, len(numbers))
    value, _ = solve_separately(product, precondition, right, start, STEPS)
    parts = [value[:, k * columns : (k + 1) * columns] for k in range(len(numbers))]
    return FoldModels.stacked(numbers, [system.coefficients(part) for part in parts])

"""K-fold cross-validation: errors on folds by models without them, for every alpha.

From moments, those of the rest are ``total - fold_k``, and the held-out error is a function
of ``fold_k`` only, so all folds and all alphas come from the one pass that built the moments. For a
large basis all alphas are solved together, from the solutions for all rows
(:mod:`mercer.leaving_out.rests_of_moments`). If that does not converge, or if there are many
outputs, each fold is decomposed by itself, as the rest of a kernel matrix is.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array
from mercer.engines import Lanes, available_cores, blas_threads
from mercer.leaving_out.rests_of_moments import Whole, solve_rests, without_matrix
from mercer.moments import Moments
from mercer.systems import DirectSystem, KernelMatrixSystem, MomentSystem

#: Up to this rank a fold is decomposed by itself, which is cheap.
DIRECT = 400
#: With more solutions than this share of the functions, too.
WIDE = 0.15


def fold_errors(
    system: MomentSystem | KernelMatrixSystem,
    n_splits: int,
    alphas: Array,
    rng: np.random.Generator,
) -> Array:
    """Return the mean squared error on each fold for every alpha, of shape (folds, alphas).

    With a matrix of units it has a last axis for its columns, the outputs. Folds without labels on
    both sides have NaN. Moments have their folds already.
    """
    if isinstance(system, KernelMatrixSystem):
        return _of_kernel_matrix(system, n_splits, alphas, rng)
    found = _by_change(system, alphas)
    errors = np.full((len(system.folds), len(alphas), *system.units.shape[1:]), np.nan)
    for row, fold in enumerate(system.folds):
        if _labelled(system, fold):
            by_column = found[row] if row in found else _one_by_one(system, fold, alphas)
            by_alpha = (by_column / fold.target_weight).reshape(len(alphas), -1)
            errors[row] = by_alpha @ system.units
    return errors


def _labelled(system: MomentSystem, fold: Moments) -> bool:
    """Whether there are labels on both sides."""
    return 0 < fold.target_rows < system.total.target_rows


def _by_change(system: MomentSystem, alphas: Array) -> dict[int, Array]:
    """Return the squared errors of the folds that are solved from the solutions for all rows."""
    columns = np.repeat(alphas, len(system.units))
    if system.cutoff or not DIRECT < system.whitener.size > len(columns) / WIDE:
        return {}
    whole = Whole.decomposed(system, alphas)
    folds = [row for row, fold in enumerate(system.folds) if _labelled(system, fold)]

    def solve(found: dict[int, Array], row: int) -> None:
        fold = system.folds[row]
        coefficients, intercepts, converged = solve_rests(
            system, [without_matrix(fold)], lambda C: fold.gram @ C, columns, whole
        )
        if converged:
            found[row] = fold.squared_error(coefficients, intercepts)

    lanes: Lanes[dict[int, Array]] = Lanes(dict, min(len(folds), available_cores()) or 1)
    with blas_threads(1):  # most matrices here are narrow: folds share the cores instead
        found = lanes.run(folds, solve)
    return {row: by_column for lane in found for row, by_column in lane.items()}


def _one_by_one(system: MomentSystem, fold: Moments, alphas: Array) -> Array:
    """Return squared errors on the fold by a decomposition of its own: alphas, then outputs."""
    equations = system.normal_equations(system.total - fold)
    part = DirectSystem(equations.A, equations.b, system.cutoff)
    coefficients = system.whitener.coefficients(part.solutions(alphas))
    intercepts = np.tile(equations.mean_y, len(alphas)) - equations.mean_h @ coefficients
    return fold.squared_error(coefficients, intercepts)


def _of_kernel_matrix(
    system: KernelMatrixSystem, n_splits: int, alphas: Array, rng: np.random.Generator
) -> Array:
    labels = system.dealt(n_splits, None, rng)
    errors = np.full((n_splits, len(alphas), *system.units.shape[1:]), np.nan)
    for fold in range(n_splits):
        out, rest = np.flatnonzero(labels == fold), np.flatnonzero(labels != fold)
        if len(out) == 0 or len(out) == np.count_nonzero(labels >= 0):
            continue
        part = system.of_rows(rest)
        weight = system.rows_weight[out] / system.rows_weight[out].sum()
        for column, alpha in enumerate(alphas):
            a, constant = part.coefficients(part.by_spectrum(alpha))
            fitted = system.K[np.ix_(out, rest)] @ a + constant
            errors[fold, column] = weight @ (system.Y[out] - fitted) ** 2 @ system.units
    return errors

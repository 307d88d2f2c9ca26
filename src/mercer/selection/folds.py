"""K-fold cross-validation from moments: the fold's own are subtracted from the total.

The training moments of fold k are ``total - fold_k``, and its held-out error is a function of
``fold_k`` alone, so all folds and all alphas come from the one pass that built the moments. For a
large basis the systems ``(A_k + alpha) v = b_k`` are solved together by conjugate gradients, with
the eigendecomposition of the total as preconditioner: leaving a fold out changes A little, and a
few steps give all alphas. Where they do not, the fold is solved on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.contracts import Array
from mercer.moments import Moments
from mercer.solvers import DualSystem, Spectrum
from mercer.solvers.dual import ABSENT

if TYPE_CHECKING:
    from mercer.selection.problems import PrimalProblem

#: Up to this rank a fold is solved on its own: its eigendecomposition costs next to nothing.
DIRECT = 400
STEPS = 25
#: Relative error of a fold's solution, in the norm of its system: scores are good to this.
TOLERANCE = 1e-4


def fold_labels(rows: int, n_splits: int, rng: np.random.Generator) -> Array:
    """Return a random fold for each of ``rows`` rows, as even as can be.

    >>> sorted(fold_labels(5, 2, np.random.default_rng(0)).tolist())
    [0, 0, 0, 1, 1]
    """
    return rng.permutation(np.arange(rows) % n_splits)


def fold_errors(problem: PrimalProblem, alphas: Array) -> Array:
    """Return the mean squared error on each fold for every alpha: shape (folds, alphas)."""
    errors = np.empty((len(problem.folds), len(alphas)))
    for row, fold in enumerate(problem.folds):
        train = problem.total - fold
        if fold.rows == 0 or train.rows == 0:
            errors[row] = np.nan
            continue
        coefficients = None
        if problem.whitener.size > DIRECT:
            coefficients = _together(problem, train, alphas)
        if coefficients is None:
            coefficients = _alone(problem, train, alphas)
        mean_h, mean_y = train.means(problem.intercept)
        intercepts = np.tile(mean_y, len(alphas)) - mean_h @ coefficients
        by_column = fold.squared_error(coefficients, intercepts) / fold.target_weight
        errors[row] = by_column.reshape(len(alphas), -1) @ problem.units
    return errors


def _alone(problem: PrimalProblem, train: Moments, alphas: Array) -> Array:
    """Solve one fold by its own eigendecomposition; columns run over alphas, then outputs."""
    equations = train.normal_equations(problem.whitener, problem.intercept)
    spectrum = Spectrum.of(equations.A, equations.b)
    values = np.hstack([spectrum.solve(alpha) for alpha in alphas])
    return problem.whitener.coefficients(values)


def _together(problem: PrimalProblem, train: Moments, alphas: Array) -> Array | None:
    """Solve one fold for all alphas by preconditioned conjugate gradients, or return None."""
    spectrum = problem.spectrum
    kept = spectrum.values > 0
    T = problem.directions[:, kept]
    outputs = train.cross.shape[1]
    mean_h, mean_y = train.means(problem.intercept)
    m = T.T @ mean_h
    b = T.T @ train.cross / train.target_weight - np.outer(m, mean_y)
    shift = np.repeat(alphas, outputs)
    inverse = 1.0 / (spectrum.values[kept][:, None] + shift)

    def product(V: Array, columns: Array) -> Array:
        inner = T.T @ (train.gram @ (T @ V)) / train.weight - np.outer(m, m @ V)
        return np.asarray(inner + shift[columns] * V)

    right = np.tile(b, len(alphas))
    solution = inverse * right
    active = np.arange(right.shape[1])
    residual = right - product(solution, active)
    scaled = inverse * residual
    direction = scaled.copy()
    energy = np.einsum("ij,ij->j", residual, scaled)
    target = TOLERANCE**2 * np.einsum("ij,ij->j", right, inverse * right)
    for _ in range(STEPS):
        going = energy > target[active]
        if not going.any():
            return np.asarray(T @ solution)
        active, energy = active[going], energy[going]
        residual, direction = residual[:, going], direction[:, going]
        image = product(direction, active)
        curvature = np.einsum("ij,ij->j", direction, image)
        if not np.all(curvature > 0):
            return None
        step = energy / curvature
        solution[:, active] += step * direction
        residual = residual - step * image
        scaled = inverse[:, active] * residual
        previous, energy = energy, np.einsum("ij,ij->j", residual, scaled)
        direction = scaled + (energy / previous) * direction
    return None


def dual_fold_errors(
    system: DualSystem, n_splits: int, alphas: Array, units: Array, rng: np.random.Generator
) -> Array:
    """Return the mean squared error on each fold for every alpha, by solving each fold's rows."""
    present = np.flatnonzero(system.weight > ABSENT)
    labels = np.full(len(system.Y), -1)
    labels[present] = fold_labels(len(present), n_splits, rng)
    errors = np.full((n_splits, len(alphas)), np.nan)
    for fold in range(n_splits):
        out, rest = np.flatnonzero(labels == fold), np.flatnonzero(labels != fold)
        if len(out) == 0 or len(out) == len(present):
            continue
        part = DualSystem(
            system.K[np.ix_(rest, rest)], system.Y[rest], system.weight[rest], system.intercept
        )
        weight = system.weight[out] / system.weight[out].sum()
        for column, alpha in enumerate(alphas):
            spectrum = part.spectrum
            a = part.coefficients(spectrum.filter(alpha)[:, None] * spectrum.beta)
            fitted = system.K[np.ix_(out, rest)] @ a + part.constant(a)
            errors[fold, column] = weight @ (system.Y[out] - fitted) ** 2 @ units
    return errors

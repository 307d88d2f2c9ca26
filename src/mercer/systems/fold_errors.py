"""K-fold cross-validation from moments: ``A_{-k}, b_{-k}`` from ``total - fold_k``.

The training moments of fold k are ``total - fold_k``, and its held-out error is a function of
``fold_k`` only, so all folds and all alphas come from the one pass that built the moments. For a
large basis the systems ``(A_k + alpha) v = b_k`` are solved together in one growing subspace, with
the eigendecomposition of the total as preconditioner: leaving out a fold changes A only a little,
and a few steps give all alphas. If they do not, the fold is solved separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array
from mercer.engines import available_cores, blas_threads
from mercer.moments import Moments
from mercer.systems.decomposition import Shifted
from mercer.systems.direct import DirectSystem

if TYPE_CHECKING:
    from mercer.systems.by_moments import MomentSystem

#: Up to this rank a fold is solved separately: its eigendecomposition is cheap.
DIRECT = 400
STEPS = 25
#: Relative error of a solution in the norm of its system: gives scores accurate to four digits.
TOLERANCE = 1e-3
#: Directions this close to the span of the others are left to the next step.
SHARED = 0.1


def fold_errors(system: MomentSystem, alphas: Array) -> Array:
    """Return the mean squared error on each fold for every alpha, of shape (folds, alphas)."""
    errors = np.empty((len(system.folds), len(alphas)))
    shifted = system.decomposition.shifted(alphas)
    for row, fold in enumerate(system.folds):
        train = system.total - fold
        if not (fold.target_rows > 0 and train.target_rows > 0):  # labels on both sides
            errors[row] = np.nan
            continue
        by_column = None
        if system.whitener.size > DIRECT and not system.cutoff:
            with blas_threads(1):  # most matrices here are narrow
                by_column = _together(system, shifted, fold, train, alphas)
        if by_column is None:
            by_column = _one_by_one(system, fold, train, alphas)
        errors[row] = (by_column / fold.target_weight).reshape(len(alphas), -1) @ system.units
    return errors


def _one_by_one(system: MomentSystem, fold: Moments, train: Moments, alphas: Array) -> Array:
    """Return squared errors on the fold by a separate eigendecomposition: alphas, then outputs."""
    equations = system.normal_equations(train)
    part = DirectSystem(equations.A, equations.b, system.cutoff)
    coefficients = system.whitener.coefficients(part.solutions(alphas))
    intercepts = np.tile(equations.mean_y, len(alphas)) - equations.mean_h @ coefficients
    return fold.squared_error(coefficients, intercepts)


def _together(
    system: MomentSystem, shifted: Shifted, fold: Moments, train: Moments, alphas: Array
) -> Array | None:
    """Solve for all alphas in one growing subspace; return squared errors on the fold, or None.

    The subspace starts with the solutions for the spectrum of the total and grows by preconditioned
    residuals; those of neighboring alphas are nearly dependent, so a few directions are enough for
    all. In the subspace every alpha is solved exactly (Galerkin), by one small eigendecomposition.
    ``v'S_k v`` of the fold is that of the total, where S is diagonal, minus that of the other
    folds, known from the solve.
    """
    inward, outward = system.coordinates_of, system.functions_of
    outputs = train.cross.shape[1]
    mean_h, mean_y = train.means(system.intercept)
    m = inward(mean_h)
    b = inward(train.cross) / train.target_weight - np.outer(m, mean_y)
    right = np.tile(b, len(alphas))
    shift = np.repeat(alphas, outputs)
    scaled = shifted.apply(right)
    target = TOLERANCE**2 * np.einsum("ij,ij->j", right, scaled)
    span = image = np.zeros((len(b), 0))
    for _ in range(STEPS):
        fresh = _new_directions(scaled, span)
        if not fresh.shape[1]:
            return None
        with blas_threads(available_cores()):
            product = inward(train.gram @ outward(fresh))
        product = product / train.weight - np.outer(m, m @ fresh)
        span, image = np.hstack([span, fresh]), np.hstack([image, product])
        inner_matrix = span.T @ image
        values, vectors = np.linalg.eigh(inner_matrix)
        if not values[0] > -alphas[0]:
            return None
        inner = vectors @ ((vectors.T @ (span.T @ right)) / (values[:, None] + shift))
        V = span @ inner
        residual = right - image @ inner - shift * V
        scaled = shifted.apply(residual)
        active = np.einsum("ij,ij->j", residual, scaled) > target
        if not active.any():
            break
        scaled = scaled[:, active]
    else:
        return None
    at_mean = m @ V
    rest = np.einsum("ij,ij->j", inner, inner_matrix @ inner) + at_mean**2
    whole = np.einsum("ij,ij->j", V, system.decomposition.product(V))
    total = whole + (inward(system.mean_h) @ V) ** 2
    return fold.error_of(
        fit_square=system.total.weight * total - train.weight * rest,
        fit_cross=np.einsum("ij,ij->j", V, np.tile(inward(fold.cross), len(alphas))),
        fit_sum=inward(fold.sum_h) @ V,
        intercept=np.tile(mean_y, len(alphas)) - at_mean,
    )


def _new_directions(Z: Array, span: Array) -> Array:
    """Return orthonormal columns for the part of Z outside the span, up to ``SHARED`` of it."""
    Z = Z / np.maximum(np.linalg.norm(Z, axis=0), np.finfo(float).tiny)
    for share in (SHARED, 1e-6):  # the second pass restores orthogonality to the last digits
        Z = Z - span @ (span.T @ Z)
        gram = Z.T @ Z
        tolerance = share**2 * gram.diagonal().max(initial=0.0)
        factor, order, rank, _ = lapack.dpstrf(gram, tol=tolerance, lower=1)
        Z = solve_triangular(
            factor[:rank, :rank], Z[:, order[:rank] - 1].T, lower=True, check_finite=False
        ).T
    return np.asarray(Z)

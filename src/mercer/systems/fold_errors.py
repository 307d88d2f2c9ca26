"""K-fold cross-validation from moments: ``A_{-k}, b_{-k}`` from ``total - fold_k``.

The training moments of fold k are ``total - fold_k``, and its held-out error is a function of
``fold_k`` only, so all folds and all alphas come from the one pass that built the moments. For a
large basis the systems ``(A_k + alpha) v = b_k`` are solved together in one growing subspace, with
the decomposition of the total as preconditioner: leaving out a fold changes A only a little, and a
few steps give all alphas. If they do not, or if there are many outputs, each fold is reduced to a
band by itself (:mod:`mercer.systems.reduced_folds`), or solved by eigenvectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array
from mercer.engines import Lanes, available_cores, blas_threads
from mercer.moments import Moments
from mercer.systems.decomposition import Shifted
from mercer.systems.direct import DirectSystem
from mercer.systems.reduced_folds import reduced_fold_errors

if TYPE_CHECKING:
    from mercer.systems.by_moments import MomentSystem

#: Up to this rank a fold is solved separately: its eigendecomposition is cheap.
DIRECT = 400
#: With more solutions than this share of the functions, a fold is solved separately, too.
WIDE = 0.15
STEPS = 25
#: Relative error of a solution in the norm of its system: gives scores accurate to four digits.
TOLERANCE = 1e-3
#: Directions this close to the span of the others are left to the next step.
SHARED = 0.1


def fold_errors(system: MomentSystem, alphas: Array) -> Array:
    """Return the mean squared error on each fold for every alpha, of shape (folds, alphas).

    With a matrix of units it has a last axis for its columns, the outputs.
    """
    found = _all_together(system, alphas)
    if system.may_have_band_form:
        left = [
            row
            for row, fold in enumerate(system.folds)
            if row not in found and _labelled(system, fold)
        ]
        found |= reduced_fold_errors(system, left, alphas)
    errors = np.empty((len(system.folds), len(alphas), *system.units.shape[1:]))
    for row, fold in enumerate(system.folds):
        if not _labelled(system, fold):
            errors[row] = np.nan
            continue
        by_column = found.get(row)
        if by_column is None:
            by_column = _one_by_one(system, fold, alphas)
        errors[row] = (by_column / fold.target_weight).reshape(len(alphas), -1) @ system.units
    return errors


def _labelled(system: MomentSystem, fold: Moments) -> bool:
    """Whether there are labels on both sides."""
    return 0 < fold.target_rows < system.total.target_rows


def _all_together(system: MomentSystem, alphas: Array) -> dict[int, Array]:
    """Return the squared errors of the folds for which one subspace serves all alphas."""
    columns = len(alphas) * len(system.units)
    if system.cutoff or not DIRECT < system.whitener.size > columns / WIDE:
        return {}
    shifted = system.decomposition.shifted(alphas)
    whole = _sums(system, system.total)
    folds = [row for row, fold in enumerate(system.folds) if _labelled(system, fold)]

    def solve(found: dict[int, Array], row: int) -> None:
        by_column = _together(system, shifted, whole, system.folds[row], alphas)
        if by_column is not None:
            found[row] = by_column

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


def _sums(system: MomentSystem, moments: Moments) -> Array:
    """Return the sums of h, of h of labelled rows, and of h y', in the total's coordinates."""
    sums = [moments.sum_h[:, None], moments.target_sum_h[:, None], moments.cross]
    return system.coordinates_of(np.hstack(sums))


def _together(
    system: MomentSystem, shifted: Shifted, whole: Array, fold: Moments, alphas: Array
) -> Array | None:
    """Solve for all alphas in one growing subspace; return squared errors on the fold, or None.

    The subspace starts with the solutions for the matrix of the total and grows by preconditioned
    residuals; those of neighboring alphas are nearly dependent, so a few directions are enough for
    all. In the subspace every alpha is solved exactly (Galerkin), by one small eigendecomposition.
    ``v'S_k v`` of the fold is that of the total, where S is diagonal or a band, minus that of the
    other folds, known from the solve.
    """
    train, own = system.total - fold, _sums(system, fold)
    others = whole - own
    outputs = train.cross.shape[1]
    _, mean_y = train.means(system.intercept)
    m = system.intercept / train.weight * others[:, 0]
    b = (others[:, 2:] - np.outer(others[:, 1], mean_y)) / train.target_weight
    right = np.tile(b, len(alphas))
    shift = np.repeat(alphas, outputs)
    scaled = shifted.apply(right)
    target = TOLERANCE**2 * np.einsum("ij,ij->j", right, scaled)
    span = image = np.zeros((len(b), 0))
    for _ in range(STEPS):
        fresh = _new_directions(scaled, span)
        if not fresh.shape[1]:
            return None
        product = system.coordinates_of(train.gram @ system.functions_of(fresh))
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
    total_mean = system.intercept / system.total.weight * whole[:, 0]
    total = np.einsum("ij,ij->j", V, system.decomposition.product(V)) + (total_mean @ V) ** 2
    return fold.error_of(
        fit_square=system.total.weight * total - train.weight * rest,
        fit_cross=np.einsum("ij,ij->j", V, np.tile(own[:, 2:], len(alphas))),
        fit_sum=own[:, 0] @ V,
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

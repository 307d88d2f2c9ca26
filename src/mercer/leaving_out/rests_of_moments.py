"""The systems of all rows but a fold, for several folds and alphas at once.

.. math:: (A_{-k} + \\lambda)\\, v = b_{-k}, \\qquad
          A_{-k} = \\frac{W (A + m m') - R'S_k R}{W - W_k} - m_k m_k'

(without means if there is no intercept). Leaving out a fold changes A only a little, so conjugate
gradients take a few steps, with the system of all rows as preconditioner and its solution as start.
Only products with the matrices of folds are needed, wherever these or their rows are. All systems
share one product, which costs hardly more for many columns than for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from mercer.contracts import Array, Penalty
from mercer.moments import Moments
from mercer.systems import MomentSystem

#: The change against the start is found to this relative accuracy, in the norm of the system.
TOLERANCE = 0.02
#: ... and the solution to this share of it.
PRECISION = 0.05
#: Steps of conjugate gradients at most.
STEPS = 40
_NOTHING = np.zeros((0, 0))


def without_matrix(moments: Moments) -> Moments:
    """Return moments without their matrix; they can be added and subtracted."""
    return replace(moments, gram=_NOTHING)


@dataclass(frozen=True)
class Whole:
    """The system of all rows, in coordinates in which it is easily solved."""

    inward: Callable[[Array], Array]  # sums over rows, to coordinates
    outward: Callable[[Array], Array]  # coordinates, to coefficients of the summed functions
    product: Callable[[Array], Array]  # A V
    solve: Callable[[Array], Array]  # (A + alpha)^-1 V, the columns of all alphas for each fold
    start: Array  # the solutions, (r, columns of a fold)

    @classmethod
    def decomposed(cls, system: MomentSystem, alphas: Penalty) -> Whole:
        """For a path of alphas, or one of each output, by a decomposition of A."""
        form, outputs = system.decomposition, system.b.shape[1]
        shifted = form.shifted(np.atleast_1d(alphas))
        number = len(np.atleast_1d(alphas))

        def solve(V: Array) -> Array:
            columns = V.reshape(len(V), -1, number, outputs).transpose(0, 2, 1, 3)
            solved = shifted.apply(np.ascontiguousarray(columns).reshape(V.shape))
            return np.asarray(solved.reshape(columns.shape).transpose(0, 2, 1, 3).reshape(V.shape))

        return cls(
            system.coordinates_of, system.functions_of, form.product, solve, shifted.solutions
        )

    @classmethod
    def by_output(cls, system: MomentSystem, alpha: Array) -> Whole:
        """With an alpha of each output, by eigenvectors."""
        spectrum, outputs = system.spectrum, system.b.shape[1]
        inverse = spectrum.filter(np.broadcast_to(alpha, outputs))[spectrum.kept]

        def solve(V: Array) -> Array:
            return np.asarray(np.tile(inverse, V.shape[1] // outputs) * V)

        start = inverse * spectrum.beta[spectrum.kept]
        T = system.directions[:, spectrum.kept]
        return cls(lambda t: T.T @ t, lambda v: T @ v, spectrum.product, solve, start)

    @classmethod
    def factored(cls, system: MomentSystem, alpha: float, start: Array) -> Whole:
        """For one alpha, by a Cholesky factor; ``start`` is the solution."""
        white = system.whitener
        shifted = np.array(system.A, order="F")
        shifted[np.diag_indices_from(shifted)] += alpha
        factor, _ = lapack.dpotrf(shifted, lower=1, overwrite_a=1)

        def solve(V: Array) -> Array:
            return np.asarray(lapack.dpotrs(factor, V, lower=1)[0])

        return cls(white.vectors, white.coefficients, lambda V: system.A @ V, solve, start)


def solve_rests(
    system: MomentSystem,
    folds: Sequence[Moments],
    image: Callable[[Array], Array],
    alphas: Array,
    whole: Whole,
    tolerance: float = TOLERANCE,
) -> tuple[Array, Array, bool]:
    """Return the solutions without each fold, and whether conjugate gradients converged.

    Parameters
    ----------
    system : MomentSystem
        The system of all rows.
    folds : sequence of Moments
        The sums of each fold, without their matrices.
    image : callable
        Multiplies the columns of each fold, side by side, by the matrix of that fold.
    alphas : array of shape (columns,)
        That of each column of a fold: the outputs for every alpha.
    whole : Whole
        How the system of all rows is solved.
    tolerance : float
        To which share of itself the change of a solution is found.

    Returns
    -------
    coefficients : array of shape (M, folds * columns)
        In the summed functions.
    intercepts : array of shape (folds * columns,)
    converged : bool
    """
    total = without_matrix(system.total)
    rests = [total - fold for fold in folds]
    repeats = len(alphas) // system.b.shape[1]
    means = [rest.means(system.intercept) for rest in rests]
    center = whole.inward(system.mean_h)
    centers = [whole.inward(mean_h) for mean_h, _ in means]
    right = np.hstack([_right(whole, rest, repeats, system.intercept) for rest in rests])
    weights = np.repeat([rest.weight for rest in rests], len(alphas))
    shift = np.tile(alphas, len(folds))

    def product(V: Array) -> Array:
        every = total.weight * (whole.product(V) + np.outer(center, center @ V))
        found = (every - whole.inward(image(whole.outward(V)))) / weights + shift * V
        for place, m in enumerate(centers):
            own = slice(place * len(alphas), (place + 1) * len(alphas))
            found[:, own] -= np.outer(m, m @ V[:, own])
        return np.asarray(found)

    start = np.tile(whole.start, len(folds))
    value, converged = solve_separately(product, whole.solve, right, start, STEPS, tolerance)
    coefficients = whole.outward(value)
    by_fold = np.split(coefficients, len(folds), axis=1)
    constants = [
        np.tile(mean_y, repeats) - mean_h @ own
        for (mean_h, mean_y), own in zip(means, by_fold, strict=True)
    ]
    return coefficients, np.concatenate(constants), converged


def _right(whole: Whole, rest: Moments, repeats: int, intercept: bool) -> Array:
    """Return the right-hand sides of the rows that stay, repeated for every alpha."""
    _, mean_y = rest.means(intercept)
    mean = whole.inward(rest.target_sum_h) / rest.target_weight
    own = whole.inward(rest.cross) / rest.target_weight - np.outer(mean, mean_y)
    return np.tile(own, repeats)


def solve_separately(
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    right: Array,
    start: Array,
    max_steps: int,
    tolerance: float = TOLERANCE,
) -> tuple[Array, bool]:
    """Return the solutions, one per column, and whether all have converged.

    >>> A = np.stack([np.diag([1.0, 2.0]), np.diag([3.0, 5.0])])
    >>> product = lambda V: np.stack([A[0] @ V[:, 0], A[1] @ V[:, 1]], axis=1)
    >>> start = np.zeros((2, 2))
    >>> found, done = solve_separately(product, lambda R: R, np.ones((2, 2)), start, 5)
    >>> found.round(3), done
    (array([[1.   , 0.333],
           [0.5  , 0.2  ]]), True)
    """
    whole = np.maximum(_inner(right, precondition(right)), 0.0)
    solution = np.array(start)
    residual = right - product(start)
    scaled = precondition(residual)
    energy = _inner(residual, scaled)
    if np.any(energy > whole):  # 0 is closer to the solution than the start
        solution = np.where(energy > whole, 0.0, solution)
        residual = np.where(energy > whole, right, residual)
        scaled = precondition(residual)
        energy = _inner(residual, scaled)
    direction = scaled
    # What is below the rounding of the right-hand side cannot be found.
    precise = (PRECISION * tolerance) ** 2 * whole
    goal = np.maximum(np.minimum(tolerance**2 * energy, precise), 1e-24 * whole)
    for _ in range(max_steps):
        active = energy > goal
        if not active.any():
            return solution, True
        image = product(direction)
        curvature = _inner(direction, image)
        if np.any(curvature[active] <= 0):  # rounding: the matrix is not positive there
            return solution, False
        step = np.divide(energy, curvature, out=np.zeros_like(energy), where=active)
        solution += step * direction
        residual = residual - step * image
        scaled = precondition(residual)
        before, energy = energy, _inner(residual, scaled)
        ratio = np.divide(energy, before, out=np.zeros_like(energy), where=active)
        direction = scaled + ratio * direction
    return solution, bool(np.all(energy <= goal))


def _inner(left: Array, right: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", left, right))

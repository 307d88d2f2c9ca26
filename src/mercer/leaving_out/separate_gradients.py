"""Conjugate gradients for several systems at once, each with a matrix of its own.

.. math:: A_j x_j = b_j, \\qquad j = 1..l

All matrices share one product with the rows (or the sums), which costs hardly more for many columns
than for one, and one preconditioner. The systems are those of models without one fold each, so the
solution for all rows is a good start and the residual there is the change to be found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.contracts import Array

#: The change against the start is found to this relative accuracy, in the norm of the system.
TOLERANCE = 0.02
#: ... and the solution to this share of it.
PRECISION = 0.05


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

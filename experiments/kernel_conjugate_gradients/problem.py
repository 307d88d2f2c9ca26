"""The regression problem of the paper, and its error without a test set."""

from __future__ import annotations

import numpy as np

from experiments.scaffold import Array

#: Exponents of the problem: the target is a function of the space (zeta), and the eigenvalues of
#: the kernel fall as i^-2 (gamma).
ZETA, GAMMA = 0.5, 0.5
#: So errors should fall as n^-RATE, and alpha is to be of the order n^-RATE too.
RATE = 2 * ZETA / (2 * ZETA + GAMMA)
SEED = 4


def truth(x: Array) -> Array:
    """Return ``|x - 1/2| - 1/2``, which has norm 1 in the space of the kernel 1 + min(x, z)."""
    return np.asarray(np.abs(x - 0.5) - 0.5)


def draw(n: int, trial: int) -> tuple[Array, Array]:
    """Draw n rows: x uniform on [0, 1], y the truth plus noise of variance 1."""
    rng = np.random.default_rng([SEED, n, trial])
    x = rng.random(n)
    return x[:, None], truth(x) + rng.standard_normal(n)


def knots(X: Array) -> Array:
    """Return the points between which both the truth and every fit to these rows are lines."""
    return np.unique(np.concatenate([[0.0, 0.5, 1.0], X[:, 0]]))


def squared_distance(at: Array, values: Array) -> float:
    """Return the integral over [0, 1] of ``(f - truth)^2`` from the values of f at its knots.

    A function of the span of kernel functions 1 + min(x, x_i) is linear between knots, so there is
    nothing to approximate: over a piece of length h on which the difference runs from a to b, the
    integral is ``h (a^2 + ab + b^2) / 3``.

    >>> squared_distance(np.array([0.0, 0.5, 1.0]), np.zeros(3))  # of -x on half of [0, 1], twice
    0.08333333333333333
    """
    difference = values - truth(at)
    a, b = difference[:-1], difference[1:]
    return float(np.sum(np.diff(at) * (a * a + a * b + b * b) / 3))

"""All fits of figure 3, for many penalties at once, in the coordinates of the pool.

A ridge fit is ``(Z'WZ + alpha L^-1)^-1 Z'Wy`` there, with weights of sum 1 and L the eigenvalues of
the pool. This is the fit of the library (a test compares them), but one matrix of products serves
all penalties and noises, and it is far better conditioned than that of the features themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from experiments.scaffold import Array

#: Penalties of ridge regression, for all methods and settings.
ALPHAS = (1e-15, 1e-14, *(10.0**power for power in range(-12, 1, 2)))
#: Parts of all eigenfunctions that SSSR tries.
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
#: The penalty of least squares: where rows leave directions open, the shortest solution.
LEAST = 1e-15


@dataclass(frozen=True)
class Products:
    """The weighted products of some rows."""

    gram: Array
    cross: Array

    @classmethod
    def of(cls, Z: Array, y: Array, weight: Array) -> Products:
        """Sum over rows, with weights of sum 1."""
        share = (weight / weight.sum())[:, None]
        return cls(Z.T @ (share * Z), Z.T @ (share * y))


def ridge(products: Products, values: Array, alphas: Sequence[float] = ALPHAS) -> Array:
    """Return coefficients by increasing penalty, coordinate and output.

    Where a penalty is so small that rounding leaves no factor, the next one stands in.
    """
    found: list[Array] = []
    for alpha in reversed(alphas):
        A = products.gram.copy()
        A.flat[:: len(A) + 1] += alpha / values
        try:
            found.append(cho_solve(cho_factor(A, overwrite_a=True), products.cross))
        except np.linalg.LinAlgError:
            found.append(found[-1])
    return np.array(found[::-1])


def eigenfunctions(products: Products, values: Array, sizes: Sequence[int]) -> Array:
    """Return coefficients of least squares on the first functions, by number of them (SSSR).

    The leading block of a Cholesky factor is the factor of the leading block, so that one serves
    all sizes.
    """
    A = products.gram.copy()
    A.flat[:: len(A) + 1] += LEAST / values
    factor = cholesky(A, lower=True, overwrite_a=True)
    half = solve_triangular(factor, products.cross, lower=True)
    found = np.zeros((len(sizes), *products.cross.shape))
    for coefficients, size in zip(found, sizes, strict=True):
        block = factor[:size, :size]
        coefficients[:size] = solve_triangular(block, half[:size], lower=True, trans="T")
    return found


def sizes_of(functions: int) -> list[int]:
    """Return the numbers of eigenfunctions that SSSR tries.

    >>> sizes_of(100)[:3], sizes_of(100)[-1]
    ([2, 5, 10], 100)
    """
    return sorted({max(1, round(share * functions)) for share in SHARES})


def rmse(found: Array, Z: Array, truth: Array, bound: Array | None = None) -> Array:
    """Return root mean squared errors by setting and output, against the function without noise.

    Where predictions are cut at a bound, Z must be the test rows themselves.
    """
    settings, columns, outputs = found.shape
    wrong = found if bound is not None else found - truth[:, None]
    flat = wrong.transpose(1, 0, 2).reshape(columns, settings * outputs)
    values = (Z @ flat).reshape(len(Z), settings, outputs)
    if bound is not None:
        values = np.clip(values, -bound, bound) - (Z @ truth)[:, None, None]
    return np.sqrt(np.mean(values**2, axis=0))

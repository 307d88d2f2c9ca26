"""The rows and fits that the checks of kernels and bases use."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Rows
from mercer.kernels import Gaussian, Kernel
from mercer.testing.assertions import as_dense, unit_square

#: Rows that functions are chosen from, and further ones that they are evaluated at.
FITTED, NEW = 100, 25


def rows_for(kernel: Kernel, X: Rows | None) -> Array:
    """Return the rows of a check, as a copy."""
    if X is None:
        X = unit_square(40)
        if kernel.pairwise:
            X = Gaussian(0.5)(X)
    return np.array(as_dense(X))


def values_between(kernel: Kernel, X: Array) -> tuple[Kernel, Array, Array]:
    """Return the fitted kernel and two sets of rows that do not overlap, but for a pairwise one."""
    half = len(X) // 2
    return kernel.fitted(X), X[:half] if not kernel.pairwise else X, X[half:]


def fitted(basis: BasisTransformer, kernel: Kernel | None) -> BasisTransformer:
    """Return a clone that is fitted, with a seed, to the rows of the checks."""
    copy = clone(basis).set_params(kernel=Gaussian(0.3) if kernel is None else kernel)
    if "random_state" in copy.get_params():
        copy.set_params(random_state=0)
    X = unit_square(FITTED)
    found: BasisTransformer = copy.fit(X, targets_of(X))
    return found


def targets_of(X: Array) -> Array:
    """Return a smooth function of the rows."""
    return np.asarray(np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2)


def new_rows() -> Array:
    """Return rows that no function was chosen from."""
    return unit_square(NEW, seed=1)


def vectors_of(size: int, columns: int = 2) -> Array:
    """Return columns of numbers of order one."""
    return np.random.default_rng(2).standard_normal((size, columns))

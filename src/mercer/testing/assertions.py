"""How a check fails, and the rows and fits that checks share.

A check raises an AssertionError that names the property, the numbers, and what to try.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from mercer.bases import BasisTransformer
from mercer.combine import Combination
from mercer.contracts import Array, Rows
from mercer.estimators import KernelRegressor
from mercer.kernels import Gaussian, Kernel
from mercer.solvers import BaseSolver


def named(part: object) -> str:
    """Return what messages call a part: the name of its class.

    >>> named(3.0)
    'float'
    """
    return type(part).__name__


def require(holds: bool, message: str) -> None:
    """Raise an AssertionError with the message unless the property holds; also under ``-O``.

    >>> require(1 + 1 == 3, "one and one must be three")
    Traceback (most recent call last):
    AssertionError: one and one must be three
    """
    if not holds:
        raise AssertionError(message)


def require_close(
    got: ArrayLike, wanted: ArrayLike, tolerance: float, what: str, hint: str
) -> None:
    """Compare arrays: ``|got - wanted| <= tolerance``, with equal shapes.

    ``what`` says what must be equal to what, ``hint`` what to try.

    >>> require_close([1.0], [1.5], 0.1, "diag(X) must be the diagonal", "see diag()")
    Traceback (most recent call last):
    AssertionError: diag(X) must be the diagonal, got 1.0 instead of 1.5 at (0,), a difference of
    0.5 where 0.1 is allowed; see diag()
    """
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        raise AssertionError(f"{what}, got shape {got.shape} instead of {wanted.shape}; {hint}")
    if got.size == 0:
        return
    difference = np.abs(np.asarray(got, np.float64) - np.asarray(wanted, np.float64))
    difference = np.where(np.isnan(difference), np.inf, difference)
    at = np.unravel_index(int(np.argmax(difference)), difference.shape)
    if difference[at] > tolerance:
        place = tuple(int(index) for index in at)
        raise AssertionError(
            f"{what}, got {got[at]} instead of {wanted[at]} at {place}, a difference of "
            f"{difference[at]:.3g} where {tolerance:.3g} is allowed; {hint}"
        )


def require_same(got: Any, wanted: Any, what: str, hint: str) -> None:
    """Compare arrays of any dtype, or None, value by value.

    >>> require_same(np.array(["a", "b"]), np.array(["a", "c"]), "y must be y", "read it anew")
    Traceback (most recent call last):
    AssertionError: y must be y, got 'b' instead of 'c' at (1,) (1 of 2 values differ); read it anew
    """
    if got is None or wanted is None:
        if (got is None) != (wanted is None):
            shown = "None" if got is None else f"an array of shape {np.shape(got)}"
            other = "None" if wanted is None else f"an array of shape {np.shape(wanted)}"
            raise AssertionError(f"{what}, got {shown} instead of {other}; {hint}")
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        raise AssertionError(f"{what}, got shape {got.shape} instead of {wanted.shape}; {hint}")
    both_nan = (got != got) & (wanted != wanted)
    different = np.argwhere(~((got == wanted) | both_nan))
    if len(different):
        place = tuple(int(index) for index in different[0])
        raise AssertionError(
            f"{what}, got {got[place].item()!r} instead of {wanted[place].item()!r} at {place} "
            f"({len(different)} of {got.size} values differ); {hint}"
        )


def require_error(
    call: Callable[[], object], error: type[Exception] | tuple[type[Exception], ...], message: str
) -> None:
    """Raise an AssertionError with the message unless a call raises such an error.

    >>> require_error(lambda: [][0], KeyError, "no key must be a KeyError")
    Traceback (most recent call last):
    IndexError: list index out of range
    """
    try:
        call()
    except error:
        return
    raise AssertionError(message)


def require_blocks(
    function: Callable[[Array], Array],
    X: Array,
    wanted: Array,
    tolerance: float,
    what: str,
    own: str = "row",
) -> None:
    """Compare what a function makes of blocks of rows with what it made of all of them."""
    for rows in (1, 7):
        parts = [function(X[start : start + rows]) for start in range(0, len(X), rows)]
        require_close(
            np.concatenate(parts),
            wanted,
            tolerance,
            f"{what} in blocks of {rows} rows must be that of all rows at once",
            f"a value may depend on its own {own} only",
        )


def require_copy(copy: BaseEstimator, part: BaseEstimator, what: str) -> None:
    """Check that a copy of a part has its parameters."""
    shown = repr(part.get_params())
    require(
        repr(copy.get_params()) == shown,
        f"a {what} of {named(part)} must have its parameters {shown}, got {copy.get_params()!r}; "
        f"__init__ must store its arguments under their own names, and nothing else",
    )


def require_copies(part: Combination | BaseSolver) -> None:
    """Check that clones and pickles of a part have its parameters, which are valid."""
    require_copy(clone(part), part, "clone")
    require_copy(pickle.loads(pickle.dumps(part)), part, "pickle")
    part.check()


def largest(*values: ArrayLike) -> float:
    """Return the largest magnitude in some arrays, at least the smallest positive float.

    >>> largest([1.0, -3.0], [2.0])
    3.0
    """
    found = max(float(np.abs(np.asarray(part)).max(initial=0.0)) for part in values)
    return max(found, float(np.finfo(float).tiny))


def as_dense(rows: Rows) -> Array:
    """Return rows as a dense array of their own dtype.

    >>> as_dense([[1, 2]])
    array([[1, 2]])
    """
    return np.asarray(rows.toarray() if hasattr(rows, "tocsr") else rows)


def unit_square(n_rows: int, seed: int = 0) -> Array:
    """Return rows in the unit square, where every kernel of the library is at home.

    >>> unit_square(5).shape
    (5, 2)
    """
    return np.random.default_rng(seed).random((n_rows, 2))


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


def predictions_over_shards(model: KernelRegressor, X: Array, new: Array) -> tuple[Array, Array]:
    """Return the predictions of a fit in one place, and over three shards."""
    y, shards = targets_of(X), clone(model).set_params(shards=3)
    return model.fit(X, y).predict(new), shards.fit(X, y).predict(new)


def new_rows() -> Array:
    """Return rows that no function was chosen from."""
    return unit_square(NEW, seed=1)


def normal_numbers(size: int, columns: int = 2, seed: int = 2) -> Array:
    """Return columns of numbers of order one."""
    return np.random.default_rng(seed).standard_normal((size, columns))

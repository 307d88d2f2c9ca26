"""How a check fails: an AssertionError that names the property, the numbers, and what to try."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.contracts import Array, Rows


def named(part: Any) -> str:
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


def require_close(got: Any, wanted: Any, tolerance: float, what: str, hint: str) -> None:
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


def largest(*values: Any) -> float:
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

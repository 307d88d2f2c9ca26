"""Whitening: from basis functions to coordinates in which the penalty is the identity.

With ``Gamma = L L'`` and ``R = L^-T``, ``c = R v`` turns the penalty ``c' Gamma c`` into ``v'v``.
R is only applied to M x M and M x k matrices, never to blocks of rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array
from mercer.symmetric import mirror_lower


class Whitener:
    """``c = R v`` with ``R = L^-T``: converts between functions and whitened coordinates.

    Parameters
    ----------
    factor : array of shape (M, M) or None
        L, lower triangular with a positive diagonal; None stands for the identity.
    size : int
        M.

    Examples
    --------
    >>> white = Whitener(np.array([[2.0]]), 1)
    >>> white.vectors(np.array([6.0])), white.coefficients(np.array([[6.0]]))
    (array([3.]), array([[3.]]))
    """

    def __init__(self, factor: Array | None, size: int) -> None:
        self.factor = None if factor is None else np.asfortranarray(factor)
        self.size = size

    def vectors(self, t: Array) -> Array:
        """Return ``R't`` for t of shape (M,) or (M, k)."""
        if self.factor is None:
            return t
        return np.asarray(solve_triangular(self.factor, t, lower=True, check_finite=False))

    def matrix(self, S: Array) -> Array:
        """Return ``R'SR`` for symmetric S of shape (M, M)."""
        if self.factor is None or self.size == 0:
            return np.array(S)
        # LAPACK's reduction of a generalized problem is this product, at half the work.
        lower, info = lapack.dsygst(
            np.array(S.T, order="F"), self.factor, itype=1, lower=1, overwrite_a=1
        )
        if info != 0:
            raise ValueError(f"LAPACK dsygst refused its argument {-info}")
        mirror_lower(lower)
        return np.asarray(lower.T)

    def coefficients(self, v: Array) -> Array:
        """Return ``c = R v``, of shape (M, k), for v of shape (M, k)."""
        if self.factor is None:
            return v
        return np.asarray(
            solve_triangular(self.factor, v, lower=True, trans="T", check_finite=False)
        )

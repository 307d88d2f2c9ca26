"""From basis functions to coordinates with the identity as penalty.

With ``R R' = Gamma^+`` and ``c = R v``, the penalty ``c' Gamma c`` is ``v'v``. R comes from a
Cholesky factorization of Gamma with pivoting, ``Gamma[p, p] = L L'``: ``R = L^-T`` on the pivots
that stand clear of rounding. Functions that the others already span (a duplicated landmark, say)
get the coefficient 0. R only ever meets matrices of M x M and M x k, never blocks of rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array, Precision

#: A function is dropped when what the others leave of it has a squared norm below this share of
#: the largest. Normal equations square the condition number: a direction of squared norm r adds
#: about r^2 to A and its rounding 1/r times that of S, so the cut is about the square root of the
#: accuracy of S: 1e-16 in float64, 1e-9 in float32 (summed as `mercer.moments` does).
CUT = {"float64": 1e-10, "float32": 3e-6}


class Whitener:
    """Changes coordinates between functions (M) and whitened directions (rank r <= M).

    Parameters
    ----------
    gram : array of shape (M, M) or None
        Gamma; None stands for the identity.
    size : int
        M.
    cut : float
        Relative size below which a pivot is dropped.

    Examples
    --------
    >>> gram = np.array([[1.0, 1.0], [1.0, 1.0]])
    >>> white = Whitener(gram, 2, 1e-10)
    >>> white.rank, white.coefficients(np.array([[3.0]])).ravel().tolist()
    (1, [3.0, 0.0])
    """

    def __init__(self, gram: Array | None, size: int, cut: float) -> None:
        self.size = size
        self.kept = np.arange(size)
        self.factor: Array | None = None
        if gram is None:
            return
        tolerance = cut * max(float(np.max(np.diagonal(gram), initial=0.0)), 0.0)
        factor, pivots, rank, info = lapack.dpstrf(gram, lower=1, tol=tolerance)
        if info < 0:
            raise ValueError(f"LAPACK dpstrf refused its argument {-info}")
        if not tolerance > 0:
            rank = 0
        self.kept = np.asarray(pivots[:rank], dtype=np.intp) - 1
        self.factor = np.asfortranarray(np.tril(factor[:rank, :rank]))

    @classmethod
    def of(cls, gram: Array | None, size: int, precision: Precision) -> Whitener:
        """Build with the cut that belongs to a precision."""
        return cls(gram, size, CUT[precision])

    @property
    def rank(self) -> int:
        """The number of directions kept."""
        return len(self.kept)

    def vectors(self, t: Array) -> Array:
        """Return ``R't`` for t of shape (M,) or (M, k)."""
        if self.factor is None:
            return t
        return np.asarray(
            solve_triangular(self.factor, t[self.kept], lower=True, check_finite=False)
        )

    def matrix(self, S: Array) -> Array:
        """Return ``R'SR`` for symmetric S of shape (M, M)."""
        if self.factor is None:
            return np.array(S)
        if self.rank == 0:
            return np.zeros((0, 0))
        # LAPACK's reduction of a generalized problem is this product, at half the work.
        inner = np.asfortranarray(S[np.ix_(self.kept, self.kept)])
        lower, info = lapack.dsygst(inner, self.factor, itype=1, lower=1, overwrite_a=1)
        if info != 0:
            raise ValueError(f"LAPACK dsygst refused its argument {-info}")
        whole: Array = np.tril(lower)
        whole += np.tril(lower, -1).T
        return whole

    def coefficients(self, v: Array) -> Array:
        """Return ``c = R v``, of shape (M, k), for v of shape (r, k)."""
        if self.factor is None:
            return v
        c = np.zeros((self.size, *v.shape[1:]))
        c[self.kept] = solve_triangular(self.factor, v, lower=True, trans="T", check_finite=False)
        return c

    def rows(self, H: Array) -> Array:
        """Return ``H R``: for features handed to a user, never inside a fit."""
        if self.factor is None:
            return H
        return np.ascontiguousarray(self.vectors(np.asarray(H, dtype=np.float64).T).T)

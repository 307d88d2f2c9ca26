"""A system with a matrix, solved by Cholesky for one alpha or by a decomposition for many.

.. math:: (A + \\alpha)^{-1} = P'P, \\qquad
          \\operatorname{tr} A (A + \\alpha)^{-1} = r - \\alpha \\|P\\|_F^2

One factor gives solutions, quadratic forms and the effective dimension.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array, Penalty
from mercer.systems.spectrum import Decomposition, Spectrum
from mercer.systems.tridiagonal import Tridiagonal

#: From this size on, a tridiagonal form is faster than an eigendecomposition, whatever it is for.
TRIDIAGONAL_FROM = 600


def safe_factor(A: Array, alpha: float) -> Array | None:
    """Return the lower Cholesky factor of ``A + alpha I``; None if not safely positive definite.

    Safe means that ``A + alpha/4`` also has a Cholesky factor: rounding, which moves eigenvalues up
    as far as down, is then below a quarter of the penalty.
    """
    if not alpha > 0:
        return None
    diagonal = np.diag_indices_from(A)
    for share in (0.25, 1.0):
        factor = np.array(A, order="F")
        factor[diagonal] += share * alpha
        if len(A):
            factor, info = lapack.dpotrf(factor, lower=1, overwrite_a=1)
            if info != 0:
                return None
    return np.asarray(factor)


class DirectSystem:
    """``(A + alpha) v = b`` with A in memory.

    Parameters
    ----------
    A : array of shape (r, r)
        Symmetric positive semi-definite.
    b : array of shape (r, k)
        Right-hand sides.
    cutoff : bool
        Whether alpha is an eigenvalue threshold instead of a penalty.

    Examples
    --------
    >>> system = DirectSystem(np.array([[3.0]]), np.array([[4.0]]))
    >>> system.cholesky(1.0), system.spectrum.solve(1.0)
    (array([[1.]]), array([[1.]]))
    """

    offers = frozenset({"matrix"})
    #: Names for messages; and how many eigenvalues are 0 by construction.
    made_of, factored = "moments", "one Cholesky factorization"
    empty_directions = 0

    def __init__(self, A: Array, b: Array, cutoff: bool = False) -> None:
        self.A, self.b, self.cutoff = A, b, cutoff

    @cached_property
    def spectrum(self) -> Spectrum:
        """The eigendecomposition ``A = U diag(s) U'``, and ``U'b``."""
        return Spectrum.of(self.A.copy(), self.b, self.cutoff)

    @property
    def has_spectrum(self) -> bool:
        """Whether the eigendecomposition is already computed."""
        return "spectrum" in self.__dict__

    @cached_property
    def decomposition(self) -> Decomposition:
        """The cheapest form of A in which every alpha is cheap."""
        if self.cutoff or self.has_spectrum or len(self.A) < TRIDIAGONAL_FROM:
            return self.spectrum
        return Tridiagonal.of_regular(self.A, self.b) or self.spectrum

    @property
    def has_decomposition(self) -> bool:
        """Whether a form in which every alpha is cheap is already computed."""
        return self.has_spectrum or "decomposition" in self.__dict__

    def cholesky(self, alpha: float) -> Array | None:
        """Solve by Cholesky, or return None if A + alpha I is not safely positive definite."""
        if len(self.A) == 0:
            return np.zeros(self.b.shape)
        factor = safe_factor(self.A, alpha)
        if factor is None:
            return None
        value, _ = lapack.dpotrs(factor, self.b, lower=1)
        return np.asarray(value)

    def by_spectrum(self, alpha: Penalty) -> Array:
        """Return ``U diag(1 / (s + alpha)) U'b``."""
        return self.spectrum.solve(alpha)

    def by_decomposition(self, alpha: Penalty) -> Array:
        """Return the solution for one alpha, or one of each output, by the form they share."""
        return self.decomposition.solve(alpha)

    def solutions(self, alphas: Array) -> Array:
        """Return the solutions for all alphas side by side, of shape (r, alphas * k)."""
        form = self.decomposition
        return form.outward(form.shifted(alphas).solutions)

    def residual(self, value: Array, alpha: Penalty) -> float:
        """Return ``||(A + alpha) v - b|| / ||b||``; without alpha for a cut-off."""
        image = self.A @ value
        left = (image if self.cutoff else image + alpha * value) - self.b
        scale = float(np.linalg.norm(self.b))
        return float(np.linalg.norm(left)) / scale if scale > 0 else 0.0


class ShiftedInverse:
    """``(A + alpha)^-1 = P'P`` for symmetric positive semi-definite A and alpha > 0.

    P is the inverse of a Cholesky factor. Where rounding in A is not clearly below alpha, it comes
    from the eigenvalues, those below rounding set to 0: such directions keep their prior variance.

    Parameters
    ----------
    A : array of shape (r, r)
        Symmetric positive semi-definite.
    alpha : float
        The shift, positive.

    Examples
    --------
    >>> inverse = ShiftedInverse(np.array([[3.0]]), 1.0)
    >>> half = inverse.half(np.array([[2.0]]))
    >>> half.item(), inverse.back(half).item(), inverse.effective_dimension
    (1.0, 0.5, 0.75)
    """

    def __init__(self, A: Array, alpha: float) -> None:
        self.alpha, self.size = alpha, len(A)
        self._factor: Array | None = safe_factor(A, alpha)
        if self._factor is None:
            spectrum = Spectrum.of(np.array(A), np.zeros((len(A), 0)))
            self._values, self._vectors = spectrum.values, spectrum.vectors
            self._root = np.sqrt(spectrum.values + alpha)[:, None]

    def half(self, V: Array) -> Array:
        """Return ``P V``, whose columns have the squared norms ``v'(A + alpha)^-1 v``."""
        if self._factor is None:
            return np.asarray(self._vectors.T @ V / self._root)
        return np.asarray(solve_triangular(self._factor, V, lower=True, check_finite=False))

    def back(self, V: Array) -> Array:
        """Return ``P'V``."""
        if self._factor is None:
            return np.asarray(self._vectors @ (V / self._root))
        solved = solve_triangular(self._factor, V, lower=True, trans="T", check_finite=False)
        return np.asarray(solved)

    @cached_property
    def effective_dimension(self) -> float:
        """``trace(A (A + alpha)^-1)``."""
        if self._factor is None:
            return float(np.sum(self._values / (self._values + self.alpha)))
        if not self.size:
            return 0.0
        inverse, info = lapack.dtrtri(self._factor, lower=1)
        if info != 0:
            raise ValueError(f"LAPACK dtrtri refused its argument {-info}")
        return float(self.size - self.alpha * np.einsum("ij,ij->", inverse, inverse))

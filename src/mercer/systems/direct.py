"""A system with a matrix, solved by Cholesky for one alpha or by a decomposition for many."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import lapack

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

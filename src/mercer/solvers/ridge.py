"""Ridge: one Cholesky factorization for one alpha, one eigendecomposition for many."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from mercer.contracts import Array, Solution, Status
from mercer.solvers.base import BaseSolver
from mercer.solvers.spectrum import Spectrum
from mercer.validation import check_choice

METHODS = ("auto", "cholesky", "eigen")


@dataclass
class RidgeState:
    """The system, and its spectrum once something asks for it."""

    A: Array
    b: Array
    cutoff: bool = False

    @cached_property
    def spectrum(self) -> Spectrum:
        """The eigendecomposition of A."""
        return Spectrum.of(self.A.copy(), self.b, self.cutoff)


class Ridge(BaseSolver):
    """Solves ``(A + alpha I) v = b`` directly.

    Parameters
    ----------
    method : "auto", "cholesky" or "eigen"
        "auto" takes Cholesky for one alpha and the eigendecomposition for a path. Where A is not
        clearly positive definite at this alpha (rounding, alpha = 0), Cholesky gives way to the
        eigendecomposition, which leaves out the directions that rounding has made.

    Examples
    --------
    >>> ridge = Ridge()
    >>> state = ridge.prepare(np.array([[3.0]]), np.array([[4.0]]))
    >>> ridge.solve(state, 1.0).value
    array([[1.]])
    """

    def __init__(self, method: str = "auto") -> None:
        self.method = method

    def check(self) -> None:
        """Refuse an unknown method."""
        check_choice(self.method, "method of Ridge", METHODS)

    def prepare(self, A: Array, b: Array) -> RidgeState:
        """Keep the system; the spectrum is computed when first needed."""
        self.check()
        return RidgeState(A, b)

    def solve(self, state: RidgeState, alpha: float) -> Solution:
        """Return the solution for one alpha."""
        start = time.perf_counter()
        known = "spectrum" in state.__dict__
        if self.method != "eigen" and not known:
            value = _cholesky(state.A, state.b, alpha)
            if value is not None:
                return self._solution(
                    state, alpha, value, Status.SOLVED, "one Cholesky factorization", start
                )
        spectrum = state.spectrum
        value = spectrum.solve(alpha)
        reason = "eigendecomposition"
        status = Status.SOLVED
        if spectrum.dropped:
            status = Status.RANK_REDUCED
            reason = (
                f"{spectrum.dropped} of {len(spectrum.values)} directions are below the rounding "
                f"of the moments and were left out"
            )
        return self._solution(state, alpha, value, status, reason, start)

    @staticmethod
    def _solution(
        state: RidgeState, alpha: float, value: Array, status: Status, reason: str, start: float
    ) -> Solution:
        residual = np.linalg.norm(state.A @ value + alpha * value - state.b)
        scale = np.linalg.norm(state.b)
        return Solution(
            value=value,
            status=status,
            reason=reason,
            residuals=np.array([residual / scale if scale > 0 else 0.0]),
            seconds=time.perf_counter() - start,
        )


def _cholesky(A: Array, b: Array, alpha: float) -> Array | None:
    """Solve by Cholesky, or return None where A + alpha I is not safely positive definite.

    Safe means that ``A + alpha/4`` has a Cholesky factor too: rounding, which moves eigenvalues up
    as far as down, is then below a quarter of the penalty.
    """
    if len(A) == 0:
        return np.zeros(b.shape)
    if not alpha > 0:
        return None
    diagonal = np.diag_indices_from(A)
    for share in (0.25, 1.0):
        shifted = np.array(A, order="F")
        shifted[diagonal] += share * alpha
        factor, info = lapack.dpotrf(shifted, lower=1, overwrite_a=1)
        if info != 0:
            return None
    value, info = lapack.dpotrs(factor, b, lower=1)
    return np.asarray(value)

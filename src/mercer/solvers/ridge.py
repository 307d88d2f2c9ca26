"""Direct solves: ridge by a Cholesky factor or a decomposition, and the spectral cut-off."""

from __future__ import annotations

import time

import numpy as np

from mercer.contracts import Penalty, Solution, Status
from mercer.solvers.solver import BaseSolver
from mercer.systems import Decomposition, DirectSystem
from mercer.validation import check_choice

METHODS = ("auto", "cholesky", "eigen")


class Ridge(BaseSolver):
    """Direct solution of ``(A + alpha I) v = b``.

    Parameters
    ----------
    method : "auto", "cholesky" or "eigen"
        "auto" uses Cholesky for one alpha; for a path a tridiagonal form, or the eigendecomposition
        if A is small or singular. If A + alpha I is not safely positive definite (rounding, alpha =
        0), Cholesky falls back to the eigendecomposition, which drops directions below rounding.

    Examples
    --------
    >>> from mercer.systems import Decomposition, DirectSystem
    >>> Ridge().solve(DirectSystem(np.array([[3.0]]), np.array([[4.0]])), 1.0).value
    array([[1.]])
    """

    needs = "matrix"

    def __init__(self, method: str = "auto") -> None:
        self.method = method

    def check(self) -> None:
        """Validate the parameters."""
        check_choice(self.method, "method of Ridge", METHODS)

    def solve(self, system: DirectSystem, alpha: Penalty) -> Solution:
        """Return the solution for one alpha, or for one of each output."""
        start = time.perf_counter()
        status, reason = Status.SOLVED, system.factored
        several = isinstance(alpha, np.ndarray)
        if self.method != "eigen" and (system.has_decomposition or several):
            value = system.by_decomposition(alpha)
            status, reason = self._outcome(system, system.decomposition)
        else:
            found = None
            if self.method != "eigen" and not isinstance(alpha, np.ndarray):
                found = system.cholesky(alpha)
            value = system.by_spectrum(alpha) if found is None else found
            if found is None:
                status, reason = self._outcome(system, system.spectrum)
        residuals = np.array([system.residual(value, alpha)])
        return Solution(value, status, reason, 0, residuals, time.perf_counter() - start)

    @staticmethod
    def _outcome(system: DirectSystem, form: Decomposition) -> tuple[Status, str]:
        """Return the status and reason of a solve by a decomposition."""
        dropped = form.dropped - system.empty_directions
        if dropped > 0:
            return Status.RANK_REDUCED, (
                f"{dropped} of {form.size} directions are below the rounding "
                f"of the {system.made_of} and were left out"
            )
        of = "" if system.made_of == "moments" else f" of the {system.made_of}"
        return Status.SOLVED, f"{form.name}{of}"


class CutOff(BaseSolver):
    """Principal component regression: eigenvalues of A below alpha are dropped, others kept.

    .. math:: v = \\sum_{j:\\, s_j \\ge \\alpha} \\frac{u_j'b}{s_j}\\, u_j, \\qquad
              A = U \\operatorname{diag}(s) U'

    Here alpha is a threshold. ``alpha="auto"`` chooses it by the same criteria as a penalty, except
    leave-one-out, whose shortcut requires components that do not depend on the left-out row.

    Examples
    --------
    >>> from mercer.systems import DirectSystem
    >>> system = DirectSystem(np.diag([1.0, 0.1]), np.ones((2, 1)), cutoff=True)
    >>> CutOff().solve(system, 0.5).value.ravel().tolist()
    [1.0, 0.0]
    """

    needs = "matrix"
    cuts_off = True

    def solve(self, system: DirectSystem, alpha: Penalty) -> Solution:
        """Return the solution for one threshold, or one of each output, if ``cutoff=True``."""
        start = time.perf_counter()
        spectrum = system.spectrum
        kept = np.unique(np.count_nonzero(spectrum.filter(alpha), axis=0))
        number = f"{kept[0]}" if len(kept) == 1 else f"{kept[0]} to {kept[-1]}"
        reason = f"{number} of {len(spectrum.values)} principal components"
        value = system.by_spectrum(alpha)
        residuals = np.array([system.residual(value, alpha)])
        seconds = time.perf_counter() - start
        return Solution(value, Status.SOLVED, reason, residuals=residuals, seconds=seconds)

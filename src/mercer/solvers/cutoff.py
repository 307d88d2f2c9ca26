"""Spectral cut-off: least squares on the leading principal components."""

from __future__ import annotations

import time

import numpy as np

from mercer.contracts import Array, Solution, Status
from mercer.solvers.base import BaseSolver
from mercer.solvers.ridge import RidgeState


class CutOff(BaseSolver):
    """Principal components: eigenvalues of A below alpha are cut off, the others not shrunk.

    .. math:: v = \\sum_{j:\\, s_j \\ge \\alpha} \\frac{u_j'b}{s_j}\\, u_j, \\qquad
              A = U \\operatorname{diag}(s) U'

    alpha is a threshold here, and ``alpha="auto"`` chooses it by the same criteria as a penalty
    (except leave-one-out, whose shortcut needs components that do not depend on the row).

    Examples
    --------
    >>> cutoff = CutOff()
    >>> state = cutoff.prepare(np.diag([1.0, 0.1]), np.ones((2, 1)))
    >>> cutoff.solve(state, 0.5).value.ravel().tolist()
    [1.0, 0.0]
    """

    def prepare(self, A: Array, b: Array) -> RidgeState:
        """Keep the system; the spectrum is computed when first needed."""
        return RidgeState(A, b, cutoff=True)

    def solve(self, state: RidgeState, alpha: float) -> Solution:
        """Return the solution for one threshold."""
        start = time.perf_counter()
        spectrum = state.spectrum
        kept = int(np.count_nonzero(spectrum.filter(alpha)))
        reason = f"{kept} of {len(spectrum.values)} principal components"
        scale = float(np.linalg.norm(state.b))
        value = spectrum.solve(alpha)
        left = float(np.linalg.norm(state.A @ value - state.b)) / scale if scale > 0 else 0.0
        seconds = time.perf_counter() - start
        return Solution(value, Status.SOLVED, reason, residuals=np.array([left]), seconds=seconds)

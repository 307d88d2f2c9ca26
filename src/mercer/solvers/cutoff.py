"""Spectral cut-off: least squares on the leading principal components."""

from __future__ import annotations

import time

import numpy as np

from mercer.contracts import Penalty, Solution, Status
from mercer.solvers.solver import BaseSolver
from mercer.systems import DirectSystem


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

"""The alpha that suits a test, found step by step: a Cholesky factor each, and no eigenvectors.

.. math:: (A + \\alpha) v = b, \\qquad \\alpha = 2^{-j} \\operatorname{tr} A

A look around the alpha of a training set of similar size, and a few steps downhill, are enough. A
factor takes a twentieth of the time of a spectrum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.bases import BasisTransformer
from mercer.contracts import Array
from mercer.moments import Moments
from mercer.systems import MomentSystem
from mercer.theory.sub_sums import Measured, in_functions, nothing, total_of

#: The first halving to try, and the most: alpha is then 1e-10 of the trace.
FIRST, MOST = 16, 33
#: The step of the first look, which goes two steps to each side: small tests have several minima.
WIDE = 5


class AlphaDescent:
    """Errors of training sets of one basis, each at the alpha that its test prefers.

    ``halvings`` is the j of the last one, where the next search begins.

    Parameters
    ----------
    folds : sequence of Moments
        The moments of each fold.
    basis : BasisTransformer
        The fitted functions.
    intercept : bool
        Whether models have an intercept.
    """

    def __init__(self, folds: Sequence[Moments], basis: BasisTransformer, intercept: bool) -> None:
        self.folds, self.basis, self.intercept = folds, basis, intercept
        self.halvings = FIRST

    def error(self, train: Sequence[int], held: Sequence[int]) -> Measured:
        """Fit some folds, and choose alpha by the test on others."""
        moments = total_of([self.folds[at] for at in train])
        test = total_of([self.folds[at] for at in held])
        system = MomentSystem(
            [moments], self.basis, self.intercept, np.ones(moments.cross.shape[1])
        )
        A, trace = system.A, max(float(np.trace(system.A)), np.finfo(float).tiny)
        known: dict[int, tuple[float, Array, Array]] = {}

        def tried(halvings: int) -> float:
            if halvings not in known:
                value = _solved(A, system.b, trace * 2.0**-halvings)
                c, constant = in_functions(system, value)
                error = float(test.squared_error(c, constant).sum())
                known[halvings] = error if np.isfinite(error) else np.inf, c, constant
            return known[halvings][0]

        around = range(self.halvings - 2 * WIDE, self.halvings + 2 * WIDE + 1, WIDE)
        at = min((place for place in around if 0 <= place <= MOST), key=tried)
        for step in (2, -2, 1, -1):
            while 0 <= at + step <= MOST and tried(at + step) < tried(at):
                at += step
        self.halvings = at
        error, c, constant = known[at]
        return Measured(
            len(train),
            moments.target_rows,
            self.basis.size,
            trace * 2.0**-at,
            error / nothing(test),
            c,
            constant,
        )


def _solved(A: Array, b: Array, alpha: float) -> Array:
    """Return ``(A + alpha)^-1 b``; NaN where rounding leaves no positive definite matrix."""
    shifted = np.array(A)
    shifted[np.diag_indices_from(shifted)] += alpha
    try:
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return np.full_like(b, np.nan)
    return np.asarray(cho_solve(factor, b, check_finite=False))

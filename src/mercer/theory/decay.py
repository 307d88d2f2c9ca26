"""The rate at which errors fall with the rows.

.. math:: e(n) = \\sigma^2 + C n^{-\\beta}, \\qquad \\sigma^2, C \\ge 0,

from errors of nested subsamples: the noise, and the rate of the error above it. As in
:mod:`mercer.theory.learning_surface`, a grid of rates and nonnegative least squares give an
estimate with its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from mercer.theory.learning_surface import WITHIN, Estimate, weighed

#: Rates that are tried.
RATES = np.linspace(0.02, 1.0, 50)
#: Relative standard error of a mean of errors, at the least.
SMALLEST = 1e-3


@dataclass(frozen=True)
class Decay:
    """``e(n) = noise + C n^-rate``.

    Examples
    --------
    >>> sizes = [250, 500, 1000, 2000] * 3
    >>> found = Decay.of(sizes, [0.1 + n**-0.5 for n in sizes])
    >>> abs(found.rate.value - 0.5) < 0.03, abs(found.noise.value - 0.1) < 0.005
    (True, True)
    """

    rate: Estimate
    noise: Estimate

    @classmethod
    def of(cls, rows: Sequence[float], errors: Sequence[float]) -> Decay:
        """Fit the errors of subsamples; several of one size show how much they vary."""
        n, first = np.unique(np.asarray(rows, dtype=float), return_inverse=True)
        groups = [np.asarray(errors)[first == at] for at in range(len(n))]
        mean = np.array([group.mean() for group in groups])
        several = [group for group in groups if len(group) > 1 and group.mean() > 0]
        relative = [float(group.std(ddof=1) / group.mean()) for group in several] or [0.05]
        count = np.array([len(group) for group in groups])
        deviation = float(np.mean(relative)) * mean / np.sqrt(count)
        weight = 1.0 / np.maximum(deviation, SMALLEST * np.maximum(mean, 1e-12))
        found, squares = [], []
        for rate in RATES:
            columns = np.column_stack([np.ones(len(n)), n**-rate])
            scale = np.linalg.norm(columns * weight[:, None], axis=0)
            constants, left = nnls(columns * (weight[:, None] / scale), mean * weight)
            found.append((rate, constants[0] / scale[0]))
            squares.append(left**2)
        kept, weights = weighed(squares, WITHIN, max(1, len(n) - 3))
        candidates = np.array([found[at] for at in kept])
        return cls(*(Estimate.of(column, weights) for column in candidates.T))

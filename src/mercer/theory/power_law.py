"""Exponents of curves that may be power laws, and whether they are.

The error above the noise falls as a power of the rows,

.. math:: e(n) = \\sigma^2 + C n^{-\\beta}, \\qquad \\sigma^2, C \\ge 0,

from errors of nested subsamples. As in :mod:`mercer.theory.learning_surface`, a grid of rates and
nonnegative least squares give an estimate with its interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from mercer.contracts import Array
from mercer.theory.learning_surface import WITHIN, Estimate, weighed

#: Fewest points of a curve whose exponent can be estimated.
FEWEST = 5
#: A power law fits if no point is further from it than this factor.
MISFIT = 1.15


@dataclass(frozen=True)
class PowerLaw:
    """``value = constant * at^exponent``, from a curve in logarithmic scales.

    Attributes
    ----------
    exponent, constant : float
        Of the least-squares line; NaN if there are too few points.
    low, high : float
        The least and the largest exponent of any half of the curve: what the choice of the range
        is worth.
    misfit : float
        The largest factor between the curve and the law.
    points : int
        Number of points.

    Examples
    --------
    >>> at = np.geomspace(1e-4, 1, 10)
    >>> law = PowerLaw.of(at, 3 * at**-0.5)
    >>> round(law.exponent, 6), round(law.constant, 6), law.fits
    (-0.5, 3.0, True)
    >>> PowerLaw.of(at, 1 + np.log(1 / at) ** 3).verdict
    'not a power law: the exponent is between -1.09 and -0.43'
    """

    exponent: float
    constant: float
    low: float
    high: float
    misfit: float
    points: int

    @classmethod
    def of(cls, at: Array, value: Array) -> PowerLaw:
        """Fit a line to the logarithms."""
        x, y = np.log(at), np.log(value)
        if len(x) < FEWEST:
            return cls(np.nan, np.nan, np.nan, np.nan, np.inf, len(x))
        slope, offset = np.polyfit(x, y, 1)
        half = max(3, len(x) // 2)
        slopes = [
            float(np.polyfit(x[start : start + half], y[start : start + half], 1)[0])
            for start in range(len(x) - half + 1)
        ]
        misfit = float(np.exp(np.abs(y - slope * x - offset).max()))
        low, high = min(slopes), max(slopes)
        return cls(float(slope), float(np.exp(offset)), low, high, misfit, len(x))

    @property
    def known(self) -> bool:
        """Whether there were enough points."""
        return self.points >= FEWEST

    @property
    def fits(self) -> bool:
        """Whether the curve is close to a power law."""
        return self.known and self.misfit <= MISFIT

    @property
    def verdict(self) -> str:
        """Whether a power law fits, in words."""
        if not self.known:
            return f"too few points to tell ({self.points})"
        if self.fits:
            return f"a power law fits within {self.misfit - 1:.0%}"
        return f"not a power law: the exponent is between {self.low:.2f} and {self.high:.2f}"


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

"""Exponents of curves that may be power laws, and whether they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array

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

"""How the error depends on rows and functions.

.. math:: e(n, M) = \\sigma^2 + C n^{-\\beta} + D M^{-\\delta}

with all three constants at least 0: the noise, what more rows would gain, and what more functions
would gain. Of nested subsamples of an exact kernel only the first two are there. For fixed
exponents the constants are linear, so nonnegative least squares find them for every exponent of a
grid. All laws that fit nearly as well as the best give intervals, and their mean, weighted by how
well they fit, is the estimate: few sizes can seldom tell a slow fall from a fast one to a higher
noise.

Curves without noise, such as dimensions by alpha, are lines in logarithmic scales if they are power
laws, which they need not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from mercer.contracts import Array

#: Exponents of surfaces that are tried, and those of curves in the number of rows.
RATES = np.linspace(0.05, 1.0, 39)
GAINS = np.linspace(0.1, 2.0, 20)
DECAYS = np.linspace(0.02, 1.0, 50)
#: Laws with a sum of squares up to the least, plus this many of its mean squares, are as good: an
#: interval of about 95 %.
WITHIN = 4.0
#: Relative standard error of a single measured error, at the least: the surface is no law. And of
#: the mean of several.
ROUGH, SMALLEST = 0.01, 1e-3
#: Fewest points of a curve whose exponent can be estimated.
FEWEST = 5
#: A power law fits if no point is further from it than this factor.
MISFIT = 1.15


@dataclass(frozen=True)
class Point:
    """A measured error: its mean and standard error over training sets."""

    rows: float
    functions: float
    error: float
    deviation: float
    family: str = "landmarks"


@dataclass(frozen=True)
class Estimate:
    """A value, with the lowest and the highest that are as good."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Array, weights: Array) -> Estimate:
        """Return the weighted mean of values that are as good, and the least and the largest."""
        return cls(float(weights @ values), float(values.min()), float(values.max()))

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def fitted_laws(
    designs: Iterable[tuple[list[float], Array]], error: Array, weight: Array, freedom: int
) -> tuple[Array, Array]:
    """Return all laws that fit nearly as well as the best one, which is first, and their weights.

    A design has exponents, and the columns that nonnegative constants multiply; a law is a row of
    exponents and constants.
    """
    found, squares = [], []
    for exponents, columns in designs:
        # Columns of very different size would be lost in rounding.
        scale = np.linalg.norm(columns * weight[:, None], axis=0)
        constants, left = nnls(columns * (weight[:, None] / scale), error * weight)
        found.append([*exponents, *(constants / scale)])
        squares.append(left**2)
    every = np.asarray(squares)
    unit = max(1.0, float(every.min()) / freedom)
    kept = np.argsort(every)
    kept = kept[every[kept] <= every.min() + WITHIN * unit]
    weights = np.exp(-(every[kept] - every.min()) / (2 * unit))
    return np.array(found)[kept], weights / weights.sum()


@dataclass(frozen=True)
class Surface:
    """``e(n, M) = noise + C n^-rate + D M^-gain``, with a D for every family of functions.

    The rows of ``candidates`` are surfaces that fit, the best one first, with their ``weights``;
    columns are rate, gain, noise, C, and D by family. ``misfit`` is the largest relative distance
    of a measured error from the estimate.

    Examples
    --------
    >>> sizes = [(n, m) for n in (100, 400, 1600) for m in (50, 100, 200)]
    >>> points = [Point(n, m, 0.1 + n**-0.5 + 2 / m, 0.001) for n, m in sizes]
    >>> surface = Surface.of(points)
    >>> found = surface.at(10_000, 1000)
    >>> bool(found.low <= 0.112 <= found.high and abs(found.value - 0.112) < 0.01)
    True
    """

    families: tuple[str, ...]
    candidates: Array
    weights: Array
    misfit: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> Surface:
        """Fit the surface to measured errors."""
        families = tuple(dict.fromkeys(point.family for point in points))
        n = np.array([point.rows for point in points])
        m = np.array([point.functions for point in points])
        error = np.array([point.error for point in points])
        deviation = np.array([point.deviation for point in points])
        # Errors are asked for beyond the largest sizes, so those near them count more.
        near = np.sqrt(n / n.max() * m / m.max())
        weight = near / np.maximum(deviation, ROUGH * np.maximum(error, 1e-12))
        member = np.array([[point.family == family for family in families] for point in points])
        ones = np.ones(len(n))
        designs = (
            ([rate, gain], np.column_stack([ones, n**-rate, m[:, None] ** -gain * member]))
            for rate in RATES
            for gain in GAINS
        )
        laws = fitted_laws(designs, error, weight, max(1, len(points) - 4 - len(families)))
        surface = cls(families, *laws, misfit=0.0)
        fitted = np.array([surface.at(p.rows, p.functions, p.family).value for p in points])
        return replace(surface, misfit=float(np.max(np.abs(fitted / np.maximum(error, 1e-12) - 1))))

    def at(self, rows: float, functions: float, family: str = "landmarks") -> Estimate:
        """Return the error at n rows and M functions."""
        rate, gain, noise, rows_constant = self.candidates[:, :4].T
        constant = self.candidates[:, 4 + self.families.index(family)]
        values = noise + rows_constant * rows**-rate + constant * functions**-gain
        return Estimate.of(values, self.weights)

    @property
    def rate(self) -> Estimate:
        """beta, by which the error above the noise falls with the rows."""
        return Estimate.of(self.candidates[:, 0], self.weights)

    @property
    def noise(self) -> Estimate:
        """The part of the error that neither rows nor functions reduce."""
        return Estimate.of(self.candidates[:, 2], self.weights)


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
        designs = (([rate], np.column_stack([np.ones(len(n)), n**-rate])) for rate in DECAYS)
        laws, weights = fitted_laws(designs, mean, weight, max(1, len(n) - 3))
        return cls(Estimate.of(laws[:, 0], weights), Estimate.of(laws[:, 1], weights))


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

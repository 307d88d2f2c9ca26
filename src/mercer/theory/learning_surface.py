"""How the error depends on rows and functions.

.. math:: e(n, M) = \\sigma^2 + C n^{-\\beta} + D M^{-\\delta}

with all three constants at least 0: the noise, what more rows would gain, and what more functions
would gain. For fixed exponents the constants are linear, so nonnegative least squares find them
for every pair of exponents of a grid. All surfaces that fit nearly as well as the best give
intervals, and their mean, weighted by how well they fit, is the estimate: few sizes can seldom tell
a slow fall from a fast one to a higher noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from mercer.contracts import Array

#: Exponents that are tried.
RATES = np.linspace(0.05, 1.0, 39)
GAINS = np.linspace(0.1, 2.0, 20)
#: Surfaces with a sum of squares up to the least, plus this many of its mean squares, are as good:
#: an interval of about 95 %.
WITHIN = 4.0
#: Relative standard error of a single measured error, at the least: the surface is no law.
ROUGH = 0.01


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


def weighed(squares: Sequence[float], within: float, freedom: int) -> tuple[Array, Array]:
    """Return which fits are nearly as good as the best, the best one first, and their weights."""
    every = np.asarray(squares)
    unit = max(1.0, float(every.min()) / freedom)
    kept = np.argsort(every)
    kept = kept[every[kept] <= every.min() + within * unit]
    weights = np.exp(-(every[kept] - every.min()) / (2 * unit))
    return kept, weights / weights.sum()


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
        found, squares = [], []
        for rate in RATES:
            for gain in GAINS:
                columns = np.column_stack([np.ones(len(n)), n**-rate, m[:, None] ** -gain * member])
                # Columns of very different size would be lost in rounding.
                scale = np.linalg.norm(columns * weight[:, None], axis=0)
                constants, left = nnls(columns * (weight[:, None] / scale), error * weight)
                found.append([rate, gain, *(constants / scale)])
                squares.append(left**2)
        kept, weights = weighed(squares, WITHIN, max(1, len(points) - 4 - len(families)))
        surface = cls(families, np.array([found[at] for at in kept]), weights, 0.0)
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

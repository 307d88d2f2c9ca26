"""How the error depends on rows and functions.

.. math:: e(n, M) = \\sigma^2 + C n^{-\\beta} + D M^{-\\delta}

with all three constants at least 0: the noise, what more rows would gain, and what more functions
would gain. For fixed exponents the constants are linear, so a grid of exponents and nonnegative
least squares find the best surface, and all surfaces that fit nearly as well give intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class Surface:
    """``e(n, M) = noise + C n^-rate + D M^-gain``, with a D for every family of functions.

    The first row of ``candidates`` is the best; columns are rate, gain, noise, C, and D by family.
    ``misfit`` is the largest relative distance of a measured error from the best surface.

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
        best = int(np.argmin(squares))
        freedom = max(1, len(points) - 4 - len(families))
        limit = squares[best] + WITHIN * max(1.0, squares[best] / freedom)
        order = np.argsort(squares)
        kept = [at for at in order if squares[at] <= limit]
        surface = cls(families, np.array([found[at] for at in kept]), 0.0)
        fitted = np.array([surface.at(p.rows, p.functions, p.family).value for p in points])
        return cls(families, surface.candidates, float(np.max(np.abs(fitted / error - 1))))

    def at(self, rows: float, functions: float, family: str = "landmarks") -> Estimate:
        """Return the error at n rows and M functions."""
        rate, gain, noise, rows_constant = self.candidates[:, :4].T
        constant = self.candidates[:, 4 + self.families.index(family)]
        values = noise + rows_constant * rows**-rate + constant * functions**-gain
        return _estimate(values)

    @property
    def rate(self) -> Estimate:
        """beta, by which the error above the noise falls with the rows."""
        return _estimate(self.candidates[:, 0])

    @property
    def noise(self) -> Estimate:
        """The part of the error that neither rows nor functions reduce."""
        return _estimate(self.candidates[:, 2])


def _estimate(values: Array) -> Estimate:
    return Estimate(float(values[0]), float(values.min()), float(values.max()))

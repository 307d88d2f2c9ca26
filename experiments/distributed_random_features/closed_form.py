"""Periodic splines of order 1/2 and 1 with all harmonics, which are infinite where t is whole."""

from __future__ import annotations

import numpy as np
from scipy.special import binom, zeta

from experiments.scaffold import Array

#: The Riemann zeta function at 1/2.
ZETA_HALF = -1.4603545088095868
#: Terms of the series in (t - 1/2)^2, which fall by a factor of 9 each.
TERMS = 15


def order_one(t: Array) -> Array:
    """Return ``1 + 2 sum_(k>=1) cos(2 pi k t) / k = 1 - 2 log(2 sin(pi t))``.

    >>> order_one(np.array([0.5])).round(6)  # 1 - 2 log 2
    array([-0.386294])
    """
    return np.asarray(1.0 - 2.0 * np.log(2.0 * np.sin(np.pi * np.mod(t, 1.0))))


def order_half(t: Array) -> Array:
    """Return ``1 + 2 sum_(k>=1) cos(2 pi k t) / k^(1/2) = 1 + zeta(1/2, t) + zeta(1/2, 1 - t)``.

    Hurwitz's formula. With ``zeta(s, t) = t^-s + zeta(s, 1 + t)`` the singular parts come off, and
    the rest is a series around t = 1/2 whose coefficients are values of zeta at 3/2.

    >>> order_half(np.array([0.5])).round(6)  # 1 - 2 (sqrt(2) - 1) |zeta(1/2)|
    array([-0.209797])
    """
    t = np.mod(t, 1.0)
    even = np.polynomial.polynomial.polyval((t - 0.5) ** 2, _rest(), tensor=False)
    return np.asarray(1.0 / np.sqrt(t) + 1.0 / np.sqrt(1.0 - t) + even)


def _rest() -> Array:
    """Return the coefficients of ``1 + zeta(1/2, 1 + t) + zeta(1/2, 2 - t)`` in (t - 1/2)^2."""
    k = 2 * np.arange(1, TERMS)
    first = (np.sqrt(2.0) - 1.0) * ZETA_HALF - np.sqrt(2.0)  # zeta(1/2, 3/2)
    return np.concatenate([[1.0 + 2.0 * first], 2.0 * binom(-0.5, k) * zeta(0.5 + k, 1.5)])

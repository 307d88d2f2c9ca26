"""The periodic spline with finitely many harmonics, which the paper's harder problems need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.scaffold import Array
from mercer.kernels import Kernel

#: As many harmonics as the authors sum in code that they published.
HARMONICS = 500
#: Points of the table. Between them values are interpolated, to 1e-4 of the highest harmonic.
TABLE = 2**17


@lru_cache(maxsize=8)
def _table(order: float, harmonics: int) -> Array:
    spectrum = np.zeros(TABLE // 2 + 1)
    spectrum[0] = TABLE
    k = np.arange(1, 1 + (1 if np.isinf(order) else harmonics))
    spectrum[k] = TABLE * k ** (-order)
    values = np.fft.irfft(spectrum, n=TABLE)
    return np.append(values, values[0])


def spline(t: Array, order: float, harmonics: int = HARMONICS) -> Array:
    """Return ``1 + 2 sum_(1 <= k <= harmonics) cos(2 pi k t) / k^order``.

    >>> spline(np.array([0.0, 0.5]), np.inf)
    array([ 3., -1.])
    """
    table = _table(float(order), harmonics)
    position = np.mod(t, 1.0) * TABLE
    left = np.minimum(position.astype(np.intp), TABLE - 1)
    position -= left
    below = table[left]
    return np.asarray(below + position * (table[left + 1] - below))


@dataclass(frozen=True)
class CutFeatures:
    """Splines around knots in [0, 1]."""

    knots: Array  # (M,)
    order: float
    harmonics: int

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return len(self.knots)

    def __call__(self, X: Array, precision: str, out: Array | None = None) -> Array:
        """Return the splines around each knot."""
        values = spline(np.asarray(X)[:, :1] - self.knots, self.order, self.harmonics)
        if out is None:
            return values.astype(precision, copy=False)
        out[...] = values
        return out


class CutSpline(Kernel):
    """The periodic spline kernel on [0, 1] without the harmonics above a number.

    Order 1, which gamma = 1 asks for, is the harmonic series at x = z: without a cut K(x, x) is
    infinite, and ``mercer.PeriodicSpline`` rightly refuses it.

    >>> CutSpline(order=1.0)(np.array([[0.25]])).round(3)  # 1 + 2 (1 + 1/2 + ... + 1/500)
    array([[14.586]])
    """

    bounded = True
    scratch = 7

    def __init__(self, order: float = 1.0, harmonics: int = HARMONICS) -> None:
        self.order = order
        self.harmonics = harmonics

    def against(self, Z: Array, precision: str = "float64") -> Callable[..., Array]:
        """Return X -> K(X, Z)."""
        functions = CutFeatures(np.asarray(Z)[:, 0], self.order, self.harmonics)
        return lambda X, out=None: functions(X, precision, out)

    def diag(self, X: Array) -> Array:
        """Return K(x, x), the same for all x."""
        return np.full(X.shape[0], spline(np.zeros(1), self.order, self.harmonics)[0])

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> CutFeatures:
        """Draw knots uniformly; the features are splines of half the order."""
        return CutFeatures(rng.random(size), self.order / 2, self.harmonics)

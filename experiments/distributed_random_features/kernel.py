"""The periodic spline with some harmonics, or with all, which the paper's harder problems need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.distributed_random_features.closed_form import order_half, order_one
from experiments.scaffold import Array
from mercer.kernels import Kernel

#: As many harmonics as the authors sum in code that they published.
HARMONICS = 500
#: All harmonics.
ALL = np.inf
#: Splines with all harmonics, by order.
CLOSED = {0.5: order_half, 1.0: order_one}


def table_points(harmonics: float) -> int:
    """Return how many values are tabulated: 16 or more to a wave of the highest harmonic.

    >>> table_points(500), table_points(2**18)
    (131072, 4194304)
    """
    return max(2**17, 2 ** int(np.ceil(np.log2(16 * harmonics))))


@lru_cache(maxsize=8)
def _table(order: float, harmonics: int) -> Array:
    points = table_points(harmonics)
    spectrum = np.zeros(points // 2 + 1)
    spectrum[0] = points
    k = np.arange(1, 1 + (1 if np.isinf(order) else harmonics))
    spectrum[k] = points * k ** (-order)
    values = np.fft.irfft(spectrum, n=points)
    return np.append(values, values[0])


def spline(t: Array, order: float, harmonics: float = HARMONICS) -> Array:
    """Return ``1 + 2 sum_(1 <= k <= harmonics) cos(2 pi k t) / k^order``.

    Finite sums are interpolated in a table, sums of all harmonics have closed forms.

    >>> spline(np.array([0.0, 0.5]), np.inf)
    array([ 3., -1.])
    """
    if np.isinf(harmonics) and order in CLOSED:
        return CLOSED[order](t)
    table = _table(float(order), int(min(harmonics, HARMONICS) if np.isinf(order) else harmonics))
    points = len(table) - 1
    position = np.mod(t, 1.0) * points
    left = np.minimum(position.astype(np.intp), points - 1)
    position -= left
    below = table[left]
    return np.asarray(below + position * (table[left + 1] - below))


def distance(
    knots: Array, coefficients: Array, order: float, target_order: float, harmonics: int
) -> float:
    """Return the squared L2 distance of ``sum_j c_j spline(x - w_j)`` to a spline around 0.

    Parseval: the harmonic k of the sum is that of one spline times ``sum_j c_j exp(-2 pi i k
    w_j)``, which one Fourier transform gives for all k, from coefficients on a grid.

    >>> w, c = np.array([0.3, 0.77]), np.array([1.0, -2.0])
    >>> x = np.arange(1024) / 1024
    >>> slow = np.mean((spline(x[:, None] - w, 0.5) @ c - spline(x, 1.0)) ** 2)
    >>> bool(np.isclose(distance(w, c, 0.5, 1.0, 500), slow, rtol=1e-5))
    True
    """
    points = table_points(harmonics)
    position = np.mod(knots, 1.0) * points
    left = position.astype(np.intp)
    share = position - left
    at = np.zeros(points)
    np.add.at(at, left % points, coefficients * (1 - share))
    np.add.at(at, (left + 1) % points, coefficients * share)
    waves = np.fft.rfft(at)[: harmonics + 1]
    k = np.arange(1, harmonics + 1)
    rest = waves[1:] * k**-order - k**-target_order
    return float(abs(waves[0] - 1) ** 2 + 2 * np.sum(abs(rest) ** 2))


@dataclass(frozen=True)
class CutFeatures:
    """Splines around knots in [0, 1]."""

    knots: Array  # (M,)
    order: float
    harmonics: float

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
    infinite, and ``mercer.PeriodicSpline`` rightly refuses it. Its random features are finite
    except at their knots, so they can do without a cut (``harmonics=ALL``).

    >>> CutSpline(order=1.0)(np.array([[0.25]])).round(3)  # 1 + 2 (1 + 1/2 + ... + 1/500)
    array([[14.586]])
    """

    bounded = True
    scratch = 7

    def __init__(self, order: float = 1.0, harmonics: float = HARMONICS) -> None:
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

"""Kernels of functions on the unit interval: the periodic spline and the first Sobolev space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.feature_maps import StoredFeatures, _output
from mercer.kernels.gradients import Scratch, in_tiles, product_over_columns
from mercer.kernels.kernel import Kernel, dense
from mercer.storage.state import Number, Numbers, State
from mercer.validation import check_number

_HARMONICS = 2**15
_GRID = 2**17


@lru_cache(maxsize=16)
def _bernoulli_polynomial(q: int) -> tuple[float, ...]:
    """Coefficients of the Bernoulli polynomial of degree q, lowest power first, from fractions."""
    numbers: list[Fraction] = []
    for m in range(q + 1):
        total = sum((math.comb(m + 1, k) * b for k, b in enumerate(numbers)), Fraction(0))
        numbers.append(Fraction(1) if m == 0 else -total / (m + 1))
    return tuple(float(math.comb(q, j) * numbers[q - j]) for j in range(q + 1))


@lru_cache(maxsize=16)
def _table(order: float, derivative: bool = False) -> Array:
    """The series 1 + 2 sum_k cos(2 pi k t) / k^order on a grid of t in [0, 1], by one FFT."""
    coefficients = np.zeros(_GRID // 2 + 1, dtype=complex)
    k = np.arange(1, _HARMONICS + 1)
    coefficients[1 : _HARMONICS + 1] = _GRID * k ** (-order) * (2j * np.pi * k) ** derivative
    coefficients[0] = 0.0 if derivative else _GRID
    values = np.fft.irfft(coefficients, n=_GRID)
    return np.append(values, values[0])


def _interpolated(table: Array, t: Array) -> Array:
    """Return the values of a table on [0, 1), between its entries by straight lines."""
    position = t * _GRID
    left = position.astype(np.intp)
    share = position - left
    return np.asarray(table[left] * (1 - share) + table[np.minimum(left + 1, _GRID)] * share)


def _has_closed_form(order: float) -> bool:
    return order == int(order) and int(order) % 2 == 0 and order <= 16


def periodic_spline(t: Array, order: float) -> Array:
    """Return ``1 + 2 sum_(k>=1) cos(2 pi k t) / k^order``, periodic in t.

    Even orders have a closed form in Bernoulli polynomials. An infinite order keeps only the first
    cosine. Other orders sum 32768 harmonics (tabulated and interpolated linearly).

    >>> t = np.array([0.0, 0.25])
    >>> periodic_spline(t, 2.0).round(4)  # 1 + pi^2 / 3 at 0
    array([4.2899, 0.5888])
    """
    t = np.mod(t, 1.0)
    if np.isinf(order):
        return np.asarray(1.0 + 2.0 * np.cos(2 * np.pi * t))
    if _has_closed_form(order):
        q = int(order)
        value = np.polynomial.polynomial.polyval(t, _bernoulli_polynomial(q))
        scale = (2 * np.pi) ** q / math.factorial(q)
        return np.asarray(1.0 - (-1.0) ** (q // 2) * scale * value)
    return _interpolated(_table(float(order)), t)


def periodic_spline_slope(t: Array, order: float) -> Array:
    """Return ``-4 pi sum_(k>=1) k sin(2 pi k t) / k^order``, the derivative, for orders from 2 on.

    At the kink of order 2 it is the mean of the one-sided ones, 0.

    >>> periodic_spline_slope(np.array([0.0, 0.25]), 2.0).round(4)  # -pi^2 at 1/4
    array([ 0.    , -9.8696])
    """
    t = np.mod(t, 1.0)
    if np.isinf(order):
        return np.asarray(-4 * np.pi * np.sin(2 * np.pi * t))
    if not _has_closed_form(order):
        return _interpolated(_table(float(order), derivative=True), t)
    q = int(order)
    value = np.polynomial.polynomial.polyval(t, _bernoulli_polynomial(q - 1))
    scale = (2 * np.pi) ** q / math.factorial(q - 1)
    return np.where(t == 0.0, 0.0, -((-1.0) ** (q // 2)) * scale * value)


@dataclass(frozen=True)
class SplineFeatures(StoredFeatures):
    """``psi_j(x) = Lambda_(order)(x - w_j)`` with w_j uniform on [0, 1], a product over columns."""

    state = State(
        knots=Numbers("d m"),
        order=Number(above=0.5, must="order of the features must be greater than 0.5, got {value}"),
    )
    knots: Array  # (d, M)
    order: float

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return int(self.knots.shape[1])

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the splines around each knot."""
        out = _output(X, self.size, precision, out)
        out[...] = 1.0
        for column, knots in zip(dense(X).T, self.knots, strict=True):
            out *= periodic_spline(column[:, None] - knots, self.order)
        return out

    @property
    def has_gradient(self) -> bool:
        """Whether the slope of the splines is bounded: the order is 2 or more."""
        return self.order >= 2

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the gradient of the products over columns."""
        if not self.has_gradient:
            return super().gradient(X, C, precision, weight)
        return product_over_columns(
            dense(X),
            self.knots.T,
            lambda x, z: periodic_spline(x - z, self.order),
            lambda x, z: periodic_spline_slope(x - z, self.order),
            C,
            weight,
            np.empty((C.shape[1], *X.shape), dtype=precision),
        )


class PeriodicSpline(Kernel):
    """The periodic spline kernel of order q: a product over columns, each with period 1.

    .. math:: \\Lambda_q(x, z) = 1 + 2 \\sum_{k=1}^\\infty \\frac{\\cos(2\\pi k (x - z))}{k^q}

    Its random features are splines of half the order:
    :math:`\\int_0^1 \\Lambda_{q/2}(x, w) \\Lambda_{q/2}(z, w)\\,dw = \\Lambda_q(x, z)` (Wahba,
    1990; Rudi and Rosasco, 2017).

    Parameters
    ----------
    order : float
        q, above 1 (infinity keeps the constant and the first cosine).

    Examples
    --------
    >>> PeriodicSpline(order=2)(np.array([[0.0], [0.5]])).round(3)
    array([[ 4.29 , -0.645],
           [-0.645,  4.29 ]])
    """

    bounded = True
    may_scale = False
    scratch = 7

    def __init__(self, order: float = 2.0) -> None:
        self.order = order

    def check_parts(self) -> None:
        """Raise ValueError if the series does not converge."""
        if not (isinstance(self.order, (int, float)) and self.order == np.inf):
            check_number(self.order, "order of PeriodicSpline", above=1.0)

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        map_ = SplineFeatures(dense(Z).T, self.order)
        return lambda X, out=None: map_(X, precision, out)

    @property
    def has_gradient(self) -> bool:
        """Whether the slope is bounded: the order is 2 or more."""
        return self.order >= 2

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient of the products over columns; with order 2 there is a kink."""
        if not self.has_gradient:
            return super().gradient(Z, precision)
        map_ = SplineFeatures(dense(Z).T, self.order)

        def tile(X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
            return map_.gradient(X, C, precision, weight)

        return in_tiles(tile, map_.size, precision)

    def diag(self, X: Rows) -> Array:
        """Return K(x, x), the same for all x."""
        return np.full(X.shape[0], periodic_spline(np.zeros(1), self.order)[0] ** X.shape[1])

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> SplineFeatures:
        """Draw knots uniformly; the features are splines of half the order."""
        return SplineFeatures(rng.random((n_features, size)), self.order / 2)


class Sobolev(Kernel):
    """The first-order Sobolev kernel on [0, 1], ``K(x, z) = prod_j (1 + min(x_j, z_j))``.

    In one dimension its space consists of the functions with a square-integrable derivative, with
    ``||f||^2 = f(0)^2 + integral of f'(x)^2``.

    Examples
    --------
    >>> Sobolev()(np.array([[0.2]]), np.array([[0.1], [0.5]]))
    array([[1.1, 1.2]])
    """

    bounded = True
    may_scale = False
    nonnegative = True
    has_gradient = True

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = self._checked(Z)

        def block(X: Rows, out: Array | None = None) -> Array:
            rows = self._checked(X)
            out = _output(rows, len(points), precision, out)
            out[...] = 1.0
            for column, knots in zip(rows.T, points.T, strict=True):
                out *= 1.0 + np.minimum(column[:, None], knots)
            return out

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient of the products over columns; ties are kinks, with half the slope."""
        points = self._checked(Z)

        def tile(X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
            return product_over_columns(
                self._checked(X),
                points,
                lambda x, z: 1.0 + np.minimum(x, z),
                lambda x, z: np.heaviside(z - x, 0.5),
                C,
                weight,
                np.empty((C.shape[1], *X.shape), dtype=precision),
            )

        return in_tiles(tile, len(points), precision)

    def diag(self, X: Rows) -> Array:
        """Return K(x, x)."""
        return np.asarray(np.prod(1.0 + self._checked(X), axis=1))

    @staticmethod
    def _checked(X: Rows) -> Array:
        rows = dense(X)
        if rows.size and (rows.min() < 0.0):
            raise ValueError(
                f"the Sobolev kernel 1 + min(x, z) needs nonnegative columns (scaled to [0, 1]). "
                f"Negative values in data: {rows.min():g}; try "
                f"sklearn.preprocessing.MinMaxScaler(clip=True)"
            )
        return rows

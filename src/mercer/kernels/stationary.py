"""Kernels of the scaled distance: Gaussian, Laplacian (L1 and L2) and Matern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.bandwidth import is_resolved, resolve_bandwidth
from mercer.kernels.distance_gradients import (
    CityBlockGradient,
    DistanceGradient,
    exponential_slope,
    gaussian_slope,
    once_differentiable_slope,
    twice_differentiable_slope,
)
from mercer.kernels.distances import ScaledDistances
from mercer.kernels.feature_maps import FourierFeatures, gaussian_directions
from mercer.kernels.gradients import in_tiles
from mercer.kernels.kernel import Kernel, dense


class _Stationary(Kernel):
    """Base class: K depends only on (x - z) / bandwidth, and K(x, x) = 1."""

    bounded = True
    shift_invariant = True
    has_gradient = True
    learns = "full"
    metric = "euclidean"
    bandwidth: Any

    def fitted(self, X: Rows) -> _Stationary:
        """Return a copy with the bandwidth as numbers."""
        bandwidth = resolve_bandwidth(self.bandwidth, X, self.metric)
        if is_resolved(self.bandwidth):
            return self
        return self._with(bandwidth=bandwidth)

    def with_bandwidth(self, bandwidth: float | Array) -> _Stationary:
        """Return a copy with a different bandwidth."""
        return self._with(bandwidth=bandwidth)

    def diag(self, X: Rows) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])

    def _scale(self, directions: Array) -> Array:
        return np.asarray(directions / (self.bandwidth * np.ones(len(directions)))[:, None])


class _Profile:
    """A block kernel computed from distances, ``shape(-d^2/2)``, in place."""

    def __init__(self, distances: ScaledDistances, shape: Callable[[Array], Array]) -> None:
        self.distances = distances
        self.shape = shape

    def __call__(self, X: Rows, out: Array | None = None) -> Array:
        return self.shape(self.distances(X, out))


class Gaussian(_Stationary):
    """The Gaussian kernel ``K(x, z) = exp(-||x - z||^2 / (2 bandwidth^2))``.

    Parameters
    ----------
    bandwidth : float, array of shape (d,), "auto" or "median"
        Length scale: one number for all columns, or one per column. "median" uses the median
        distance between rows; "auto" is part of an estimator's search, and "median" elsewhere.

    Examples
    --------
    >>> Gaussian(bandwidth=1.0)(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    accepts_sparse = True

    def __init__(self, bandwidth: float | Array | str = "auto") -> None:
        self.bandwidth = bandwidth

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        return _Profile(
            ScaledDistances(Z, self.bandwidth, precision), lambda value: np.exp(value, out=value)
        )

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient, in which ``-2 k'(s) = exp(-s / 2)``."""
        block = DistanceGradient(Z, self.bandwidth, precision, gaussian_slope)
        return in_tiles(block, Z.shape[0], precision)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> FourierFeatures:
        """Draw cosines with frequencies N(0, 1 / bandwidth^2)."""
        frequencies = self._scale(gaussian_directions(n_features, size, rng, orthogonal))
        return FourierFeatures.draw(frequencies, rng)


class Matern(_Stationary):
    """The Matern kernel of smoothness nu = 1/2, 3/2 or 5/2; with ``r = ||x - z|| / bandwidth``:

    - nu = 1/2: ``exp(-r)``
    - nu = 3/2: ``(1 + sqrt(3) r) exp(-sqrt(3) r)``
    - nu = 5/2: ``(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)``

    Parameters
    ----------
    nu : 0.5, 1.5 or 2.5
        Smoothness: functions are nu - 1/2 times differentiable in mean square.
    bandwidth : float, array of shape (d,), "auto" or "median"
        Length scale.

    Examples
    --------
    >>> Matern(nu=1.5, bandwidth=1.0)(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.483],
           [0.483, 1.   ]])
    """

    accepts_sparse = True
    scratch = 4

    def __init__(self, nu: float = 1.5, bandwidth: float | Array | str = "auto") -> None:
        self.nu = nu
        self.bandwidth = bandwidth

    def check_parts(self) -> None:
        """Raise ValueError if there is no formula for nu."""
        if self.nu not in _SHAPES:
            raise ValueError(
                f"nu of Matern must be 0.5, 1.5 or 2.5, got {self.nu!r}; for a smoother kernel "
                f"use Gaussian()"
            )

    def fitted(self, X: Rows) -> _Stationary:
        """Check nu and return a copy with the bandwidth as numbers."""
        self.check_parts()
        return super().fitted(X)

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        # As a function of the squared distance, the kernel has a slope of -3/2 (nu = 3/2) or -5/6
        # (nu = 5/2) at 0: errors are not magnified. For nu = 1/2 the slope is infinite.
        distances = ScaledDistances(Z, self.bandwidth, "float64" if self.nu == 0.5 else precision)
        shape, units = _SHAPES[self.nu], -4.0 * self.nu

        def block(X: Rows, out: Array | None = None) -> Array:
            if out is None:
                out = np.empty((X.shape[0], distances.n_points), dtype=precision)
            distances(X, out)
            if self.nu == 0.5:
                distances.recompute_near(X, out)
            out *= units  # 2 nu ||x - z||^2
            return shape(np.sqrt(out, out=out))

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient; for nu = 1/2 that of ``K(x, x)``, a kink, is left out."""
        slope, kink = _SLOPES[self.nu], self.nu == 0.5
        block = DistanceGradient(Z, self.bandwidth, precision, slope, kink)
        return in_tiles(block, Z.shape[0], precision)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> FourierFeatures:
        """Draw cosines with Student-t frequencies of 2 nu degrees of freedom."""
        directions = gaussian_directions(n_features, size, rng, orthogonal)
        directions *= np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, size=size))
        return FourierFeatures.draw(self._scale(directions), rng)


class LaplacianL2(Matern):
    """The Laplacian kernel of the L2 distance, ``K(x, z) = exp(-||x - z||_2 / bandwidth)``.

    Also called exponential, or Matern with nu = 1/2.

    Parameters
    ----------
    bandwidth : float, array of shape (d,), "auto" or "median"
        Length scale.

    Examples
    --------
    >>> LaplacianL2(bandwidth=2.0)(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).round(3)
    array([[0.082]])
    """

    #: Smoothness, always 1/2.
    nu = 0.5

    def __init__(self, bandwidth: float | Array | str = "auto") -> None:
        self.bandwidth = bandwidth


class LaplacianL1(_Stationary):
    """The Laplacian kernel of the L1 distance, ``K(x, z) = exp(-||x - z||_1 / bandwidth)``.

    This is scikit-learn's ``laplacian_kernel`` with ``gamma = 1 / bandwidth``; it is a product over
    columns. It computes differences one by one, so it is slower than the L2 form.

    Parameters
    ----------
    bandwidth : float, array of shape (d,), "auto" or "median"
        Length scale; "median" uses the median L1 distance between rows.

    Examples
    --------
    >>> LaplacianL1(bandwidth=2.0)(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).round(3)
    array([[0.03]])
    """

    metric = "cityblock"
    learns = "diagonal"

    def __init__(self, bandwidth: float | Array | str = "auto") -> None:
        self.bandwidth = bandwidth

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z) / self.bandwidth

        def block(X: Rows, out: Array | None = None) -> Array:
            if out is None:
                out = np.empty((X.shape[0], len(points)), dtype=precision)
            np.negative(cdist(dense(X) / self.bandwidth, points, "cityblock"), out=out)
            return np.exp(out, out=out)

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return ``-sum_j c_j K(x, z_j) sign(x - z_j) / bandwidth``, column by column."""
        block = CityBlockGradient(Z, self.bandwidth, precision, self.against(Z, precision))
        return in_tiles(block, Z.shape[0], precision)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> FourierFeatures:
        """Draw cosines with Cauchy frequencies."""
        if orthogonal:
            raise ValueError(
                "orthogonal=True needs a kernel based on the L2 distance, got LaplacianL1; try "
                "LaplacianL2()"
            )
        return FourierFeatures.draw(self._scale(rng.standard_cauchy((n_features, size))), rng)


# Matern kernels as functions of ``r = sqrt(2 nu) ||x - z||``, which is finite, in place.


def _exponential(r: Array) -> Array:
    np.negative(r, out=r)
    return np.exp(r, out=r)


def _once_differentiable(r: Array) -> Array:
    factor = np.negative(r)
    np.exp(factor, out=factor)
    r += 1.0
    r *= factor
    return r


def _twice_differentiable(r: Array) -> Array:
    square = r * r
    square /= 3.0
    square += r
    square += 1.0
    _exponential(r)
    r *= square
    return r


_SHAPES = {0.5: _exponential, 1.5: _once_differentiable, 2.5: _twice_differentiable}
_SLOPES = {
    0.5: exponential_slope,
    1.5: once_differentiable_slope,
    2.5: twice_differentiable_slope,
}

"""Kernels made of others: sums, products, and a kernel in a metric, ``K(P's(x), P's(z))``.

Centered columns would make sparse rows dense. A kernel of differences does not see the shift of a
metric, so that of sparse rows is left out on both sides; others get it as a row of its own.
"""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
from scipy import sparse

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.feature_maps import (
    FeatureMap,
    FeaturesInMetric,
    MultipliedFeatures,
    StackedFeatures,
)
from mercer.kernels.gradients import Scratch, in_tiles, weighted
from mercer.kernels.kernel import Kernel
from mercer.kernels.metric import Metric
from mercer.storage.state import Sizes, check_state


class _Pair(Kernel):
    """Two kernels; nested parameters are ``left__bandwidth`` and so on."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    @property
    def bounded(self) -> bool:
        """Whether both parts are bounded."""
        return self.left.bounded and self.right.bounded

    @property
    def scratch(self) -> int:
        """The scratch blocks of the parts, plus the values of the second part."""
        return max(self.left.scratch, self.right.scratch) + 1

    @property
    def accepts_sparse(self) -> bool:
        """Whether both parts accept sparse rows."""
        return self.left.accepts_sparse and self.right.accepts_sparse

    @property
    def shift_invariant(self) -> bool:
        """Whether both parts are."""
        return self.left.shift_invariant and self.right.shift_invariant

    @property
    def has_gradient(self) -> bool:
        """Whether both parts have a gradient."""
        return self.left.has_gradient and self.right.has_gradient

    @property
    def nonnegative(self) -> bool:
        """Whether a part needs columns without negative values."""
        return self.left.nonnegative or self.right.nonnegative

    @property
    def may_scale(self) -> bool:
        """Whether columns may be scaled for both parts."""
        return self.left.may_scale and self.right.may_scale

    @property
    def has_units(self) -> bool:
        """Whether the units of the columns matter to a part."""
        return self.left.has_units or self.right.has_units

    @property
    def learns(self) -> str | None:
        """The metrics that both parts can learn."""
        forms = (self.left.learns, self.right.learns)
        return None if None in forms else "diagonal" if "diagonal" in forms else "full"

    def check_parts(self) -> None:
        """Raise TypeError if a part is not a kernel."""
        for side, part in (("left", self.left), ("right", self.right)):
            if not isinstance(part, Kernel):
                raise TypeError(
                    f"{side} of {type(self).__name__} must be a kernel object, got {part!r}"
                )
            part.check_parts()

    def check_restored(self, sizes: Sizes) -> None:
        """Check both parts."""
        self.check_parts()
        check_state(self.left, **sizes)
        check_state(self.right, **sizes)

    def fitted(self, X: Rows) -> _Pair:
        """Return a copy with both parts fitted."""
        self.check_parts()
        return type(self)(self.left.fitted(X), self.right.fitted(X))

    def _parts(self, Z: Rows, precision: Precision) -> tuple[BlockKernel, BlockKernel]:
        return self.left.against(Z, precision), self.right.against(Z, precision)

    def _gradients(self, Z: Rows, precision: Precision) -> tuple[BlockGradient, BlockGradient]:
        return self.left.gradient(Z, precision), self.right.gradient(Z, precision)


class Sum(_Pair):
    """``K(x, z) = K_left(x, z) + K_right(x, z)``; written ``left + right``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian(1.0) + Linear())(np.array([[1.0]]))
    array([[2.]])
    """

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        left, right = self._parts(Z, precision)

        def block(X: Rows, out: Array | None = None) -> Array:
            out = left(X, out)
            out += right(X)
            return out

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the sum of the gradients."""
        left, right = self._gradients(Z, precision)

        def block(X: Rows, C: Array, weight: Array | None = None) -> Array:
            out = left(X, C, weight)
            out += right(X, C, weight)
            return out

        return block

    def diag(self, X: Rows) -> Array:
        """Return K(x, x)."""
        return np.asarray(self.left.diag(X) + self.right.diag(X))

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> StackedFeatures:
        """Draw half the features from each part."""
        halves = (size - size // 2, max(1, size // 2))
        return StackedFeatures(
            tuple(
                part.feature_map(half, n_features, rng, orthogonal)
                for part, half in zip((self.left, self.right), halves, strict=True)
            )
        )


class Product(_Pair):
    """``K(x, z) = K_left(x, z) K_right(x, z)``; written ``left * right``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian(1.0) * Linear())(np.array([[3.0]]))
    array([[9.]])
    """

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        left, right = self._parts(Z, precision)

        def block(X: Rows, out: Array | None = None) -> Array:
            out = left(X, out)
            out *= right(X)
            return out

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient, ``K_right grad K_left + K_left grad K_right``."""
        blocks, gradients = self._parts(Z, precision), self._gradients(Z, precision)
        n_points = Z.shape[0]

        def tile(X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
            values = scratch.take("values", (X.shape[0], n_points), precision)
            out = gradients[0](X, C, weighted(blocks[1](X, values), weight))
            out += gradients[1](X, C, weighted(blocks[0](X, values), weight))
            return out

        return in_tiles(tile, n_points, precision)

    def diag(self, X: Rows) -> Array:
        """Return K(x, x)."""
        return np.asarray(self.left.diag(X) * self.right.diag(X))

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> MultipliedFeatures:
        """Draw from both parts independently and multiply elementwise."""
        parts: list[FeatureMap] = [
            part.feature_map(size, n_features, rng, orthogonal) for part in (self.left, self.right)
        ]
        if len({part.size for part in parts}) > 1:
            raise ValueError(
                "random features are not available for a product with the linear kernel; try "
                "basis='landmarks'"
            )
        return MultipliedFeatures(tuple(parts))


#: Threads wait for one of them to prepare the points: twice would take twice the memory.
_preparing = threading.Lock()


class InMetric(Kernel):
    """``K(P's(x), P's(z))``: a kernel in a metric.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the coordinates.
    metric : Metric
        The map from rows to coordinates.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> InMetric(Gaussian(1.0), Metric(None, np.array([1.0, 0.0])))(np.array([[0., 7.], [1., 2.]]))
    array([[1.        , 0.60653066],
           [0.60653066, 1.        ]])
    """

    def __init__(self, kernel: Kernel, metric: Metric) -> None:
        self.kernel = kernel
        self.metric = metric

    @property
    def bounded(self) -> bool:
        """Whether the kernel is bounded."""
        return self.kernel.bounded

    @property
    def scratch(self) -> int:
        """The scratch blocks of the kernel."""
        return self.kernel.scratch

    @property
    def has_gradient(self) -> bool:
        """Whether the kernel has a gradient."""
        return self.kernel.has_gradient

    @property
    def accepts_sparse(self) -> bool:
        """Whether the kernel does, and the metric keeps rows sparse."""
        return self.kernel.accepts_sparse and self.metric.accepts_sparse

    def check_parts(self) -> None:
        """Raise TypeError if a part has the wrong type."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel of InMetric must be a kernel object, got {self.kernel!r}")
        if not isinstance(self.metric, Metric):
            raise TypeError(f"metric of InMetric must be a Metric, got {self.metric!r}")
        self.kernel.check_parts()

    def check_restored(self, sizes: Sizes) -> None:
        """Check both parts."""
        self.check_parts()
        check_state(self.metric, **sizes)
        check_state(self.kernel, d=self.metric.size(sizes["d"]))

    def fitted(self, X: Rows) -> InMetric:
        """Return a copy with the kernel fitted to coordinates."""
        self.check_parts()
        return InMetric(self.kernel.fitted(self.metric(X)), self.metric)

    @property
    def _leaves_out_shifts(self) -> bool:
        return self.kernel.shift_invariant and self.metric.accepts_sparse

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        if self._leaves_out_shifts:
            return _UpToShift(self.kernel, self.metric, Z, precision)
        block, metric = self.kernel.against(self.metric(Z), precision), self.metric
        return lambda X, out=None: block(metric(X), out)

    def _gram(self, X: Rows) -> Array:
        left_out = hasattr(X, "tocsr") and self._leaves_out_shifts
        metric = self.metric.uncentered if left_out else self.metric
        return self.kernel._gram(metric(X))  # coordinates once, not for rows and for points

    def diag(self, X: Rows) -> Array:
        """Return K(x, x)."""
        return self.kernel.diag(self.metric(X))

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient in x: that in the coordinates, pulled back."""
        block, metric = self.kernel.gradient(self.metric(Z), precision), self.metric

        def gradient(X: Rows, C: Array, weight: Array | None = None) -> Array:
            return metric.pull_back(X, block(metric(X), C, weight))

        return gradient

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> FeaturesInMetric:
        """Draw features of the coordinates."""
        columns = self.metric.size(n_features)
        return FeaturesInMetric(
            self.kernel.feature_map(size, columns, rng, orthogonal), self.metric
        )


class _UpToShift:
    """X -> K(X, Z) for a kernel of differences; without centers if rows or points are sparse."""

    def __init__(self, kernel: Kernel, metric: Metric, Z: Rows, precision: Precision) -> None:
        self.kernel, self.metric, self.Z, self.precision = kernel, metric, Z, precision
        self.centered = (
            None if hasattr(Z, "tocsr") else self.kernel.against(self.metric(Z), precision)
        )

    @cached_property
    def _uncentered(self) -> BlockKernel:
        points = self.metric.uncentered(sparse.csr_array(self.Z))
        return self.kernel.against(points, self.precision)

    def __call__(self, X: Rows, out: Array | None = None) -> Array:
        if self.centered is not None and not hasattr(X, "tocsr"):
            return self.centered(self.metric(X), out)
        with _preparing:
            block = self._uncentered
        return block(self.metric.uncentered(X), out)

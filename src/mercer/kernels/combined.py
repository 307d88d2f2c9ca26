"""Sums and products of kernels."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.combined_features import MultipliedFeatures, StackedFeatures
from mercer.kernels.feature_maps import FeatureMap
from mercer.kernels.gradients import Scratch, in_tiles, weighted
from mercer.kernels.kernel import Kernel


class _Pair(Kernel):
    """Two kernels; nested parameters are ``left__bandwidth`` and so on."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether both parts are bounded."""
        return self.left.bounded and self.right.bounded

    @property
    def scratch(self) -> int:  # type: ignore[override]
        """The scratch blocks of the parts, plus the values of the second part."""
        return max(self.left.scratch, self.right.scratch) + 1

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether both parts accept sparse rows."""
        return self.left.accepts_sparse and self.right.accepts_sparse

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Whether both parts have a gradient."""
        return self.left.has_gradient and self.right.has_gradient

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Whether a part needs columns without negative values."""
        return self.left.nonnegative or self.right.nonnegative

    @property
    def may_scale(self) -> bool:  # type: ignore[override]
        """Whether columns may be scaled for both parts."""
        return self.left.may_scale and self.right.may_scale

    @property
    def has_units(self) -> bool:
        """Whether the units of the columns matter to a part."""
        return self.left.has_units or self.right.has_units

    @property
    def learns(self) -> str | None:  # type: ignore[override]
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

    def check_state(self, n_features: int) -> None:
        """Check both parts."""
        self.check_parts()
        self.left.check_state(n_features)
        self.right.check_state(n_features)

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

"""A kernel in a metric: ``K_P(x, z) = K(P's(x), P's(z))``."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.combined_features import FeaturesInMetric
from mercer.kernels.kernel import Kernel
from mercer.kernels.metric import Metric


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
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether the kernel is bounded."""
        return self.kernel.bounded

    @property
    def scratch(self) -> int:  # type: ignore[override]
        """The scratch blocks of the kernel."""
        return self.kernel.scratch

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Whether the kernel has a gradient."""
        return self.kernel.has_gradient

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether the kernel does, and the metric keeps rows sparse."""
        return self.kernel.accepts_sparse and self.metric.accepts_sparse

    def check_parts(self) -> None:
        """Raise TypeError if a part has the wrong type."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel of InMetric must be a kernel object, got {self.kernel!r}")
        if not isinstance(self.metric, Metric):
            raise TypeError(f"metric of InMetric must be a Metric, got {self.metric!r}")
        self.kernel.check_parts()

    def check_state(self, n_features: int) -> None:
        """Check both parts."""
        self.check_parts()
        self.metric.check_state(n_features)
        self.kernel.check_state(self.metric.size(n_features))

    def fitted(self, X: Rows) -> InMetric:
        """Return a copy with the kernel fitted to coordinates."""
        self.check_parts()
        return InMetric(self.kernel.fitted(self.metric(X)), self.metric)

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        block, metric = self.kernel.against(self.metric(Z), precision), self.metric
        return lambda X, out=None: block(metric(X), out)

    def _gram(self, X: Rows) -> Array:
        return self.kernel._gram(self.metric(X))  # coordinates once, not for rows and for points

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

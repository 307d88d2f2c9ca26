"""Random functions whose products average to the kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer.bases.base import BasisTransformer
from mercer.bases.landmarks import DEFAULT_SIZE
from mercer.contracts import Array, Precision, Rows, RowSource
from mercer.kernels import Kernel
from mercer.kernels.bandwidth import SAMPLE
from mercer.sampling import uniform_indices
from mercer.validation import check_count, check_flag


class RandomFeatures(BasisTransformer):
    """Random features ``h_j(x) = psi(x, w_j) / sqrt(M)`` with ``E[psi(x, w) psi(z, w)] = K(x, z)``.

    Cosines for the Gaussian, Laplacian and Matern kernels (Rahimi and Recht, 2007), rectified units
    for the arc-cosine kernel, splines for the periodic spline. The functions do not depend on the
    rows (but for a bandwidth taken from them), so shards can share them by a seed.

    Parameters
    ----------
    n_components : int or None
        M, the number of features; None means 2000.
    orthogonal : bool
        Draw frequencies with orthogonal directions: the same mean, a lower variance.
    kernel : str, Kernel or None
        The kernel when the basis is used alone (None: Gaussian). In an estimator leave it None.
    random_state : int, Generator, RandomState or None
        Seed of the draw. In an estimator None means the estimator's.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0]])
    >>> Z = RandomFeatures(20000, kernel=Gaussian(1.0), random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5)) < 0.02)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        orthogonal: bool = False,
        kernel: str | Kernel | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.kernel = kernel
        self.random_state = random_state

    def wanted_size(self, n_rows: int) -> int:
        """M before any limit."""
        if self.n_components is None:
            return DEFAULT_SIZE
        return check_count(self.n_components, "n_components of RandomFeatures")

    def fit_source(
        self,
        source: RowSource,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        lean: bool = False,
    ) -> Self:
        """Resolve the kernel on a sample of rows and draw the functions."""
        check_flag(self.orthogonal, "orthogonal")
        pilot = np.zeros((1, source.n_features))
        if kernel.needs_rows:
            pilot = self._taken(source, uniform_indices(source.n_rows, SAMPLE, rng))
        self.kernel_ = kernel.fitted(pilot)
        self.features_ = self.kernel_.feature_map(
            self.wanted_size(source.n_rows), source.n_features, rng, self.orthogonal
        )
        self.precision_ = precision
        return self

    @property
    def size(self) -> int:
        """M, the number of features (the columns of X for the linear kernel)."""
        return self.features_.size

    def evaluate(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``psi(x, w_j) / sqrt(M)``."""
        out = self.features_(X, self.precision_, out)
        out *= 1.0 / np.sqrt(self.size)
        return out

    def gram(self) -> None:
        """Return None: the functions count as orthonormal."""
        return

    def resized(self, size: int) -> RandomFeatures:
        """Return a copy that asks for ``size`` features."""
        return clone(self).set_params(n_components=size)  # type: ignore[no-any-return]

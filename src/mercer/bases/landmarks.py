"""Kernel functions at M chosen points (Nystroem)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer.bases.base import BasisTransformer
from mercer.bases.grading import CUT, Grading, ordered_cholesky, trusted_precision
from mercer.bases.whitening import Whitener
from mercer.contracts import Array, Precision, Rows, RowSource
from mercer.kernels import Kernel, Precomputed
from mercer.kernels.bandwidth import SAMPLE
from mercer.kernels.base import dense
from mercer.sampling import kmeans_centers, uniform_indices
from mercer.validation import MercerWarning, check_choice, check_count, check_finite, check_overflow

#: M when nothing says otherwise: in an estimator the plan may lower it to fit the memory limit.
DEFAULT_SIZE = 2000


class Landmarks(BasisTransformer):
    """The Nystroem basis ``h_j(x) = K(z_j, x)``, with Gram matrix ``K(z_i, z_j)``.

    As a transformer its coordinates z(x) satisfy ``z(x)'z(x') = k_Z(x)' K_ZZ^+ k_Z(x')``, the best
    approximation of the kernel in the span of the landmarks (Williams and Seeger, 2001).

    Parameters
    ----------
    n_components : int or None
        M, the number of landmarks. None means 2000, or fewer where there are fewer rows or the
        memory limit of the estimator is lower.
    sampling : "uniform", "kmeans" or array of shape (M, d)
        How landmarks are chosen: rows without replacement, cluster centers, or the points given.
    kernel : str, Kernel or None
        The kernel when the basis is used alone (None: Gaussian). In an estimator leave it None.
    random_state : int, Generator, RandomState or None
        Seed of the choice. In an estimator None means the estimator's.

    Examples
    --------
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> features = Landmarks(n_components=20, random_state=0).fit_transform(X)
    >>> from mercer.kernels import Gaussian
    >>> bool(np.abs(features @ features.T - Gaussian()(X)).max() < 1e-4)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        sampling: str | Array = "uniform",
        kernel: str | Kernel | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sampling = sampling
        self.kernel = kernel
        self.random_state = random_state

    def wanted_size(self, n_rows: int) -> int:
        """M before any limit: what was asked for, or the default, at most the rows."""
        if not isinstance(self.sampling, str):
            return len(self.sampling)
        asked = DEFAULT_SIZE
        if self.n_components is not None:
            asked = check_count(self.n_components, "n_components of Landmarks")
        return min(asked, n_rows)

    def fit_source(
        self,
        source: RowSource,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
    ) -> Self:
        """Choose landmarks from a source, resolve the kernel on them, and order them by pivots."""
        size = self.wanted_size(source.n_rows)
        asked = self.n_components if isinstance(self.sampling, str) else None
        if asked is not None and asked > source.n_rows:
            warnings.warn(
                f"n_components={asked} is more than the {source.n_rows} rows: reduced to "
                f"{source.n_rows}. Lower n_components, or leave it None",
                MercerWarning,
                stacklevel=2,
            )
        self.indices_: Array | None = None
        if not isinstance(self.sampling, str):
            points = self._given(source.n_features)
        elif check_choice(self.sampling, "sampling", ["uniform", "kmeans"]) == "uniform":
            self.indices_ = uniform_indices(source.n_rows, size, rng)
            points = self._taken(source, self.indices_)
        else:
            # Fifty rows a cluster place a center as well as all rows would.
            pool = self._taken(source, uniform_indices(source.n_rows, 50 * size, rng))
            points = kmeans_centers(pool, size, rng)
        if isinstance(kernel, Precomputed):
            if self.indices_ is None:
                raise ValueError(
                    "a precomputed kernel has no points to cluster or to be given: use "
                    "Landmarks(sampling='uniform')"
                )
            return self._order(dense(points)[:, self.indices_], kernel, precision, may_widen)
        pilot = points
        if size < min(SAMPLE, source.n_rows) or self.indices_ is None:
            # Few landmarks, or points that are no rows, say little of the distances between rows.
            pilot = self._taken(source, uniform_indices(source.n_rows, SAMPLE, rng))
        return self._order(points, kernel.fitted(pilot), precision, may_widen)

    def _given(self, n_features: int) -> Array:
        points = np.array(self.sampling, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != n_features or len(points) == 0:
            raise ValueError(
                f"landmarks given as sampling= must have shape (M, {n_features}), one column a "
                f"column of X, got {points.shape}"
            )
        check_finite(points, what="landmarks")
        return points

    def _order(self, points: Rows, kernel: Kernel, precision: Precision, may_widen: bool) -> Self:
        """Put landmarks in the order of their pivots; leave out those that others span."""
        points = dense(points)
        cut = CUT["float64" if may_widen else precision]
        gram = kernel(points)
        check_overflow(gram, "float64")
        self.factor_, pivots = ordered_cholesky(gram, cut)
        self.n_dropped_ = len(points) - len(pivots)
        if may_widen:
            precision = trusted_precision(self.factor_, precision)
        points = points[pivots]
        if self.indices_ is not None:
            self.indices_ = self.indices_[pivots]
        if isinstance(kernel, Precomputed):
            points = points[:, pivots]
        return self._place(points, kernel, precision)

    def _place(self, points: Rows, kernel: Kernel, precision: Precision) -> Self:
        self.kernel_ = kernel
        self.landmarks_ = dense(points)
        self.precision_ = precision
        self._block = self.kernel_.against(self.landmarks_, precision)
        self.__dict__.pop("_cached_grading", None)
        return self

    @property
    def size(self) -> int:
        """M, the number of landmarks."""
        return len(self.landmarks_)

    def evaluate(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``K(x, z_j)``."""
        if isinstance(self.kernel_, Precomputed):
            X = X[:, self.indices_]
        return self._block(X, out)

    def gram(self) -> Array:
        """Return ``K(z_i, z_j)`` in float64."""
        return self.kernel_(self.landmarks_)

    @property
    def _grading(self) -> Grading:
        found: Grading | None = self.__dict__.get("_cached_grading")
        if found is None:
            found = self._cached_grading = Grading(self.factor_, self.precision_)
        return found

    def graded(self, X: Rows, out: Array | None = None, spare: Array | None = None) -> Array:
        """Return the values of graded functions (see :mod:`mercer.bases.grading`)."""
        return self._grading.apply(self.evaluate(X, out), spare)

    def whitener(self) -> Whitener:
        """Return the whitener of the graded functions."""
        return self._grading.whitener()

    def coefficients(self, graded: Array) -> Array:
        """Return coefficients of h for coefficients of the graded functions."""
        return self._grading.coefficients(graded)

    def __getstate__(self) -> dict[str, Any]:
        # These are cheap to rebuild, and the block kernel holds closures.
        state = dict(super().__getstate__())
        state.pop("_block", None)
        state.pop("_cached_grading", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "landmarks_" in state:
            self._block = self.kernel_.against(self.landmarks_, self.precision_)

    def resized(self, size: int) -> Landmarks:
        """Return a copy that asks for ``size`` landmarks."""
        return clone(self).set_params(n_components=size)  # type: ignore[no-any-return]

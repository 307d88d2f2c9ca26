"""Bases with nearly dependent functions, which are orthogonalized before they are summed."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np

from mercer.bases.basis import BasisTransformer, tile_rows
from mercer.bases.orthogonalization import (
    CUT,
    Orthogonalization,
    first_columns,
    leading_order,
    ordered_cholesky,
    residual_trace,
)
from mercer.bases.whitening import Whitener
from mercer.contracts import Array, BlockKernel, Precision, Rows
from mercer.engines.local import blas_threads, one_core
from mercer.kernels import Kernel
from mercer.kernels.kernel import dense
from mercer.precision import trusted_precision
from mercer.storage.state import Count, Numbers, Sizes
from mercer.validation import check_array, check_overflow, warn

#: The saved fields that say which rows of the source became points.
CHOSEN = {
    "indices_": Numbers("indices", kind="iu", label="indices", optional=True),
    "n_dropped_": Count(0, label="n_dropped"),
}
#: Points at which both precisions are compared.
COMPARED = 64


class NarrowValues:
    """``K(x, z_j)`` in float32, and how far that is from float64.

    Parameters
    ----------
    kernel : Kernel
        A bounded kernel, with numbers for its parameters.
    points : array of shape (M, d)
        The points z.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> values = NarrowValues(Gaussian(1.0), np.random.default_rng(0).random((50, 3)))
    >>> values.block(np.zeros((2, 3))).dtype, bool(1e-9 < values.error < 1e-7)
    (dtype('float32'), True)
    """

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.kernel, self.points = kernel, points
        self.block = kernel.against(points, "float32")

    @cached_property
    def error(self) -> float:
        """The root mean square difference from values in float64, at some of the points."""
        rows = self.points[:: max(1, len(self.points) // COMPARED)]
        wide = self.kernel.against(self.points, "float64")(rows)
        return float(np.sqrt(np.mean((wide - self.block(rows)) ** 2)))


#: Columns of L with pivots above this, relative to the largest, are the same to rounding wherever
#: they are computed: the relative error is that of a double, over the pivot.
REMADE = 1e-9


class OrthogonalizedBasis(BasisTransformer):
    """Functions made of ``K(z, .)`` at fixed points z, with a Gram matrix ``Gamma = L L'``.

    Sums over rows use orthogonalized functions with the same span (see
    :mod:`mercer.bases.orthogonalization`). Subclasses name the points and define ``evaluate`` and
    ``gram``.
    """

    projects = True
    #: The attribute that holds the points.
    _points: str
    factor_: Array
    neighbors_: tuple[Array, Array]
    n_dropped_: int
    _block: BlockKernel
    _lost_to_float32 = 0.0  # not in files
    _made_again: int  # of a copy that was sent: how many columns of L to factor

    @property
    def lost_to_float32(self) -> float:
        """What dropped functions have outside the span of others, in squared norms."""
        return self._lost_to_float32

    @property
    def kept_points(self) -> Array:
        """The points that define the functions."""
        found: Array = getattr(self, self._points)
        return found

    def _warn_if_reduced(self, n_rows: int) -> None:
        size: Any = self.n_components
        if isinstance(size, Integral) and int(size) > n_rows:
            warn(
                f"n_components={size} is more than the {n_rows} rows: reduced to {n_rows}. Lower "
                f"n_components, or leave it None"
            )

    def _factorize(
        self, gram: Array, precision: Precision, may_widen: bool
    ) -> tuple[Array, Precision]:
        """Factor Gamma; return the order of the kept functions, and the precision."""
        check_overflow(gram, "float64")
        cut = CUT["float64" if may_widen else precision]
        self.factor_, order = ordered_cholesky(gram, cut)
        self.n_dropped_ = len(gram) - len(order)
        if may_widen:
            precision = trusted_precision(self.factor_, precision)
        elif precision == "float32" and self.n_dropped_:
            self._lost_to_float32 = residual_trace(gram, self.factor_, order)
        ordered = gram[np.ix_(order, order)]
        made = Orthogonalization.of(ordered, self.factor_, precision)
        self.neighbors_ = made.neighbors, made.weights
        return order, precision

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError unless the points have the columns of rows, and valid indices."""
        name, precomputed = self._points.rstrip("_"), self.kernel_.pairwise
        points, columns = (sizes["points"], sizes["columns"]), sizes["d"]
        if points[1] != (points[0] if precomputed else columns) or not points[0]:
            wanted = "one column each" if precomputed else f"{columns} columns"
            raise ValueError(f"{name} must have {wanted}, got shape {points}")
        if self.indices_ is not None:
            check_array(self.indices_, "indices", points[:1], "iu")
            if self.indices_.min() < 0 or (precomputed and self.indices_.max() >= columns):
                raise ValueError(f"indices of {name} must be valid row indices")
        elif precomputed:
            raise ValueError(f"{name} of a precomputed kernel must have indices")

    @property
    def factors(self) -> tuple[Array, Array, Array] | None:
        """L, and the predecessors of functions and their weights; None if L is not known."""
        return (self.factor_, *self.neighbors_) if hasattr(self, "factor_") else None

    def restore_factors(self, factors: object) -> None:
        """Set L, lower triangular with a positive diagonal, and the predecessors of functions."""
        if not isinstance(factors, tuple) or len(factors) != 3:
            raise ValueError("the factors must be L, predecessors and their weights")
        factor, neighbors, weights = factors
        check_array(factor, "the factor", (self.size, self.size))
        if np.any(np.triu(factor, 1)) or np.any(np.diagonal(factor) <= 0):
            raise ValueError("the factor must be lower triangular with a positive diagonal")
        check_array(neighbors, "predecessors", (None, None), "iu")
        check_array(weights, "weights of predecessors", neighbors.shape)
        if len(neighbors) > self.size:
            raise ValueError(f"predecessors must be of at most {self.size} functions")
        later = neighbors >= np.arange(len(neighbors))[:, None]
        if np.any(neighbors < 0) or np.any(weights[later]):
            raise ValueError("predecessors must come before their functions")
        self.factor_, self.neighbors_ = factor, (neighbors, weights)

    def bind(self) -> None:
        """Prepare K(., z), and the orthogonalization."""
        points = dense(self.kept_points)
        setattr(self, self._points, points)
        self._block = self.kernel_.against(points, self.precision_)
        self.__dict__.pop("_cached_orthogonalization", None)
        self.__dict__.pop("_cached_narrow", None)

    def _factorize_leading(self, diagonal: Array, column_of: Callable[[int], Array]) -> Array:
        """Factor only the columns needed to orthogonalize; return the order of the functions."""
        self.factor_, order = leading_order(diagonal, column_of, CUT["float64"])
        self.n_dropped_ = 0
        nobody = np.zeros((len(order) - self.factor_.shape[1], 0))
        self.neighbors_ = nobody.astype(np.int32), nobody
        return order

    @property
    def _orthogonalization(self) -> Orthogonalization:
        found: Orthogonalization | None = self.__dict__.get("_cached_orthogonalization")
        if found is None:
            found = self._cached_orthogonalization = Orthogonalization(
                self.factor_, self.precision_, *self.neighbors_
            )
        return found

    def orthogonalized(self, X: Rows, out: Array | None = None) -> Array:
        """Return the values of the orthogonalized functions, in column-major order."""
        if out is None:
            out = np.empty((self.size, X.shape[0]), dtype=self.precision_).T
        return self._orthogonalization.apply(self.evaluate(X, out))

    def whitener(self) -> Whitener:
        """Return the whitener of the orthogonalized functions."""
        return self._orthogonalization.whitener()

    def coefficients(self, orthogonalized: Array) -> Array:
        """Return the coefficients of h, given those of the orthogonalized functions."""
        return self._orthogonalization.coefficients(orthogonalized)

    def widen(self) -> None:
        """Evaluate in float64 from now on."""
        self.precision_ = "float64"
        self.bind()

    def vectors(self, t: Array) -> Array:
        """Return the sums of the orthogonalized functions, given the sums t of h."""
        return self._orthogonalization.vectors(t)

    def orthogonalized_gram(self, rows: slice) -> Array:
        """Return rows of the orthogonalized functions' Gram matrix, from ``rows.start`` on."""
        factor = self._orthogonalization.whitener().factor
        assert factor is not None
        return np.asarray(factor[rows] @ factor[rows.start :].T)

    def penalty(self, c: Array, exact: bool = False) -> Array:
        """Return ``Gamma c``, from ``Gamma = L L'``."""
        return np.asarray(self.factor_ @ (self.factor_.T @ c))

    @property
    def _narrow(self) -> NarrowValues:
        found: NarrowValues | None = self.__dict__.get("_cached_narrow")
        if found is None:
            found = self._cached_narrow = NarrowValues(self.kernel_, self.kept_points)
        return found

    def narrow_noise(self, coefficients: Array) -> float:
        """Return the largest ``e ||c||`` of all outputs, if the kernel is bounded."""
        if not self.kernel_.bounded:
            return np.inf
        weights, _ = self.expansion(coefficients)
        return self._narrow.error * float(np.linalg.norm(weights, axis=0).max(initial=0.0))

    def prediction(
        self, coefficients: Array, precision: Precision | None = None
    ) -> tuple[Callable[[Rows, Array], Array], Array, int]:
        """Return the kernel at all points, and the coefficients of :meth:`expansion`."""
        weights, points = self.expansion(coefficients)
        if precision in (None, self.precision_):
            return self._kernel_values, weights, len(points)
        return self._narrow.block, weights, len(points)

    def _kernel_values(self, X: Rows, out: Array | None = None) -> Array:
        """Return ``K(x, z)`` for every point z."""
        if self.kernel_.pairwise:
            X = X[:, self.indices_]
        return self._block(X, out)

    @property
    def has_gradient(self) -> bool:
        """Whether the kernel has a gradient."""
        return self.kernel_.has_gradient

    def gradients(self, coefficients: Array) -> Callable[[Rows], Array]:
        """Return the gradient of f as a sum of kernel functions, a few rows at a time."""
        c, points = self.expansion(coefficients)
        block, step = self.kernel_.gradient(points, self.precision_), tile_rows(len(points))

        def gradients(X: Rows) -> Array:
            if X.shape[0] <= step:
                return block(X, c)
            out = np.empty((c.shape[1], *X.shape), dtype=self.precision_)
            for start in range(0, X.shape[0], step):
                out[:, start : start + step] = block(X[start : start + step], c)
            return out

        return gradients

    def without_whitener(self) -> Self:
        """Return a copy with only the columns of L that orthogonalization needs."""
        leading = self._orthogonalization.leading
        if not 0 < leading < self.factor_.shape[1]:
            return self
        found = copy.copy(self)
        found.factor_ = np.ascontiguousarray(self.factor_[:, :leading])
        found.__dict__.pop("_cached_orthogonalization", None)
        return found

    def sent(self, whitened: bool = False) -> Self:
        """Return a copy that is sent as points: L is factored again where they arrive.

        The last columns of an ill-conditioned L depend on rounding. Orthogonalization needs the
        same L everywhere, so then its columns are sent. Predecessors, if any, are always sent.
        """
        light = self if whitened else self.without_whitener()
        pivots = np.diagonal(light.factor_) ** 2
        if not whitened and len(pivots) and pivots.min() < REMADE * pivots.max():
            return light
        found = copy.copy(light)
        if not found.kernel_.pairwise:
            found.indices_ = None  # which rows the points were
        found._made_again = light.factor_.shape[1]
        return found if found._make_again() else light

    def _make_again(self) -> bool:
        """Factor the first columns of Gamma; return whether that was possible."""
        # On one thread the digits do not depend on how many there are.
        with one_core(), blas_threads(1):
            found = first_columns(self._first_columns(self._made_again))
        self.__dict__.pop("_cached_orthogonalization", None)
        if found is not None:
            self.factor_ = found
        return found is not None

    def _first_columns(self, number: int) -> Array:
        """Return the first columns of Gamma, (M, number)."""
        gram = self.gram()
        assert gram is not None
        return gram[:, :number]

    def digest(self) -> int:
        """Return a checksum of L."""
        return zlib.crc32(np.ascontiguousarray(self.factor_).tobytes())

    def __getstate__(self) -> dict[str, Any]:
        # These are cheap to rebuild, and the block kernel contains closures.
        state = dict(super().__getstate__())
        state.pop("_block", None)
        state.pop("_cached_orthogonalization", None)
        state.pop("_cached_narrow", None)
        if "_made_again" in state:
            state.pop("factor_")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._points in state:
            self.bind()
        if "_made_again" in state and not self._make_again():
            raise ValueError(
                f"the functions of {type(self).__name__} must be the same on all workers, but this "
                f"one rounds differently: use workers with the same processor and libraries"
            )

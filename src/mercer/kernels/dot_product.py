"""Kernels of the inner product: linear, polynomial and arc-cosine."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.feature_maps import ColumnFeatures, ReluFeatures, gaussian_directions
from mercer.kernels.gradients import in_tiles
from mercer.kernels.inner_product_gradients import ArcCosineGradient, InnerProductGradient
from mercer.kernels.kernel import Kernel, dense
from mercer.validation import check_count, check_number


def _inner_products(X: Rows, points: Array) -> Array:
    rows = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    return np.asarray(rows @ points.T)


def _squared_norms(X: Rows) -> Array:
    if hasattr(X, "tocsr"):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    rows = np.asarray(X, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _store(value: Array, precision: Precision, out: Array | None) -> Array:
    if out is None:
        return value.astype(precision, copy=False)
    out[...] = value
    return out


class Linear(Kernel):
    """The linear kernel ``K(x, z) = x'z``: ridge regression on the columns.

    Examples
    --------
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    accepts_sparse = True
    has_gradient = True

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z)
        return lambda X, out=None: _store(_inner_products(X, points), precision, out)

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient, ``sum_j c_j z_j`` for every row."""
        return in_tiles(InnerProductGradient(Z, precision, None), Z.shape[0], precision)

    def diag(self, X: Rows) -> Array:
        """Return squared norms."""
        return _squared_norms(X)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> ColumnFeatures:
        """Return the columns themselves, whatever ``size`` is: they are exact."""
        return ColumnFeatures(n_features)


class Polynomial(Kernel):
    """The polynomial kernel ``K(x, z) = (gamma x'z + offset)^degree``.

    Parameters
    ----------
    degree : int
        The power, at least 1.
    gamma : float or None
        Scale of the inner product; None means one over the number of columns.
    offset : float
        Nonnegative constant that gives weight to the lower degrees.

    Examples
    --------
    >>> Polynomial(degree=2, gamma=1.0)(np.array([[1.0]]), np.array([[3.0]]))
    array([[16.]])
    """

    accepts_sparse = True
    has_gradient = True

    def __init__(self, degree: int = 3, gamma: float | None = None, offset: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.offset = offset

    def fitted(self, X: Rows) -> Polynomial:
        """Return a copy with gamma as a number."""
        check_count(self.degree, "degree of Polynomial")
        check_number(self.offset, "offset of Polynomial", minimum=0.0)
        if self.gamma is not None:
            check_number(self.gamma, "gamma of Polynomial", above=0.0)
            return self
        return clone(self).set_params(gamma=1.0 / X.shape[1])  # type: ignore[no-any-return]

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z)

        def block(X: Rows, out: Array | None = None) -> Array:
            return _store(self._power(_inner_products(X, points)), precision, out)

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient, with slopes ``degree gamma (gamma x'z + offset)^(degree - 1)``."""
        gamma = 1.0 if self.gamma is None else self.gamma

        def slope(value: Array) -> Array:
            factor = self.degree * gamma
            return np.asarray(factor * (gamma * value + self.offset) ** (self.degree - 1))

        return in_tiles(InnerProductGradient(Z, precision, slope), Z.shape[0], precision)

    def diag(self, X: Rows) -> Array:
        """Return K(x, x)."""
        return self._power(_squared_norms(X))

    def _power(self, value: Array) -> Array:
        gamma = 1.0 if self.gamma is None else self.gamma
        return np.asarray((gamma * value + self.offset) ** self.degree)


class ArcCosine(Kernel):
    """The arc-cosine kernel, an infinitely wide layer of threshold or rectified units.

    .. math:: K(x, z) = 2\\, E_{w \\sim N(0, I)}[(w'x)_+^q (w'z)_+^q]

    With theta the angle between x and z: order q = 0 gives ``1 - theta / pi``, order 1 gives
    ``||x|| ||z|| (sin theta + (pi - theta) cos theta) / pi`` (Cho and Saul, 2009).

    Parameters
    ----------
    order : 0 or 1
        Threshold units or rectified linear units.

    Examples
    --------
    >>> ArcCosine(order=1)(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(3)
    array([[1.   , 0.318]])
    """

    accepts_sparse = True
    has_gradient = True
    scratch = 6

    def __init__(self, order: int = 1) -> None:
        self.order = order

    def fitted(self, X: Rows) -> ArcCosine:
        """Check the order."""
        if self.order not in (0, 1):
            raise ValueError(f"order of ArcCosine must be 0 or 1, got {self.order!r}")
        return self

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = dense(Z)
        lengths = np.sqrt(_squared_norms(points))

        def block(X: Rows, out: Array | None = None) -> Array:
            scale = np.sqrt(_squared_norms(X))[:, None] * lengths
            cosine = np.zeros_like(scale)
            np.divide(_inner_products(X, points), scale, out=cosine, where=scale > 0)
            np.clip(cosine, -1.0, 1.0, out=cosine)
            angle = np.arccos(cosine)
            if self.order == 0:
                return _store(1.0 - angle / np.pi, precision, out)
            value = np.sqrt(1.0 - cosine**2) + (np.pi - angle) * cosine
            return _store(scale * value / np.pi, precision, out)

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient; for order 0 that of parallel rows, at a kink, is left out."""
        return in_tiles(ArcCosineGradient(Z, self.order), Z.shape[0], precision)

    def diag(self, X: Rows) -> Array:
        """Return K(x, x): one for order 0, the squared norm for order 1."""
        return np.ones(X.shape[0]) if self.order == 0 else _squared_norms(X)

    def feature_map(
        self, size: int, n_features: int, rng: np.random.Generator, orthogonal: bool = False
    ) -> ReluFeatures:
        """Draw threshold or rectified units."""
        return ReluFeatures(gaussian_directions(n_features, size, rng, orthogonal), self.order)

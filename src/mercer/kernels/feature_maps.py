"""Functions psi_1..psi_M drawn so that the mean of psi_j(x) psi_j(z) is the kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.contracts import Array, Precision, Rows
from mercer.kernels.gradients import slopes_times_vectors, weighted
from mercer.validation import check_array, check_count


class FeatureMap(Protocol):
    """M functions with E[psi(x) psi(z)] = K(x, z)."""

    @property
    def size(self) -> int:
        """M, the number of functions."""

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return psi(x) for every row: shape (rows, M)."""

    @property
    def has_gradient(self) -> bool:
        """Whether the functions have a gradient."""

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return ``sum_j weight_ij C_jo grad psi_j(x_i)``, of shape (k, rows, d)."""


class StoredFeatures:
    """A feature map that can be stored in a model file and checked when it is loaded."""

    #: Whether :meth:`gradient` is defined.
    has_gradient = False

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if the arrays are not a map of rows with ``n_features`` columns."""
        raise TypeError(f"{type(self).__name__} does not define check_state()")

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return ``sum_j weight_ij C_jo grad psi_j(x_i)``, of shape (k, rows, d)."""
        raise ValueError(f"{type(self).__name__} have no gradient here; try basis='landmarks'")


def check_features(features: Any, n_features: int) -> int:
    """Return the number of functions of a restored map; raise ValueError if it is not a map."""
    if not isinstance(features, StoredFeatures):
        raise ValueError(f"the features must be a feature map, got {type(features).__name__}")
    features.check_state(n_features)
    found: Any = features
    return check_count(int(found.size), "the number of features")


def _output(X: Rows, size: int, precision: Precision, out: Array | None) -> Array:
    return np.empty((X.shape[0], size), dtype=precision) if out is None else out


@dataclass(frozen=True)
class FourierFeatures(StoredFeatures):
    """``psi_j(x) = sqrt(2) cos(w_j'x + b_j)`` (Rahimi and Recht, 2007).

    Frequencies and phases are kept in turns (divided by 2 pi): whole turns are dropped before the
    cosine, so a large phase costs no digits and the cosine can be taken in float32.
    """

    has_gradient = True
    turns: Array  # (d, M)
    phase: Array  # (M,)

    @classmethod
    def draw(cls, frequencies: Array, rng: np.random.Generator) -> FourierFeatures:
        """Take frequencies of shape (d, M) in radians and draw uniform phases."""
        return cls(frequencies / (2 * np.pi), np.asarray(rng.random(frequencies.shape[1])))

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return int(self.phase.size)

    def check_state(self, n_features: int) -> None:
        """Raise ValueError unless there is one frequency per column and function."""
        check_array(self.phase, "phase", (None,))
        check_array(self.turns, "turns", (n_features, self.size))

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return sqrt(2) cos(w'x + b)."""
        out = self._angles(X, precision, out)
        np.cos(out, out=out)
        out *= np.sqrt(2.0)
        return out

    def _angles(self, X: Rows, precision: Precision, out: Array | None) -> Array:
        """Return w'x + b up to whole turns."""
        out = _output(X, self.size, precision, out)
        turns = X @ self.turns if hasattr(X, "tocsr") else np.asarray(X, np.float64) @ self.turns
        turns += self.phase
        turns -= np.rint(turns)
        np.multiply(turns, 2 * np.pi, out=out, casting="same_kind")
        return out

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the gradient, in which that of psi_j is ``-sqrt(2) sin(w_j'x + b_j) w_j``."""
        slopes = self._angles(X, precision, None)
        np.sin(slopes, out=slopes)
        return slopes_times_vectors(
            weighted(slopes, weight), C, self.turns.T * (-2 * np.pi * np.sqrt(2.0))
        )


@dataclass(frozen=True)
class ReluFeatures(StoredFeatures):
    """``psi_j(x) = sqrt(2) max(0, w_j'x)^order`` (Cho and Saul, 2009)."""

    weights: Array  # (d, M)
    order: int

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return int(self.weights.shape[1])

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Whether the functions are more than steps, whose gradient is 0."""
        return self.order > 0

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if the weights have the wrong shape or the order is not 0 or 1."""
        check_array(self.weights, "weights", (n_features, None))
        if self.order not in (0, 1):
            raise ValueError(f"order of the features must be 0 or 1, got {self.order}")

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return sqrt(2) max(0, w'x)^order, the step function for order 0."""
        out = _output(X, self.size, precision, out)
        value = X @ self.weights if hasattr(X, "tocsr") else np.asarray(X, float) @ self.weights
        if self.order == 0:
            np.greater(value, 0.0, out=value, casting="unsafe")
        else:
            np.maximum(value, 0.0, out=value)
            if self.order > 1:
                np.power(value, self.order, out=value)
        np.multiply(value, np.sqrt(2.0), out=out, casting="same_kind")
        return out

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the gradient, in which that of psi_j is sqrt(2) w_j where w_j'x is positive."""
        if not self.has_gradient:
            return super().gradient(X, C, precision, weight)
        steps = replace(self, order=0)(X, precision)
        return slopes_times_vectors(weighted(steps, weight), C, self.weights.T)


@dataclass(frozen=True)
class ColumnFeatures(StoredFeatures):
    """``psi_j(x) = sqrt(M) x_j``: exact for the linear kernel; M is the number of columns."""

    has_gradient = True
    size: int

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if the number of columns differs."""
        if self.size != n_features:
            raise ValueError(f"the features must be {n_features} columns, got {self.size}")

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the columns, scaled."""
        out = _output(X, self.size, precision, out)
        values = X.toarray() if hasattr(X, "tocsr") else X
        np.multiply(values, np.sqrt(self.size), out=out, casting="unsafe")
        return out

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the gradient: the coefficients themselves, scaled."""
        out = np.empty((C.shape[1], *X.shape), dtype=precision)
        out[...] = np.sqrt(self.size) * C.T[:, None, :]
        return weighted(out, weight)


def gaussian_directions(
    n_features: int, size: int, rng: np.random.Generator, orthogonal: bool
) -> Array:
    """Draw ``size`` vectors N(0, I_d) as columns, optionally orthogonal in groups of d.

    Orthogonal directions keep each vector's distribution (a uniform direction, a chi-distributed
    length) and lower the variance of the kernel estimate (Yu et al., 2016).
    """
    if not orthogonal:
        return rng.standard_normal((n_features, size))
    groups = -(-size // n_features)
    directions = []
    for _ in range(groups):
        Q, R = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        # LAPACK's signs are not random: without this the directions are not uniform.
        directions.append(Q * np.sign(np.diagonal(R)))
    lengths = np.sqrt(rng.chisquare(n_features, size=size))
    return np.hstack(directions)[:, :size] * lengths

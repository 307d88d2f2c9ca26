"""Functions psi_1..psi_M drawn so that the mean of psi_j(x) psi_j(z) is the kernel."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.contracts import Array, Precision, Rows
from mercer.validation import check_array, check_count


class FeatureMap(Protocol):
    """M functions with E[psi(x) psi(z)] = K(x, z)."""

    @property
    def size(self) -> int:
        """M, the number of functions."""

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return psi(x) for every row: shape (rows, M)."""


class StoredFeatures:
    """A feature map that can be stored in a model file and checked when it is loaded."""

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if the arrays are not a map of rows with ``n_features`` columns."""
        raise TypeError(f"{type(self).__name__} does not define check_state()")


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
        out = _output(X, self.size, precision, out)
        turns = X @ self.turns if hasattr(X, "tocsr") else np.asarray(X, np.float64) @ self.turns
        turns += self.phase
        turns -= np.rint(turns)
        np.multiply(turns, 2 * np.pi, out=out, casting="same_kind")
        np.cos(out, out=out)
        out *= np.sqrt(2.0)
        return out


@dataclass(frozen=True)
class ReluFeatures(StoredFeatures):
    """``psi_j(x) = sqrt(2) max(0, w_j'x)^order`` (Cho and Saul, 2009)."""

    weights: Array  # (d, M)
    order: int

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return int(self.weights.shape[1])

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


@dataclass(frozen=True)
class ColumnFeatures(StoredFeatures):
    """``psi_j(x) = sqrt(M) x_j``: exact for the linear kernel; M is the number of columns."""

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


@dataclass(frozen=True)
class StackedFeatures(StoredFeatures):
    """Features of a sum of kernels: those of each part, side by side, rescaled."""

    parts: tuple[FeatureMap, ...]

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return sum(part.size for part in self.parts)

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if a part is not a feature map."""
        if not [check_features(part, n_features) for part in self.parts]:
            raise ValueError("stacked features must have at least one part, got none")

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return all parts, each scaled so that the mean over all M is the sum of the kernels."""
        out = _output(X, self.size, precision, out)
        at = 0
        for part in self.parts:
            block = out[:, at : at + part.size]
            np.multiply(part(X, precision), np.sqrt(self.size / part.size), out=block)
            at += part.size
        return out


@dataclass(frozen=True)
class MultipliedFeatures(StoredFeatures):
    """Features of a product of kernels: elementwise products of independent draws."""

    parts: tuple[FeatureMap, ...]

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.parts[0].size

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if a part is not a feature map, or if the sizes differ."""
        if len({check_features(part, n_features) for part in self.parts}) != 1:
            raise ValueError("the parts of multiplied features must all have the same size")

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the product of the parts' values."""
        out = self.parts[0](X, precision, out)
        for part in self.parts[1:]:
            out *= part(X, precision)
        return out


@dataclass(frozen=True)
class WeightedFeatures(StoredFeatures):
    """Features with weights: ``psi_j(x) v_j``."""

    part: FeatureMap
    weights: Array  # (M,)

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.part.size

    def check_state(self, n_features: int) -> None:
        """Raise ValueError unless there is one weight per function."""
        check_array(self.weights, "weights of features", (check_features(self.part, n_features),))

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the values of the features, times their weights."""
        out = self.part(X, precision, out)
        out *= self.weights.astype(precision)
        return out


def chosen_features(features: FeatureMap, indices: Array) -> FeatureMap:
    """Return a subset of the functions, in the order of ``indices``.

    >>> rng = np.random.default_rng(0)
    >>> drawn = FourierFeatures.draw(rng.standard_normal((2, 5)), rng)
    >>> chosen_features(drawn, np.array([3, 1])).phase == drawn.phase[[3, 1]]
    array([ True,  True])
    """
    if isinstance(features, MultipliedFeatures):
        return MultipliedFeatures(tuple(chosen_features(part, indices) for part in features.parts))
    if isinstance(features, (ColumnFeatures, StackedFeatures)) or not is_dataclass(features):
        raise ValueError(
            f"features of a {type(features).__name__.removesuffix('Features').lower()} kind cannot "
            f"be chosen one by one: use sampling='plain', or a kernel that is neither a sum nor "
            f"linear"
        )
    arrays = {
        field.name: value[..., indices]
        for field in fields(features)
        if isinstance(value := getattr(features, field.name), np.ndarray)
    }
    return replace(features, **arrays)


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

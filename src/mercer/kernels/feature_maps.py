"""Functions psi_1..psi_M drawn so that the mean of psi_j(x) psi_j(z) is the kernel.

Maps of kernels that are made of others are side by side, multiplied, weighted, or some functions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.columns.scaling import ShiftedRows
from mercer.contracts import Array, Precision, Rows
from mercer.kernels.gradients import slopes_times_vectors, weighted
from mercer.kernels.metric import Metric
from mercer.storage.state import (
    Each,
    Field,
    Numbers,
    OneOf,
    Part,
    Sizes,
    State,
    check_state,
)
from mercer.validation import check_count


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

    @property
    def has_gradient(self) -> bool:
        """Whether :meth:`gradient` is defined."""
        return False

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return ``sum_j weight_ij C_jo grad psi_j(x_i)``, of shape (k, rows, d)."""
        raise ValueError(f"{type(self).__name__} have no gradient here; try basis='landmarks'")


#: What is said of anything else.
NO_MAP = "the features must be a feature map, got {kind}"


def check_features(features: object, n_features: int) -> int:
    """Return the number of functions of a restored map; raise ValueError if it is not a map."""
    if not isinstance(features, StoredFeatures):
        raise ValueError(f"the features must be a feature map, got {type(features).__name__}")
    check_state(features, d=n_features)
    found: Any = features
    return check_count(int(found.size), "the number of features")


@dataclass(frozen=True)
class Features(Field):
    """A feature map of the columns d; the axis is that of its functions."""

    axis: str

    def check_value(self, value: object, name: str, sizes: Sizes) -> None:
        """Check the map."""
        sizes.setdefault(self.axis, check_features(value, sizes["d"]))


def products(X: Rows, vectors: Array) -> Array:
    """Return ``x'w`` for vectors (d, M), in float64; sparse rows stay sparse, shifted ones too."""
    sparse = hasattr(X, "tocsr") or isinstance(X, ShiftedRows)
    return np.asarray((X if sparse else np.asarray(X, dtype=np.float64)) @ vectors)


def _output(X: Rows, size: int, precision: Precision, out: Array | None) -> Array:
    return np.empty((X.shape[0], size), dtype=precision) if out is None else out


@dataclass(frozen=True)
class FourierFeatures(StoredFeatures):
    """``psi_j(x) = sqrt(2) cos(w_j'x + b_j)`` (Rahimi and Recht, 2007).

    Frequencies and phases are kept in turns (divided by 2 pi): whole turns are dropped before the
    cosine, so a large phase costs no digits and the cosine can be taken in float32.
    """

    has_gradient = True
    state = State(phase=Numbers("m"), turns=Numbers("d m"))
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

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return sqrt(2) cos(w'x + b)."""
        out = self._angles(X, precision, out)
        np.cos(out, out=out)
        out *= np.sqrt(2.0)
        return out

    def _angles(self, X: Rows, precision: Precision, out: Array | None) -> Array:
        """Return w'x + b up to whole turns."""
        out = _output(X, self.size, precision, out)
        turns = products(X, self.turns)
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

    state = State(
        weights=Numbers("d m"),
        order=OneOf((0, 1), must="order of the features must be 0 or 1, got {value}"),
    )
    weights: Array  # (d, M)
    order: int

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return int(self.weights.shape[1])

    @property
    def has_gradient(self) -> bool:
        """Whether the functions are more than steps, whose gradient is 0."""
        return self.order > 0

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return sqrt(2) max(0, w'x)^order, the step function for order 0."""
        out = _output(X, self.size, precision, out)
        value = products(X, self.weights)
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

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if the number of columns differs."""
        if self.size != sizes["d"]:
            raise ValueError(f"the features must be {sizes['d']} columns, got {self.size}")

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


@dataclass(frozen=True)
class StackedFeatures(StoredFeatures):
    """Features of a sum of kernels: those of each part, side by side, rescaled."""

    state = State(parts=Each(Features("m")))
    parts: tuple[FeatureMap, ...]

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return sum(part.size for part in self.parts)

    @property
    def has_gradient(self) -> bool:
        """Whether all parts have a gradient."""
        return all(has_gradient(part) for part in self.parts)

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if there is no part."""
        if not self.parts:
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

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the sum of the parts' gradients."""
        out, at = np.zeros((C.shape[1], *X.shape), dtype=precision), 0
        for part in self.parts:
            columns = slice(at, at + part.size)
            share = None if weight is None else weight[:, columns]
            out += part.gradient(X, np.sqrt(self.size / part.size) * C[columns], precision, share)
            at += part.size
        return out


@dataclass(frozen=True)
class MultipliedFeatures(StoredFeatures):
    """Features of a product of kernels: elementwise products of independent draws."""

    state = State(parts=Each(Features("m")))
    parts: tuple[FeatureMap, ...]

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.parts[0].size

    @property
    def has_gradient(self) -> bool:
        """Whether all parts have a gradient."""
        return all(has_gradient(part) for part in self.parts)

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if the sizes of parts differ."""
        if len({part.size for part in self.parts}) != 1:
            raise ValueError("the parts of multiplied features must all have the same size")

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the product of the parts' values."""
        out = self.parts[0](X, precision, out)
        for part in self.parts[1:]:
            out *= part(X, precision)
        return out

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the gradient by the product rule."""
        values = [part(X, precision) for part in self.parts]
        out = np.zeros((C.shape[1], *X.shape), dtype=precision)
        for at, part in enumerate(self.parts):
            others = np.ones_like(values[at])
            for other in values[:at] + values[at + 1 :]:
                others *= other
            out += part.gradient(X, C, precision, weighted(others, weight))
        return out


@dataclass(frozen=True)
class WeightedFeatures(StoredFeatures):
    """Features with weights: ``psi_j(x) v_j``."""

    state = State(part=Features("m"), weights=Numbers("m", label="weights of features"))
    part: FeatureMap
    weights: Array  # (M,)

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.part.size

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the values of the features, times their weights."""
        out = self.part(X, precision, out)
        out *= self.weights.astype(precision)
        return out

    @property
    def has_gradient(self) -> bool:
        """Whether the features have a gradient."""
        return has_gradient(self.part)

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return the gradient of the features, with weighted coefficients."""
        return self.part.gradient(X, self.weights[:, None] * C, precision, weight)


@dataclass(frozen=True)
class FeaturesInMetric(StoredFeatures):
    """Features of the coordinates ``P's(x)``."""

    state = State(metric=Part(Metric, "d"), features=Part(StoredFeatures, must=NO_MAP))
    features: FeatureMap
    metric: Metric

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.features.size

    @property
    def has_gradient(self) -> bool:
        """Whether the features have a gradient."""
        return has_gradient(self.features)

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if the features are not of the coordinates."""
        check_features(self.features, self.metric.size(sizes["d"]))

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the features of the coordinates."""
        return self.features(self.metric(X), precision, out)

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return gradients in x."""
        found = self.features.gradient(self.metric(X), C, precision, weight)
        return self.metric.pull_back(X, found)


def has_gradient(features: object) -> bool:
    """Return whether a feature map has a gradient; one of your own need not say so.

    >>> from mercer.kernels.feature_maps import FourierFeatures
    >>> rng = np.random.default_rng(0)
    >>> has_gradient(FourierFeatures.draw(rng.standard_normal((2, 5)), rng))
    True
    """
    return bool(getattr(features, "has_gradient", False))


def chosen_features(features: FeatureMap, indices: Array) -> FeatureMap:
    """Return a subset of the functions, in the order of ``indices``.

    >>> from mercer.kernels.feature_maps import FourierFeatures
    >>> rng = np.random.default_rng(0)
    >>> drawn = FourierFeatures.draw(rng.standard_normal((2, 5)), rng)
    >>> chosen_features(drawn, np.array([3, 1])).phase == drawn.phase[[3, 1]]
    array([ True,  True])
    """
    if isinstance(features, MultipliedFeatures):
        return MultipliedFeatures(tuple(chosen_features(part, indices) for part in features.parts))
    if isinstance(features, FeaturesInMetric):
        return replace(features, features=chosen_features(features.features, indices))
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

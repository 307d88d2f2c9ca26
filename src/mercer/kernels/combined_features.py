"""Feature maps made of others: side by side, multiplied, weighted, or some of their functions."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mercer.contracts import Array, Precision, Rows
from mercer.kernels.feature_maps import (
    ColumnFeatures,
    FeatureMap,
    StoredFeatures,
    _output,
    check_features,
)
from mercer.kernels.gradients import weighted
from mercer.kernels.metric import Metric
from mercer.validation import check_array


@dataclass(frozen=True)
class StackedFeatures(StoredFeatures):
    """Features of a sum of kernels: those of each part, side by side, rescaled."""

    parts: tuple[FeatureMap, ...]

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return sum(part.size for part in self.parts)

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Whether all parts have a gradient."""
        return all(has_gradient(part) for part in self.parts)

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

    parts: tuple[FeatureMap, ...]

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.parts[0].size

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Whether all parts have a gradient."""
        return all(has_gradient(part) for part in self.parts)

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

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
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

    features: FeatureMap
    metric: Metric

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return self.features.size

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Whether the features have a gradient."""
        return has_gradient(self.features)

    def check_state(self, n_features: int) -> None:
        """Raise ValueError if a part does not fit ``n_features`` columns."""
        if not isinstance(self.metric, Metric):
            raise ValueError(f"metric must be a Metric, got {type(self.metric).__name__}")
        self.metric.check_state(n_features)
        check_features(self.features, self.metric.size(n_features))

    def __call__(self, X: Rows, precision: Precision, out: Array | None = None) -> Array:
        """Return the features of the coordinates."""
        return self.features(self.metric(X), precision, out)

    def gradient(
        self, X: Rows, C: Array, precision: Precision, weight: Array | None = None
    ) -> Array:
        """Return gradients in x."""
        found = self.features.gradient(self.metric(X), C, precision, weight)
        return self.metric.pull_back(X, found)


def has_gradient(features: Any) -> bool:
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

"""``sum_j c_j h_j(x)`` as a graph, basis by basis (:data:`BASIS_GRAPHS`).

Random features ``psi_j(x) = v_j phi_j(x)`` go kind by kind (:data:`FEATURE_GRAPHS`). Their graph
computes phi, and constant factors v are part of the coefficients: so there is one pass less over
the values, and no factor that a runtime would round to float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer.bases import BasisTransformer, FullKernel, Landmarks, RandomFeatures, Sketch
from mercer.contracts import Array, Precision
from mercer.estimators import KernelEstimator
from mercer.kernels import InMetric, Linear, Metric
from mercer.kernels.feature_maps import (
    ColumnFeatures,
    FeatureMap,
    FeaturesInMetric,
    FourierFeatures,
    MultipliedFeatures,
    ReluFeatures,
    StackedFeatures,
    WeightedFeatures,
)
from mercer.kernels.kernel import dense
from mercer.models.graph_builder import Value, concat, in_tiles
from mercer.models.kernel_graphs import kernel_sum, metric_graph, width

#: Numbers that a tile of rows holds at a time, so that they stay in the cache.
VALUES = 2**18
#: Values are in float32 if that adds less noise than this, relative to the scale of y.
NARROW = 1e-5


@dataclass(frozen=True)
class Inputs:
    """Rows of numbers, how many columns they have, and the precision of what comes from them."""

    rows: Value
    columns: int
    precision: Precision

    def mapped(self, metric: Metric) -> Inputs:
        """Return the coordinates of the rows in a metric."""
        coordinates = metric_graph(metric, self.rows, self.columns)
        return replace(self, rows=coordinates, columns=metric.size(self.columns))

    def in_tiles(self, tile: int, outputs: int, body: Callable[[Inputs], Value]) -> Value:
        """Return a function of the rows with so many outputs, computed for a tile at a time."""
        tile = max(1, tile)
        return in_tiles(
            self.rows, self.columns, tile, outputs, lambda part: body(replace(self, rows=part))
        )


def function_graph(model: KernelEstimator, rows: Value, n_features: int, dtype: Precision) -> Value:
    """Return f(x) without its intercept, in float64 and of shape (rows, outputs)."""
    basis = model.basis_
    made = BASIS_GRAPHS.get(type(basis))
    if made is None:
        raise ValueError(
            f"the basis {type(basis).__name__} has no ONNX graph; refit with one of "
            f"{', '.join(known.__name__ for known in BASIS_GRAPHS)}"
        )
    precision: Precision = "float64"
    if dtype == "float32" and rounding(basis, model.fit_.coefficients) <= NARROW:
        precision = "float32"
    return made(basis, model.dual_coef_, Inputs(rows, n_features, precision))


def rounding(basis: BasisTransformer, coefficients: Array) -> float:
    """Return by how much values in float32 change f, relative to the scale of y."""
    if isinstance(basis, RandomFeatures):
        largest = float(np.linalg.norm(coefficients, axis=0).max(initial=0.0))
        # A value is below sqrt(2 / M), and its angle below pi.
        size = np.sqrt(2.0 / basis.size)
        return float(4 * np.finfo(np.float32).eps * size * largest)
    return float(basis.narrow_noise(coefficients))


def by_points(basis: Landmarks | FullKernel | Sketch, coefficients: Array, x: Inputs) -> Value:
    """Return the sum of kernel functions at landmarks, or at all rows."""
    weights, points = basis.expansion(coefficients)
    kernel, points = basis.kernel_, dense(points)
    while type(kernel) is InMetric:  # the metric of all rows at once
        x, points = x.mapped(kernel.metric), dense(kernel.metric(points))
        kernel = kernel.kernel

    def summed(x: Inputs) -> Value:
        return kernel_sum(kernel, x.rows, points, weights, x.precision)

    if type(kernel) is Linear:  # one coefficient a column: there is nothing to hold
        return summed(x)
    tile = VALUES // max(1, len(points) * width(kernel, x.columns))
    return x.in_tiles(tile, weights.shape[1], summed)


def by_features(basis: RandomFeatures, coefficients: Array, x: Inputs) -> Value:
    """Return the sum of random features."""
    features, weights = basis.features_, coefficients / np.sqrt(basis.size)
    while type(features) is FeaturesInMetric:
        x, features = x.mapped(features.metric), features.features
    tile, outputs = VALUES // basis.size, weights.shape[1]
    return x.in_tiles(tile, outputs, lambda part: feature_sum(features, part, weights))


#: The graph of each basis.
BASIS_GRAPHS: dict[type, Callable[..., Value]] = {
    Landmarks: by_points,
    FullKernel: by_points,
    Sketch: by_points,
    RandomFeatures: by_features,
}


#: phi, of shape (rows, M), and v, a number or of shape (M,).
Terms = tuple[Value, "Array | float"]


def feature_terms(features: FeatureMap, x: Inputs) -> Terms:
    """Return phi and v by the table; refuse other kinds."""
    made = FEATURE_GRAPHS.get(type(features))
    if made is None:
        raise ValueError(
            f"random features of the kind {type(features).__name__} have no ONNX graph; refit with "
            f"basis='landmarks', or with a kernel such as Gaussian()"
        )
    return made(features, x)


def feature_sum(features: FeatureMap, x: Inputs, weights: Array) -> Value:
    """Return ``sum_j c_j psi_j(x)`` in float64, of shape (rows, outputs); the sum is in float64."""
    if type(features) is StackedFeatures:
        # Each part is a sum of its own, so that they need not be put side by side.
        total, at = None, 0
        for part in features.parts:
            own = np.sqrt(features.size / part.size) * weights[at : at + part.size]
            found = feature_sum(part, x, own)
            total = found if total is None else total + found
            at += part.size
        assert total is not None
        return total
    values, factors = feature_terms(features, x)
    return values.cast(np.float64) @ (np.reshape(factors, (-1, 1)) * weights)


def fourier(features: FourierFeatures, x: Inputs) -> Terms:
    """Return ``cos(w'x + b)``; whole turns are dropped in float64."""
    turns = x.rows @ features.turns + features.phase
    turns = turns - turns.graph.node("Round", turns)
    angle = (turns * (2 * np.pi)).cast(x.precision)
    return angle.graph.node("Cos", angle), np.sqrt(2.0)


def rectified(features: ReluFeatures, x: Inputs) -> Terms:
    """Return ``max(0, w'x)^order``, a step for order 0."""
    value = x.rows @ features.weights
    if features.order == 0:
        return (value > 0.0).cast(np.float64), np.sqrt(2.0)
    return value.at_least(0.0), np.sqrt(2.0)


def columns(features: ColumnFeatures, x: Inputs) -> Terms:
    """Return the columns."""
    return x.rows, np.sqrt(features.size)


def stacked(features: StackedFeatures, x: Inputs) -> Terms:
    """Return all parts side by side."""
    values, factors = [], []
    for part in features.parts:
        value, factor = feature_terms(part, x)
        values.append(value.cast(np.float64))
        factors.append(np.sqrt(features.size / part.size) * np.full(part.size, factor))
    return concat(*values), np.concatenate(factors)


def multiplied_features(features: MultipliedFeatures, x: Inputs) -> Terms:
    """Return the product of the parts."""
    value, factor = feature_terms(features.parts[0], x)
    for part in features.parts[1:]:
        other, times = feature_terms(part, x)
        if other.dtype != value.dtype:
            value, other = value.cast(np.float64), other.cast(np.float64)
        value, factor = value * other, factor * times
    return value, factor


def weighted_features(features: WeightedFeatures, x: Inputs) -> Terms:
    """Return the features; their weights are factors."""
    value, factor = feature_terms(features.part, x)
    return value, factor * features.weights


def features_in_metric(features: FeaturesInMetric, x: Inputs) -> Terms:
    """Return the features of the coordinates."""
    return feature_terms(features.features, x.mapped(features.metric))


#: The graph of each kind of features.
FEATURE_GRAPHS: dict[type, Callable[..., Terms]] = {
    FourierFeatures: fourier,
    ReluFeatures: rectified,
    ColumnFeatures: columns,
    StackedFeatures: stacked,
    MultipliedFeatures: multiplied_features,
    WeightedFeatures: weighted_features,
    FeaturesInMetric: features_in_metric,
}

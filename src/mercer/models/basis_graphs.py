"""``sum_j c_j h_j(x)`` as a graph, basis by basis (:data:`BASIS_GRAPHS`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.bases import FullKernel, Landmarks, RandomFeatures, Sketch
from mercer.contracts import Array, Precision
from mercer.kernels import InMetric, Linear
from mercer.kernels.combined_features import FeaturesInMetric
from mercer.kernels.kernel import dense
from mercer.models.feature_graphs import feature_sum
from mercer.models.graph_builder import Value, in_tiles
from mercer.models.kernel_graphs import kernel_sum, width
from mercer.models.metric_graphs import metric_graph

#: Numbers that a tile of rows holds at a time, so that they stay in the cache.
VALUES = 2**18
#: Values are in float32 if that adds less noise than this, relative to the scale of y.
NARROW = 1e-5


def function_graph(model: Any, rows: Value, n_features: int, dtype: Precision) -> Value:
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
    return made(basis, model.coef_, rows, n_features, precision)


def rounding(basis: Any, coefficients: Array) -> float:
    """Return by how much values in float32 change f, relative to the scale of y."""
    if isinstance(basis, RandomFeatures):
        largest = float(np.linalg.norm(coefficients, axis=0).max(initial=0.0))
        # A value is below sqrt(2 / M), and its angle below pi.
        size = np.sqrt(2.0 / basis.size)
        return float(4 * np.finfo(np.float32).eps * size * largest)
    return float(basis.narrow_noise(coefficients))


def by_points(
    basis: Any, coefficients: Array, rows: Value, n_features: int, precision: Precision
) -> Value:
    """Return the sum of kernel functions at landmarks, or at all rows."""
    weights, points = basis.expansion(coefficients)
    kernel, points = basis.kernel_, dense(points)
    while type(kernel) is InMetric:  # the metric of all rows at once
        rows = metric_graph(kernel.metric, rows, n_features)
        points = dense(kernel.metric(points))
        kernel, n_features = kernel.kernel, points.shape[1]
    if type(kernel) is Linear:  # one coefficient a column: there is nothing to hold
        return kernel_sum(kernel, rows, points, weights, precision)
    tile = max(1, VALUES // max(1, len(points) * width(kernel, n_features)))
    return in_tiles(
        rows,
        n_features,
        tile,
        weights.shape[1],
        lambda part: kernel_sum(kernel, part, points, weights, precision),
    )


def by_features(
    basis: Any, coefficients: Array, rows: Value, n_features: int, precision: Precision
) -> Value:
    """Return the sum of random features."""
    features, weights = basis.features_, coefficients / np.sqrt(basis.size)
    while type(features) is FeaturesInMetric:
        rows = metric_graph(features.metric, rows, n_features)
        n_features = features.metric.size(n_features)
        features = features.features
    return in_tiles(
        rows,
        n_features,
        max(1, VALUES // basis.size),
        weights.shape[1],
        lambda part: feature_sum(features, part, n_features, weights, precision),
    )


#: The graph of each basis.
BASIS_GRAPHS: dict[type, Callable[[Any, Array, Value, int, Precision], Value]] = {
    Landmarks: by_points,
    FullKernel: by_points,
    Sketch: by_points,
    RandomFeatures: by_features,
}

"""Random features ``psi_j(x) = v_j phi_j(x)`` as a graph, kind by kind (:data:`FEATURE_GRAPHS`).

The graph computes phi. Constant factors v are part of the coefficients: so there is one pass less
over the values, and no factor that a runtime would round to float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.contracts import Array, Precision
from mercer.kernels.combined_features import (
    FeaturesInMetric,
    MultipliedFeatures,
    StackedFeatures,
    WeightedFeatures,
)
from mercer.kernels.feature_maps import ColumnFeatures, FourierFeatures, ReluFeatures
from mercer.models.graph_builder import Value, concat
from mercer.models.metric_graphs import metric_graph

#: phi, of shape (rows, M), and v, a number or of shape (M,).
Terms = tuple[Value, "Array | float"]


def feature_terms(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return phi and v by the table; refuse other kinds."""
    made = FEATURE_GRAPHS.get(type(features))
    if made is None:
        raise ValueError(
            f"random features of the kind {type(features).__name__} have no ONNX graph; refit with "
            f"basis='landmarks', or with a kernel such as Gaussian()"
        )
    return made(features, rows, n_features, precision)


def feature_sum(
    features: Any, rows: Value, n_features: int, weights: Array, precision: Precision
) -> Value:
    """Return ``sum_j c_j psi_j(x)`` in float64, of shape (rows, outputs); the sum is in float64."""
    if type(features) is StackedFeatures:
        # Each part is a sum of its own, so that they need not be put side by side.
        total, at = None, 0
        for part in features.parts:
            own = np.sqrt(features.size / part.size) * weights[at : at + part.size]
            found = feature_sum(part, rows, n_features, own, precision)
            total = found if total is None else total + found
            at += part.size
        assert total is not None
        return total
    values, factors = feature_terms(features, rows, n_features, precision)
    return values.cast(np.float64) @ (np.reshape(factors, (-1, 1)) * weights)


def fourier(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return ``cos(w'x + b)``; whole turns are dropped in float64."""
    turns = rows @ features.turns + features.phase
    turns = turns - turns.graph.node("Round", turns)
    angle = (turns * (2 * np.pi)).cast(precision)
    return angle.graph.node("Cos", angle), np.sqrt(2.0)


def rectified(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return ``max(0, w'x)^order``, a step for order 0."""
    value = rows @ features.weights
    if features.order == 0:
        return (value > 0.0).cast(np.float64), np.sqrt(2.0)
    return value.at_least(0.0), np.sqrt(2.0)


def columns(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return the columns."""
    return rows, np.sqrt(features.size)


def stacked(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return all parts side by side."""
    values, factors = [], []
    for part in features.parts:
        value, factor = feature_terms(part, rows, n_features, precision)
        values.append(value.cast(np.float64))
        factors.append(np.sqrt(features.size / part.size) * np.full(part.size, factor))
    return concat(*values), np.concatenate(factors)


def multiplied_features(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return the product of the parts."""
    value, factor = feature_terms(features.parts[0], rows, n_features, precision)
    for part in features.parts[1:]:
        other, times = feature_terms(part, rows, n_features, precision)
        if other.dtype != value.dtype:
            value, other = value.cast(np.float64), other.cast(np.float64)
        value, factor = value * other, factor * times
    return value, factor


def weighted_features(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return the features; their weights are factors."""
    value, factor = feature_terms(features.part, rows, n_features, precision)
    return value, factor * features.weights


def features_in_metric(features: Any, rows: Value, n_features: int, precision: Precision) -> Terms:
    """Return the features of the coordinates."""
    size, rows = features.metric.size(n_features), metric_graph(features.metric, rows, n_features)
    return feature_terms(features.features, rows, size, precision)


#: The graph of each kind of features.
FEATURE_GRAPHS: dict[type, Callable[[Any, Value, int, Precision], Terms]] = {
    FourierFeatures: fourier,
    ReluFeatures: rectified,
    ColumnFeatures: columns,
    StackedFeatures: stacked,
    MultipliedFeatures: multiplied_features,
    WeightedFeatures: weighted_features,
    FeaturesInMetric: features_in_metric,
}

"""``x -> P's(x)`` as a graph: columns scaled, then weighted or combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.columns.scaling import QuantileScaling, StandardScaling
from mercer.contracts import Array
from mercer.kernels import Metric
from mercer.models.graph_builder import Value, kept_wide


def metric_graph(metric: Metric, rows: Value, n_features: int) -> Value:
    """Return the coordinates of rows with so many columns."""
    if metric.scaling is not None:
        made = SCALING_GRAPHS.get(type(metric.scaling))
        if made is None:
            raise ValueError(
                f"the scaling {type(metric.scaling).__name__} has no ONNX graph; refit with "
                f"scale='standard' or scale='quantile'"
            )
        rows = made(metric.scaling, rows)
        rows = kept_wide(rows) if n_features == 1 else rows
    if metric.matrix is None:
        return rows
    if not metric.diagonal:
        return rows @ metric.matrix
    kept = np.flatnonzero(metric.matrix)
    if len(kept) < len(metric.matrix):
        rows = rows.columns(kept)
    rows = rows * metric.matrix[kept]
    return kept_wide(rows) if len(kept) == 1 else rows


def standard(scaling: Any, rows: Value) -> Value:
    """Return ``(x - center) / scale``; 0 for a constant column."""
    center: Array = scaling.center
    scale: Array = scaling.scale
    factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return (rows - center) * factor


def quantile(scaling: Any, rows: Value) -> Value:
    """Return normal quantiles, linear between knots, which a binary search finds.

    The knots of all columns are one list; each has its part of it, filled up to a power of two.
    """
    d, q = scaling.knots.shape
    slopes = np.diff(scaling.values, axis=1) / np.diff(scaling.knots, axis=1)
    steps = max(1, int(np.ceil(np.log2(q))))
    size = 2**steps
    padding = ((0, 0), (0, size - q))
    # Knots of infinity are never reached: their slope and value are not used.
    knots = np.pad(scaling.knots, padding, constant_values=np.inf).ravel()
    values = np.pad(scaling.values, padding).ravel()
    slopes = np.pad(slopes, ((0, 0), (0, size - q + 1))).ravel()

    graph = rows.graph
    low = graph.constant(np.ascontiguousarray(scaling.knots[:, 0]))
    high = graph.constant(np.ascontiguousarray(scaling.knots[:, -1]))
    x = graph.node("Min", graph.node("Max", rows, low), high)
    place = graph.constant(np.arange(d) * size)
    for step in range(steps - 1, -1, -1):
        further = place + 2**step
        place = (further.chosen_from(knots) <= x).where(further, place)
    return place.chosen_from(values) + place.chosen_from(slopes) * (x - place.chosen_from(knots))


#: The graph of each scaling.
SCALING_GRAPHS: dict[type, Callable[[Any, Value], Value]] = {
    StandardScaling: standard,
    QuantileScaling: quantile,
}

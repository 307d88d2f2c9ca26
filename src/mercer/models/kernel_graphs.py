"""``sum_j c_j K(P'(x), z_j)`` as a graph, kernel by kernel, with the metric P of the rows.

:data:`KERNEL_GRAPHS` holds the graph of ``K(x, z_j)`` of each kernel, and :data:`SUM_GRAPHS` those
of kernels whose sum is simpler than its terms. A kernel that is in neither cannot be exported; to
export one of your own, add it: ``KERNEL_GRAPHS[MyKernel] = my_graph``. Before a kernel in a metric,
columns are scaled (:data:`SCALING_GRAPHS`), then weighted or combined.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce

import numpy as np

from mercer.columns.scaling import QuantileScaling, StandardScaling
from mercer.contracts import Array, Precision
from mercer.kernels import (
    ArcCosine,
    Gaussian,
    InMetric,
    Kernel,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    Metric,
    Polynomial,
    Product,
    Sum,
)
from mercer.kernels.distances import TRUSTED
from mercer.models.graph_builder import Value, concat, kept_wide


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


def standard(scaling: StandardScaling, rows: Value) -> Value:
    """Return ``(x - center) / scale``; 0 for a constant column."""
    center: Array = scaling.center
    scale: Array = scaling.scale
    factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return (rows - center) * factor


def quantile(scaling: QuantileScaling, rows: Value) -> Value:
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
SCALING_GRAPHS: dict[type, Callable[..., Value]] = {
    StandardScaling: standard,
    QuantileScaling: quantile,
}


#: Coordinates are cut off here, so that no square overflows: kernels of distances are 0 before.
FARTHEST: dict[Precision, float] = {"float32": 1e15, "float64": 1e100}
#: The degree of the polynomial for the arc sine, which has an error below 1e-16.
DEGREE = 16

KernelGraph = Callable[..., Value]


def kernel_values(kernel: Kernel, rows: Value, points: Array, precision: Precision) -> Value:
    """Return ``K(x, z_j)``, of shape (rows, points), by the table; refuse other kernels."""
    made = KERNEL_GRAPHS.get(type(kernel))
    if made is None:
        raise ValueError(
            f"the kernel {type(kernel).__name__} has no ONNX graph; refit with one of "
            f"{', '.join(found.__name__ for found in KERNEL_GRAPHS if found is not InMetric)}, or "
            f"serve the model with mercer.load and predict"
        )
    return made(kernel, rows, points, precision)


def kernel_sum(
    kernel: Kernel, rows: Value, points: Array, weights: Array, precision: Precision
) -> Value:
    """Return ``sum_j c_j K(x, z_j)`` in float64, of shape (rows, outputs).

    Values may be in float32; large coefficients may cancel, so their sum is in float64.
    """
    made = SUM_GRAPHS.get(type(kernel))
    if made is not None:
        return made(kernel, rows, points, weights, precision)
    return kernel_values(kernel, rows, points, precision).cast(np.float64) @ weights


def width(kernel: Kernel, n_features: int) -> int:
    """Return how many numbers a kernel holds for a row and a point."""
    if isinstance(kernel, (Sum, Product)):
        return max(width(kernel.left, n_features), width(kernel.right, n_features))
    if isinstance(kernel, InMetric):
        return width(kernel.kernel, kernel.metric.size(n_features))
    return n_features if isinstance(kernel, LaplacianL1) else 1


# -- kernels of the distance ----------------------------------------------------------------------


def half_squares(
    rows: Value, points: Array, bandwidth: float | Array, precision: Precision
) -> Value:
    """Return ``-||x - z||^2 / 2`` in units of the bandwidth, at most 0.

    As in :mod:`mercer.kernels.distances`: centered at the mean of the points, in one product, or
    where its terms would cancel, by differences.
    """
    center: Array = points.mean(axis=0)
    scaled = (points - center) / bandwidth
    norms = np.einsum("ij,ij->i", scaled, scaled)
    far = FARTHEST[precision]
    x = ((rows - center) / np.asarray(bandwidth, np.float64)).at_most(far).at_least(-far)
    if norms.max(initial=0.0) > TRUSTED["float64"]:
        # One column of points a time: their number is that of the nodes.
        return _squared_differences(x, scaled).cast(precision)
    norm = x.graph.node("ReduceSumSquare", x, np.array([1]), keepdims=1) * -0.5
    ones = np.array([0, 0, 0, 1])
    stacked = x.graph.node("Pad", concat(x, norm), ones, np.array(1.0)).cast(precision)
    table: Array = np.vstack([scaled.T, np.ones(len(points)), -0.5 * norms]).astype(precision)
    return (stacked @ table).at_most(0.0)


def _squared_differences(x: Value, points: Array) -> Value:
    away = (x.columns(np.array([column])) - knots for column, knots in enumerate(points.T))
    total: Value = reduce(operator.add, (values * values for values in away))
    return total * -0.5


def gaussian(kernel: Gaussian, rows: Value, points: Array, precision: Precision) -> Value:
    """Return ``exp(-||x - z||^2 / 2)``."""
    return half_squares(rows, points, kernel.bandwidth, precision).exp()


def matern(kernel: Matern, rows: Value, points: Array, precision: Precision) -> Value:
    """Return the Matern kernel, a function of ``r = sqrt(2 nu) ||x - z||``."""
    # The slope at 0 is infinite for nu = 1/2, and magnifies errors of the distance.
    wide: Precision = "float64" if kernel.nu == 0.5 else precision
    squares = half_squares(rows, points, kernel.bandwidth, wide).cast(precision)
    r = (squares * float(-4.0 * kernel.nu)).sqrt()
    falling = (-r).exp()
    if kernel.nu == 0.5:
        return falling
    if kernel.nu == 1.5:
        return (r + 1.0) * falling
    return (r * r / 3.0 + r + 1.0) * falling


def laplacian(kernel: LaplacianL1, rows: Value, points: Array, precision: Precision) -> Value:
    """Return ``exp(-||x - z||_1)``, from all differences."""
    scale = np.asarray(kernel.bandwidth, np.float64)
    x = (rows / scale).cast(precision).expanded(1)
    away = x - (points / scale).astype(precision)[None]
    total = away.graph.node("ReduceL1", away, np.array([2]), keepdims=0)
    return (-total).exp()


# -- kernels of the inner product, in float64 -----------------------------------------------------


def linear(kernel: Linear, rows: Value, points: Array, precision: Precision) -> Value:
    """Return ``x'z``."""
    return rows @ np.ascontiguousarray(points.T)


def linear_sum(
    kernel: Linear, rows: Value, points: Array, weights: Array, precision: Precision
) -> Value:
    """Return ``x'(sum_j c_j z_j)``: one coefficient a column."""
    return rows @ (points.T @ weights)


def polynomial(kernel: Polynomial, rows: Value, points: Array, precision: Precision) -> Value:
    """Return ``(gamma x'z + offset)^degree``, by squares and products."""
    base = rows @ np.ascontiguousarray(kernel.gamma * points.T) + float(kernel.offset)
    found: Value | None = None
    degree = int(kernel.degree)
    while degree:
        if degree % 2:
            found = base if found is None else found * base
        degree //= 2
        base = base * base if degree else base
    assert found is not None
    return found


def arc_cosine(kernel: ArcCosine, rows: Value, points: Array, precision: Precision) -> Value:
    """Return ``1 - theta/pi``, or ``||x|| ||z|| (sin theta + (pi - theta) cos theta) / pi``."""
    lengths: Array = np.sqrt(np.einsum("ij,ij->i", points, points))
    norms = rows.graph.node("ReduceSumSquare", rows, np.array([1]), keepdims=1).sqrt()
    scale = norms * lengths
    # Where a length is 0, so is the product, and 0 / tiny is the 0 of the kernel.
    cosine = (rows @ np.ascontiguousarray(points.T)) / scale.at_least(1e-300)
    cosine = cosine.at_most(1.0).at_least(-1.0)
    share = arccos(cosine) / -np.pi + 1.0
    if kernel.order == 0:
        return share
    sine = (-(cosine * cosine) + 1.0).sqrt()
    return scale * (sine / np.pi + share * cosine)


def arccos(cosine: Value) -> Value:
    """Return angles in float64, which runtimes have no operator for.

    With ``g(z) = arcsin(sqrt(z)) / sqrt(z)`` on [0, 1/4]: an angle below 60 degrees is
    ``2 arcsin(sqrt((1 - c) / 2))``, and others follow by symmetry.
    """
    absolute = cosine.graph.node("Abs", cosine)
    steep = absolute > 0.5
    z = steep.where((-absolute + 1.0) * 0.5, absolute * absolute)
    t = z * 8.0 - 1.0  # in [-1, 1]
    coefficients = _arcsine_polynomial()
    series = t * float(coefficients[-1]) + float(coefficients[-2])
    for coefficient in coefficients[-3::-1]:
        series = series * t + float(coefficient)
    arcsine = series * z.sqrt()
    acute = steep.where(arcsine * 2.0, -arcsine + np.pi / 2)  # of |c|
    return (cosine > 0.0).where(acute, -acute + np.pi)


def _arcsine_polynomial() -> Array:
    """Coefficients of ``g((t + 1) / 8)``, lowest first, by interpolation at Chebyshev points."""

    places = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    root = np.sqrt((places + 1.0) / 8.0)
    series = np.polynomial.chebyshev.chebfit(places, np.arcsin(root) / root, DEGREE)
    return np.asarray(np.polynomial.chebyshev.cheb2poly(series))


# -- combinations ---------------------------------------------------------------------------------


def combined(kernel: Sum | Product, rows: Value, points: Array, precision: Precision) -> Value:
    """Return the sum or the product of two kernels."""
    left, right = (
        kernel_values(part, rows, points, precision) for part in (kernel.left, kernel.right)
    )
    if left.dtype != right.dtype:
        left, right = left.cast(np.float64), right.cast(np.float64)
    return left + right if isinstance(kernel, Sum) else left * right


def added_sum(
    kernel: Sum, rows: Value, points: Array, weights: Array, precision: Precision
) -> Value:
    """Return the sums over points of both kernels, added."""
    left, right = (
        kernel_sum(part, rows, points, weights, precision) for part in (kernel.left, kernel.right)
    )
    return left + right


def in_metric(kernel: InMetric, rows: Value, points: Array, precision: Precision) -> Value:
    """Return the kernel of the coordinates."""
    coordinates = np.asarray(kernel.metric(points))
    rows = metric_graph(kernel.metric, rows, points.shape[1])
    return kernel_values(kernel.kernel, rows, coordinates, precision)


#: The graph of ``K(x, z_j)`` of each kernel.
KERNEL_GRAPHS: dict[type, KernelGraph] = {
    Gaussian: gaussian,
    Matern: matern,
    LaplacianL1: laplacian,
    LaplacianL2: matern,
    Linear: linear,
    Polynomial: polynomial,
    ArcCosine: arc_cosine,
    Sum: combined,
    Product: combined,
    InMetric: in_metric,
}
#: The graph of ``sum_j c_j K(x, z_j)``, where it is simpler.
SUM_GRAPHS: dict[type, Callable[..., Value]] = {
    Linear: linear_sum,
    Sum: added_sum,
}

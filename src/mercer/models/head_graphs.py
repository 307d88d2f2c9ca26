"""From f(x) to the outputs of a graph, estimator by estimator (:data:`HEAD_GRAPHS`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.estimators import KernelClassifier, KernelRanker, KernelRegressor
from mercer.inference.probability_map import FLOOR, ProbabilityMap
from mercer.models.graph_builder import Graph, Value, concat


def output_name(graph: Graph, name: str) -> str:
    """Return the name of an output, with underscores if a column has it."""
    while name in graph.reserved:
        name += "_"
    graph.reserved.add(name)
    return name


def regression(graph: Graph, model: Any, values: Value, dtype: Any) -> None:
    """Give f(x) the shape of y."""
    found, name = (values + model.intercept_).cast(dtype), output_name(graph, "prediction")
    if model._targets.columns:
        graph.output(name, found, ["N", model.coef_.shape[1]], "f(x), as predict")
    else:
        graph.output(name, found.squeezed(), ["N"], "f(x), as predict")


def ranking(graph: Graph, model: Any, values: Value, dtype: Any) -> None:
    """Give the score, which has no intercept."""
    about = "higher is better, within a query; as predict"
    name = output_name(graph, "score")
    graph.output(name, values.cast(dtype).squeezed(), ["N"], about)


def classification(graph: Graph, model: Any, values: Value, dtype: Any) -> None:
    """Give the most probable class, and the probability of each."""
    values = values + model.intercept_
    scores = concat(-values, values) if len(model.classes_) == 2 else values
    known = model.calibration_
    if known is None:
        order, probabilities = scores, on_simplex((scores + 1.0) * 0.5, len(model.classes_))
    else:
        order = logits(known.map, scores)
        probabilities = graph.node("Softmax", order, axis=1)
    place = graph.node("ArgMax", order, dtype=np.int64, axis=1, keepdims=0)
    label = place.chosen_from(label_values(model.classes_))
    graph.output(output_name(graph, "label"), label, ["N"], "the class, as predict")
    name, about = output_name(graph, "probabilities"), "of each class, as predict_proba"
    graph.output(name, probabilities.cast(dtype), ["N", len(model.classes_)], about)


def logits(map: ProbabilityMap, scores: Value) -> Value:
    """Return ``z_c = a_1 f_c + a_2 log q(f_c) + b_c``."""
    found = scores * float(map.slopes[0]) + map.offsets
    if not map.slopes[1]:
        return found
    u = (scores + 1.0) * 0.5
    root = (u * u + 4.0 * FLOOR**2).sqrt()
    # For negative u the two terms nearly cancel.
    below = root.graph.constant(np.array(2.0 * FLOOR**2)) / (root - u.at_most(0.0))
    q = (u > 0.0).where((u + root) * 0.5, below)
    return found + root.graph.node("Log", q + FLOOR) * float(map.slopes[1])


def on_simplex(values: Value, classes: int) -> Value:
    """Return the nearest probability vector to each row.

    The largest of ``(v_1 + ... + v_j - 1) / j`` over the j largest values is what is subtracted.
    """
    graph = values.graph
    values = values - graph.node("ReduceMax", values, np.array([1]), keepdims=1)
    falling = graph.node("Neg", sorted_rows(-values, classes))
    excess = graph.node("CumSum", falling, np.array(1)) - 1.0
    means = excess / np.arange(1.0, classes + 1.0)
    level = graph.node("ReduceMax", means, np.array([1]), keepdims=1)
    return (values - level).at_least(0.0)


def sorted_rows(values: Value, classes: int) -> Value:
    """Return each row in increasing order."""
    graph = values.graph
    names = [graph.name(), graph.name()]
    count = graph.constant(np.array([classes]))
    graph.nodes.append(
        graph.onnx.helper.make_node("TopK", [values.name, count.name], names, axis=1, largest=0)
    )
    return Value(graph, names[0], values.dtype)


def label_values(classes: Array) -> Array:
    """Return class labels in a type that a graph has: int64, bool, float64 or text."""
    if classes.dtype.kind in "iu" and (classes.dtype.kind == "i" or classes.max() < 2**63):
        return classes.astype(np.int64)
    if classes.dtype.kind == "b":
        return classes
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    texts = classes.astype(object)
    if all(isinstance(label, str) for label in texts):
        return texts
    raise ValueError(
        f"classes must be numbers or text in an ONNX graph, got {classes.dtype}; refit with "
        f"y.astype(str)"
    )


#: The outputs of each estimator.
HEAD_GRAPHS: dict[type, Callable[[Graph, Any, Value, Any], None]] = {
    KernelRegressor: regression,
    KernelClassifier: classification,
    KernelRanker: ranking,
}

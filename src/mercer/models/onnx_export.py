"""A fitted model as an ONNX graph, which other languages and servers run without Python.

f(x) becomes the outputs of an estimator by :data:`HEAD_GRAPHS`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Array, Precision
from mercer.estimators import (
    KernelClassifier,
    KernelEstimator,
    KernelRanker,
    KernelRegressor,
)
from mercer.estimators.summary import describe
from mercer.inference.probability_map import FLOOR, ProbabilityMap
from mercer.models.basis_graphs import function_graph
from mercer.models.column_graphs import encoded_rows, finite_or_nan, names_of
from mercer.models.graph_builder import (
    IR,
    LARGEST_FILE,
    ML,
    ML_OPSET,
    OPSET,
    DType,
    Graph,
    Value,
    concat,
)
from mercer.models.loading import with_suffix
from mercer.models.model_classes import ESTIMATORS, TASKS
from mercer.storage.files import atomic_path
from mercer.validation import check_choice
from mercer.version import VERSION

SUFFIX = ".onnx"


def to_onnx(
    estimator: KernelEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float64",
) -> Any:
    """Return a fitted model as an ONNX graph, and write it to a file.

    The graph has the whole model: what becomes of columns, the metric, the kernel, and the map to
    probabilities. It consists of standard operators, and takes batches of any size, which it
    computes in tiles of bounded memory.

    Inputs are ``X`` of shape (N, d) for a model of numbers, and one input of shape (N, 1) for each
    column of a table: numbers (NaN for a gap), text ("" for a gap), and dates as seconds since 1970
    in float64. Outputs are ``prediction`` of a regressor, ``label`` and ``probabilities`` of a
    classifier, and ``score`` of a ranker. Rows that ``predict`` refuses, with infinity or with gaps
    where they are errors, get NaN.

    Parameters
    ----------
    estimator : KernelRegressor, KernelClassifier or KernelRanker
        The fitted estimator.
    path : str, path or None
        The file; ``.onnx`` is added if it has no suffix. None writes nothing.
    dtype : "float64" or "float32"
        The type of inputs and outputs. With float32, kernel values are in float32 too where their
        rounding changes f by at most about 1e-5 of the spread of y, and in float64 elsewhere.

    Returns
    -------
    onnx.ModelProto
        The graph.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, to_onnx
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRegressor().fit(X, np.sin(X[:, 0]))
    >>> graph = to_onnx(model).graph
    >>> [value.name for value in (*graph.input, *graph.output)]
    ['X', 'prediction']
    """
    kind = type(estimator).__name__
    if ESTIMATORS.get(kind) is not type(estimator):
        raise TypeError(
            f"to_onnx() needs a fitted {' or '.join(ESTIMATORS)}, got {kind}; of a pipeline, "
            f"export the last step, and the other steps separately"
        )
    check_is_fitted(estimator, "fit_")
    target = None if path is None else onnx_path(path)
    narrow = check_choice(dtype, "dtype", ["float64", "float32"]) == "float32"
    made = _model(estimator, "float32" if narrow else "float64")
    if target is not None:
        with atomic_path(target) as partial:
            partial.write_bytes(made.SerializeToString())
    return made


def onnx_path(path: str | os.PathLike[str]) -> Path:
    """Return the path, with ``.onnx`` added if it has no suffix.

    >>> onnx_path("model").name
    'model.onnx'
    """
    return with_suffix(path, SUFFIX)


def _model(estimator: KernelEstimator, dtype: Precision) -> Any:
    """Return the checked graph with its metadata."""
    graph, precision = Graph(), np.dtype(dtype)
    rows, size = encoded_rows(graph, estimator, precision)
    values = function_graph(estimator, rows, size, dtype)
    HEAD_GRAPHS[type(estimator)](estimator, finite_or_nan(values, rows), precision)
    helper = graph.onnx.helper
    made = helper.make_model(
        graph.as_graph(type(estimator).__name__),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
        ir_version=IR,
        producer_name="mercer",
        producer_version=VERSION,
        doc_string=f"{type(estimator).__name__}, {describe(estimator.kernel_)}",
    )
    helper.set_model_props(made, metadata(estimator, dtype))
    if made.ByteSize() > LARGEST_FILE:
        raise ValueError(
            f"an ONNX file holds at most 2 GB, and this one would have {made.ByteSize() / 1e9:.1f}"
            f" GB; fit the model with fewer functions, such as basis=Landmarks(2000)"
        )
    graph.onnx.checker.check_model(made, full_check=True)
    return made


def metadata(estimator: KernelEstimator, dtype: str) -> dict[str, str]:
    """Return what is known of a model, as text by name."""
    known = {
        "mercer": VERSION,
        "estimator": type(estimator).__name__,
        "task": TASKS[type(estimator)],
        "columns": json.dumps(names_of(estimator), ensure_ascii=False),
        "kernel": describe(estimator.kernel_),
        "functions": str(estimator.basis_.size),
        "rows": str(estimator.fit_.n_rows),
        "dtype": dtype,
    }
    if hasattr(estimator, "classes_"):
        known["classes"] = json.dumps([str(c) for c in estimator.classes_], ensure_ascii=False)
    return known


def output_name(graph: Graph, name: str) -> str:
    """Return the name of an output, with underscores if a column has it."""
    while name in graph.reserved:
        name += "_"
    graph.reserved.add(name)
    return name


def regression(model: KernelRegressor, values: Value, dtype: DType) -> None:
    """Give f(x) the shape of y."""
    graph, prediction = values.graph, (values + model.intercept_).cast(dtype)
    name = output_name(graph, "prediction")
    if model._targets.columns:
        graph.output(name, prediction, ["N", model.dual_coef_.shape[1]], "f(x), as predict")
    else:
        graph.output(name, prediction.squeezed(), ["N"], "f(x), as predict")


def ranking(model: KernelRanker, values: Value, dtype: DType) -> None:
    """Give the score, which has no intercept."""
    about = "higher is better, within a query; as predict"
    graph = values.graph
    name = output_name(graph, "score")
    graph.output(name, values.cast(dtype).squeezed(), ["N"], about)


def classification(model: KernelClassifier, values: Value, dtype: DType) -> None:
    """Give the most probable class, and the probability of each."""
    graph, values = values.graph, values + model.intercept_
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
    scaled = scores * float(map.slopes[0]) + map.offsets
    if not map.slopes[1]:
        return scaled
    u = (scores + 1.0) * 0.5
    root = (u * u + 4.0 * FLOOR**2).sqrt()
    # For negative u the two terms nearly cancel.
    below = root.graph.constant(np.array(2.0 * FLOOR**2)) / (root - u.at_most(0.0))
    q = (u > 0.0).where((u + root) * 0.5, below)
    return scaled + root.graph.node("Log", q + FLOOR) * float(map.slopes[1])


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
HEAD_GRAPHS: dict[type, Callable[..., None]] = {
    KernelRegressor: regression,
    KernelClassifier: classification,
    KernelRanker: ranking,
}

"""A fitted model as an ONNX graph, which other languages and servers run without Python."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Precision
from mercer.estimators import KernelEstimator
from mercer.estimators.summary import describe
from mercer.models.basis_graphs import function_graph
from mercer.models.column_graphs import encoded_rows, finite_or_nan, names_of
from mercer.models.graph_builder import IR, LARGEST_FILE, ML, ML_OPSET, OPSET, Graph
from mercer.models.head_graphs import HEAD_GRAPHS
from mercer.models.model_classes import ESTIMATORS
from mercer.storage.atomic import atomic_path
from mercer.validation import check_choice
from mercer.version import VERSION

SUFFIX = ".onnx"
#: What the estimators do, for the metadata.
TASKS = {
    "KernelRegressor": "regression",
    "KernelClassifier": "classification",
    "KernelRanker": "ranking",
}


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
    made = _model(estimator, check_choice(dtype, "dtype", ["float64", "float32"]))
    if target is not None:
        with atomic_path(target) as partial:
            partial.write_bytes(made.SerializeToString())
    return made


def onnx_path(path: str | os.PathLike[str]) -> Path:
    """Return the path, with ``.onnx`` added if it has no suffix.

    >>> onnx_path("model").name
    'model.onnx'
    """
    file = Path(path).expanduser()
    return file if file.suffix else file.with_name(file.name + SUFFIX)


def _model(estimator: Any, dtype: Any) -> Any:
    """Return the checked graph with its metadata."""
    graph, precision = Graph(), np.dtype(dtype)
    width: Precision = dtype
    rows, size = encoded_rows(graph, estimator, precision)
    values = function_graph(estimator, rows, size, width)
    HEAD_GRAPHS[type(estimator)](graph, estimator, finite_or_nan(values, rows), precision)
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


def metadata(estimator: Any, dtype: str) -> dict[str, str]:
    """Return what is known of a model, as text by name."""
    found = {
        "mercer": VERSION,
        "estimator": type(estimator).__name__,
        "task": TASKS[type(estimator).__name__],
        "columns": json.dumps(names_of(estimator), ensure_ascii=False),
        "kernel": describe(estimator.kernel_),
        "functions": str(estimator.basis_.size),
        "rows": str(estimator.fit_.n_rows),
        "dtype": dtype,
    }
    if hasattr(estimator, "classes_"):
        labels = [label if isinstance(label, str) else str(label) for label in estimator.classes_]
        found["classes"] = json.dumps(labels, ensure_ascii=False)
    return found

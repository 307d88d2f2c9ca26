"""Helpers: run an exported model in onnxruntime, on rows or on a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import to_onnx

REASON = "graphs are compared in onnxruntime, which is not installed"
#: How close a graph must be to ``predict``, relative to the spread of y.
CLOSE = {"float64": 1e-8, "float32": 1e-4}


def session(model: Any, dtype: str = "float64") -> Any:
    """Return an exported model, ready to run."""
    runtime = pytest.importorskip("onnxruntime", reason=REASON)
    text = to_onnx(model, dtype=dtype).SerializeToString()
    return runtime.InferenceSession(text, providers=["CPUExecutionProvider"])


def run(model: Any, X: np.ndarray, dtype: str = "float64") -> list[np.ndarray]:
    """Return the outputs for an array of numbers."""
    return session(model, dtype).run(None, {"X": X.astype(dtype)})


def run_table(model: Any, table: Any, dtype: str = "float64") -> list[np.ndarray]:
    """Return the outputs for a pandas table: dates as seconds, text with "" for gaps."""
    import pandas as pd

    made, given = session(model, dtype), {}
    for wanted in made.get_inputs():
        column = table[wanted.name]
        if wanted.type == "tensor(string)":
            values = column.astype(object).where(column.notna(), "").to_numpy()
        elif column.dtype.kind == "M":
            values = (column - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
            values = values.to_numpy(np.float64)
        else:
            kind = np.float32 if wanted.type == "tensor(float)" else np.float64
            values = column.to_numpy(kind)
        given[wanted.name] = values[:, None]
    return made.run(None, given)

"""The signature of an MLflow model: the columns that a model predicts from, and its parameters.

MLflow refuses rows that do not have the types of the signature, and does not convert 64-bit
integers to floats, nor categories of pandas to text. So a type is stated only where rows of the
model's kind always have it, and is ``any`` elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.columns.column_encoders import ColumnEncoder, DateColumn, NumberColumn
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRegressor
from mercer.estimators.kept_rows import kept_rows


def signature_of(model: KernelEstimator) -> Any:
    """Return the signature of a fitted model, as ``mlflow.models.ModelSignature``.

    A model of named columns has a type by column: "double" for numbers with fractions, "datetime"
    for dates, and "any" for others. Columns that the fit left out are not in it. A model of an
    array has a tensor of float64. Parameters are those of
    :meth:`mercer.models.mlflow_flavor.PyfuncModel.predict`.
    """
    from mlflow.models import ModelSignature

    return ModelSignature(_inputs(model), _outputs(model), _parameters(model))


def column_types(model: KernelEstimator) -> dict[str, str]:
    """Return the type of every named column that the model needs; empty without names.

    >>> from mercer import KernelRegressor
    >>> from mercer.rows.arrays import ArraySource
    >>> X = np.array([[1, 0.5], [2, 0.7], [3, 0.9]] * 4)
    >>> model = KernelRegressor("gaussian").fit(ArraySource(X, X[:, 1], None, ["rooms", "size"]))
    >>> column_types(model)
    {'rooms': 'any', 'size': 'double'}
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return {}
    names = [str(name) for name in names]
    encoder = getattr(model, "columns_", None)
    if encoder is None:
        return dict.fromkeys(names, "double")
    encoding, rows = encoder.encoding_, kept_rows(model)
    found = {}
    for number, name in enumerate(encoding.names):
        if name in encoding.dropped:
            continue
        values = None if rows is None else rows[:, encoding.origins == number]
        part = encoding.encoders[number]
        found[name] = "any" if name in encoding.text else _type(part, values)
    return found


def _type(encoder: ColumnEncoder, values: Any) -> str:
    """Return the type of a column, given its encoder and rows of what it became."""
    if isinstance(encoder, NumberColumn) and encoder.style is None and values is not None:
        whole = np.all(values[:, 0] == np.round(values[:, 0]))
        return "any" if whole else "double"
    if isinstance(encoder, DateColumn) and encoder.format is None:
        return "datetime"
    return "any"


def _inputs(model: KernelEstimator) -> Any:
    from mlflow.types.schema import AnyType, ColSpec, Schema, TensorSpec

    types = column_types(model)
    if not types:
        return Schema([TensorSpec(np.dtype(np.float64), (-1, model.n_features_in_))])
    return Schema(
        [
            ColSpec(AnyType() if kind == "any" else kind, name, required=True)
            for name, kind in types.items()
        ]
    )


def _outputs(model: Any) -> Any:
    from mlflow.types.schema import Schema, TensorSpec

    if isinstance(model, KernelClassifier):
        kind = model.classes_.dtype
        return Schema([TensorSpec(np.dtype(object) if kind.kind in "OU" else kind, (-1,))])
    shape = (-1, model._targets.outputs) if model._targets.columns else (-1,)
    return Schema([TensorSpec(np.dtype(np.float64), shape)])


def _parameters(model: KernelEstimator) -> Any:
    from mlflow.types.schema import ParamSchema, ParamSpec

    found = [ParamSpec("method", "string", "predict")]
    if isinstance(model, KernelRegressor):
        found.append(ParamSpec("coverage", "double", None))
        found.append(ParamSpec("quantiles", "double", [], shape=(-1,)))  # None must be a scalar
    return ParamSchema(found)

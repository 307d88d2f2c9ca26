"""A model as an MLflow model whose artifact is the model file: no pickle.

The folder has ``data/model.mercer``, and its ``MLmodel`` names this module as the loader, so
``mlflow.pyfunc.load_model`` reads it with :func:`mercer.load`, and MLflow's servers and tools can
predict with it.

Its signature has the columns that a model predicts from, and its parameters. MLflow refuses rows
that do not have these types, and does not convert 64-bit integers to floats, nor categories of
pandas to text. So a type is stated only where rows of the model's kind always have it, and is
``any`` elsewhere.
"""

from __future__ import annotations

import os
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mercer.columns.column_encoders import ColumnEncoder, DateColumn, NumberColumn
from mercer.contracts import Array
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRanker, KernelRegressor
from mercer.explain.explaining import basis_points
from mercer.models.loading import load
from mercer.models.saving import check_saveable, save
from mercer.opening.inputs import columns_of_fit
from mercer.targets.number_targets import RegressionTargets
from mercer.validation import check_choice
from mercer.version import VERSION

#: The methods of ``predict`` by estimator, and the parameter that each of them takes.
METHODS: dict[type[KernelEstimator], dict[str, str | None]] = {
    KernelRegressor: {
        "predict": None,
        "predict_interval": "coverage",
        "predict_quantiles": "quantiles",
    },
    KernelClassifier: {
        "predict": None,
        "predict_proba": None,
        "predict_log_proba": None,
        "decision_function": None,
    },
    KernelRanker: {"predict": None},
}
#: Packages that predictions depend on, in the versions that the model was saved with.
PINNED = ("numpy", "scipy", "scikit-learn", "pandas")


def save_mlflow(
    model: KernelEstimator, path: str | os.PathLike[str], *, moments: bool = False, **options: Any
) -> Path:
    """Save a fitted estimator as an MLflow model, a folder with the model file in it.

    ``mlflow.pyfunc.load_model(path).predict(table)`` then predicts, and
    ``predict(table, params={"method": "predict_interval", "coverage": 0.8})`` calls another method:
    ``predict_interval`` or ``predict_quantiles`` of a regressor; ``predict_proba``,
    ``predict_log_proba`` or ``decision_function`` of a classifier. The folder has no pickle: the
    model is ``data/model.mercer``, for :func:`load`.

    Parameters
    ----------
    model : KernelRegressor, KernelClassifier or KernelRanker
        The fitted estimator.
    path : str or path
        The folder, which must not exist or be empty.
    moments : bool
        As in :func:`save`.
    **options
        Those of ``mlflow.pyfunc.save_model``, such as ``signature``, ``input_example``,
        ``pip_requirements`` or ``metadata``. Without a signature it has the columns of the fit
        (:func:`mercer.models.mlflow_flavor.signature_of`).

    Returns
    -------
    path : Path
        The folder.
    """
    pyfunc = _pyfunc()
    folder = Path(path).expanduser()
    with tempfile.TemporaryDirectory(prefix="mercer-") as scratch:
        pyfunc.save_model(str(folder), **_arguments(model, scratch, moments, options))
    return folder


def log_mlflow(
    model: KernelEstimator, name: str = "model", *, moments: bool = False, **options: Any
) -> Any:
    """Log a fitted estimator to the active MLflow run, or to a new one, with its model file.

    Parameters
    ----------
    model, moments
        As in :func:`save_mlflow`.
    name : str
        The name of the model in the run.
    **options
        Those of ``mlflow.pyfunc.log_model``, such as ``registered_model_name`` or
        ``input_example``.

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        Its ``model_uri`` is for ``mlflow.pyfunc.load_model``.
    """
    pyfunc = _pyfunc()
    with tempfile.TemporaryDirectory(prefix="mercer-") as scratch:
        return pyfunc.log_model(name=name, **_arguments(model, scratch, moments, options))


class PyfuncModel:
    """What ``mlflow.pyfunc`` predicts with."""

    def __init__(self, model: KernelEstimator) -> None:
        self.model = model

    def predict(self, model_input: object, params: dict[str, Any] | None = None) -> Any:
        """Return the predictions of a method, that of ``params`` or ``predict``."""
        # MLflow adds parameters that were not given, as None or an empty list.
        given = {name: v for name, v in (params or {}).items() if v is not None and np.size(v)}
        method = given.pop("method", "predict")
        known = METHODS[type(self.model)]
        takes = known[check_choice(method, "method", list(known))]
        other = next((name for name in given if name != takes), None)
        if other is not None:
            fitting = next((m for m, parameter in known.items() if parameter == other), None)
            hint = "leave it out" if fitting is None else f'add "method": "{fitting}"'
            raise ValueError(f"{method}() takes no parameter {other!r}: {hint}")
        return getattr(self.model, method)(model_input, **given)

    def get_raw_model(self) -> KernelEstimator:
        """Return the estimator itself."""
        return self.model


def _load_pyfunc(path: str) -> PyfuncModel:
    """Return the model of a file; MLflow calls this with the path of the data."""
    return PyfuncModel(load(path))


def requirements() -> list[str]:
    """Return what an environment needs to predict, pinned to what is installed here.

    >>> requirements()[0].startswith("mercer[files]==")
    True
    """
    pins = [f"mercer[files]=={VERSION}"]
    for package in PINNED:
        try:
            pins.append(f"{package}=={version(package)}")
        except PackageNotFoundError:  # only pandas: the others are needed to get here
            continue
    return pins


def _arguments(
    model: KernelEstimator, scratch: str, moments: bool, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of MLflow's functions; the model file is written to a folder."""
    check_saveable(model)
    options = dict(options)
    for name in ("loader_module", "data_path", "python_model", "artifacts"):
        if name in options:
            raise TypeError(f"{name} is set by this function: leave it out")
    if "conda_env" not in options:
        options.setdefault("pip_requirements", requirements())
    if options.get("signature") is None:
        options["signature"] = signature_of(model)
    options["metadata"] = {"mercer": _about(model), **(options.get("metadata") or {})}
    file = save(model, Path(scratch) / "model", moments=moments)
    return {**options, "loader_module": __name__, "data_path": str(file)}


def _about(model: KernelEstimator) -> dict[str, Any]:
    """Return what the ``MLmodel`` file says of the model, for people and tools."""
    names, encoding = columns_of_fit(model)
    about = {"estimator": type(model).__name__, "version": VERSION, "rows": model.fit_.n_rows}
    if names is None:
        return about
    return {**about, "columns": {} if encoding is None else dict(encoding.describe())}


def _pyfunc() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError as error:
        raise ImportError(
            "MLflow models need mlflow and pandas: pip install mlflow-skinny pandas"
        ) from error
    return mlflow.pyfunc


def signature_of(model: KernelEstimator) -> Any:
    """Return the signature of a fitted model, as ``mlflow.models.ModelSignature``.

    A model of named columns has a type by column: "double" for numbers with fractions, "datetime"
    for dates, and "any" for others. Columns that the fit left out are not in it. A model of an
    array has a tensor of float64. Parameters are those of
    :meth:`mercer.models.mlflow_flavor.PyfuncModel.predict`.
    """
    from mlflow.models import ModelSignature
    from mlflow.types.schema import AnyType, ColSpec, ParamSchema, ParamSpec, Schema, TensorSpec

    types, numbers = column_types(model), np.dtype(np.float64)
    inputs = [
        ColSpec(AnyType() if kind == "any" else kind, name, required=True)
        for name, kind in types.items()
    ] or [TensorSpec(numbers, (-1, model.n_features_in_))]
    if isinstance(model, KernelClassifier):
        kind = model.classes_.dtype
        output = TensorSpec(np.dtype(object) if kind.kind in "OU" else kind, (-1,))
    else:
        targets = model._targets
        assert isinstance(targets, RegressionTargets)
        output = TensorSpec(numbers, (-1, targets.outputs) if targets.columns else (-1,))
    parameters = [ParamSpec("method", "string", "predict")]
    if isinstance(model, KernelRegressor):
        parameters.append(ParamSpec("coverage", "double", None))
        # None must be a scalar.
        parameters.append(ParamSpec("quantiles", "double", [], shape=(-1,)))
    return ModelSignature(Schema(inputs), Schema([output]), ParamSchema(parameters))


def column_types(model: KernelEstimator) -> dict[str, str]:
    """Return the type of every named column that the model needs; empty without names.

    >>> from mercer import KernelRegressor
    >>> from mercer.rows.arrays import ArraySource
    >>> X = np.array([[1, 0.5], [2, 0.7], [3, 0.9]] * 4)
    >>> model = KernelRegressor("gaussian").fit(ArraySource(X, X[:, 1], None, ["rooms", "size"]))
    >>> column_types(model)
    {'rooms': 'any', 'size': 'double'}
    """
    names, encoding = columns_of_fit(model)
    if names is None or encoding is None:
        return dict.fromkeys(names or [], "double")
    rows, types = basis_points(model), {}
    for number, name in enumerate(encoding.names):
        if name in encoding.dropped:
            continue
        values = None if rows is None else rows[:, encoding.origins == number]
        part = encoding.encoders[number]
        types[name] = "any" if name in encoding.text else _type(part, values)
    return types


def _type(encoder: ColumnEncoder, values: Array | None) -> str:
    """Return the type of a column, given its encoder and rows of what it became."""
    if isinstance(encoder, NumberColumn) and encoder.style is None and values is not None:
        whole = np.all(values[:, 0] == np.round(values[:, 0]))
        return "any" if whole else "double"
    if isinstance(encoder, DateColumn) and encoder.format is None:
        return "datetime"
    return "any"

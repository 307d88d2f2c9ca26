"""A model as an MLflow model whose artifact is the model file: no pickle.

The folder has ``data/model.mercer``, and its ``MLmodel`` names this module as the loader, so
``mlflow.pyfunc.load_model`` reads it with :func:`mercer.load`, and MLflow's servers and tools can
predict with it.
"""

from __future__ import annotations

import os
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mercer.estimators import KernelClassifier, KernelEstimator, KernelRegressor
from mercer.models.loading import load
from mercer.models.mlflow_signature import signature_of
from mercer.models.saving import check_saveable, save
from mercer.rows import ArraySource
from mercer.rows.frames import table_of
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
}
#: What a ranker has.
ONLY_PREDICT: dict[str, str | None] = {"predict": None}
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
        (:func:`mercer.models.mlflow_signature.signature_of`).

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

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the predictions of a method, that of ``params`` or ``predict``."""
        # MLflow adds parameters that were not given, as None or an empty list.
        given = {name: v for name, v in (params or {}).items() if v is not None and np.size(v)}
        method = given.pop("method", "predict")
        known = METHODS.get(type(self.model), ONLY_PREDICT)
        takes = known[check_choice(method, "method", list(known))]
        other = next((name for name in given if name != takes), None)
        if other is not None:
            fitting = next((m for m, parameter in known.items() if parameter == other), None)
            hint = "leave it out" if fitting is None else f'add "method": "{fitting}"'
            raise ValueError(f"{method}() takes no parameter {other!r}: {hint}")
        return getattr(self.model, method)(self._rows(model_input), **given)

    def _rows(self, model_input: Any) -> Any:
        """Return the columns that the model needs; those that the fit left out may be missing."""
        encoder = getattr(self.model, "columns_", None)
        named = getattr(self.model, "feature_names_in_", None) is not None
        if encoder is None or not named or not hasattr(model_input, "columns"):
            return model_input
        needed, table = encoder.encoding_.needed, table_of(model_input)
        assert table is not None  # it has columns
        return ArraySource(table.selected(needed), feature_names=needed)

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
    found = [f"mercer[files]=={VERSION}"]
    for package in PINNED:
        try:
            found.append(f"{package}=={version(package)}")
        except PackageNotFoundError:  # only pandas: the others are needed to get here
            continue
    return found


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
    encoder = getattr(model, "columns_", None)
    columns = {} if encoder is None else dict(encoder.encoding_.describe())
    named = getattr(model, "feature_names_in_", None) is not None
    found = {"estimator": type(model).__name__, "version": VERSION, "rows": model.fit_.n_rows}
    return {**found, "columns": columns} if named else found


def _pyfunc() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError as error:
        raise ImportError(
            "MLflow models need mlflow and pandas: pip install mlflow-skinny pandas"
        ) from error
    return mlflow.pyfunc

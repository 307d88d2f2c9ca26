"""Write a fitted estimator to one file."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer
from mercer.estimators import KernelEstimator
from mercer.estimators.attributes import check_sums
from mercer.estimators.fitted_parameters import changed_parameters
from mercer.estimators.sharding import stored_engine
from mercer.kernels import FunctionKernel, Kernel
from mercer.models.model_classes import ESTIMATORS, REGISTRY
from mercer.result import Fit
from mercer.storage import Encoder, write_tensors
from mercer.storage.registry import parameters
from mercer.storage.tensor_file import Json
from mercer.validation import warn
from mercer.version import VERSION

#: The format version of load(); increase it for changes that an older mercer would misread.
FORMAT = 2
SUFFIX = ".mercer"

#: Parts of a fit that are stored separately, or not at all.
NOT_IN_RECORD = (
    "basis",
    "plan",
    "solution",
    "folds",
    "dual_rows",
    "path",
    "run",
    "communication",
)
#: What is stored of the path of an iterative solver: its curves, not its solutions.
CURVES = ("residuals", "training_error", "validation_error", "by_fold")
#: What partial_fit needs; the factors define the functions of the moments.
MOMENTS = ("folds", "dual_rows", "factors")


class _ModelEncoder(Encoder):
    """Replaces random generators by None, with a warning."""

    def value(self, value: Any, name: str) -> Json:
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            warn(
                f"{name} is a random generator, which a model file does not hold: it will be None "
                f"after loading. Give an int to keep it"
            )
            return None
        unknown = callable(value) and self.registry.name_of(type(value)) is None
        if isinstance(value, FunctionKernel) or (unknown and not isinstance(value, Kernel)):
            raise TypeError(
                f"{name} is a function, and a model file never holds code: pickle the model, or "
                f"fit it with kernel='precomputed' or a kernel of mercer.kernels"
            )
        return super().value(value, name)


def save(estimator: KernelEstimator, path: str | os.PathLike[str], moments: bool = False) -> Path:
    """Save a fitted estimator to a file for :func:`load`.

    The file is safetensors with a JSON description in its header: no pickle, and no code that could
    be executed. It has checksums of the description and of every array, which :func:`load` checks.
    An existing file is replaced atomically.

    Parameters
    ----------
    estimator : KernelRegressor, KernelClassifier or KernelRanker
        The fitted estimator.
    path : str or path
        The file; ``.mercer`` is added if it has no suffix.
    moments : bool
        Whether to store the moments (M x M numbers), so that ``partial_fit`` and ``forget`` work
        after loading.

    Returns
    -------
    path : Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mercer import KernelRegressor, load, save
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRegressor().fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(model, f"{folder}/sine"))
    >>> bool(np.all(again.predict(X) == model.predict(X)))
    True
    """
    kind = check_saveable(estimator)
    encoder = _ModelEncoder(REGISTRY, "a model file")
    names = getattr(estimator, "feature_names_in_", None)
    document = {
        "format": FORMAT,
        "library": VERSION,
        "estimator": {
            "type": kind,
            "params": encoder.mapping(_parameters(estimator), "estimator"),
        },
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "columns": _columns(encoder, estimator),
        "targets": encoder.object(estimator._targets.stored(), "targets"),
        "basis": _basis(encoder, estimator.fit_.basis),
        "fit": _fit(encoder, estimator.fit_),
        "notes": dict(getattr(estimator, "_notes", {})),
        "calibration": _calibration(encoder, estimator),
        "moments": None,
    }
    if moments:
        check_sums(estimator.fit_)
        found = estimator.fit_
        sums = (found.folds, found.dual_rows, found.basis.factors)
        kept = dict(zip(MOMENTS, sums, strict=True))
        document["moments"] = encoder.mapping(kept, "moments")
        document["changed"] = changed_parameters(estimator)
        remembered = getattr(estimator, "_remembered", None)
        document["remembered"] = (
            None if remembered is None else encoder.object(remembered, "remembered")
        )
    target = with_suffix(path)
    write_tensors(target, document, encoder.tensors)
    return target


def check_saveable(estimator: KernelEstimator) -> str:
    """Return the name of the estimator's class; raise an error unless it is fitted and ours."""
    kind = type(estimator).__name__
    if ESTIMATORS.get(kind) is not type(estimator):
        raise TypeError(
            f"save() needs a fitted {' or '.join(ESTIMATORS)}, got {kind}; of a pipeline, save the "
            f"last step, and the other steps separately"
        )
    check_is_fitted(estimator, "fit_")
    estimator._request(None)  # validates the parameters, as load() does
    return kind


def _columns(encoder: Encoder, estimator: KernelEstimator) -> Json:
    fitted = getattr(estimator, "columns_", None)
    return None if fitted is None else encoder.object(fitted.encoding_, "columns")


def _calibration(encoder: Encoder, estimator: KernelEstimator) -> Json:
    found = getattr(estimator, "calibration_", None)
    return None if found is None else encoder.object(found, "calibration")


def with_suffix(path: str | os.PathLike[str]) -> Path:
    """Return the path, with ``.mercer`` added if it has no suffix.

    >>> with_suffix("model").name, with_suffix("model.safetensors").name
    ('model.mercer', 'model.safetensors')
    """
    file = Path(path).expanduser()
    return file if file.suffix else file.with_name(file.name + SUFFIX)


def _parameters(estimator: KernelEstimator) -> dict[str, Any]:
    """Return the parameters of an estimator, with the engine as its address and paths as text."""
    found = parameters(estimator)
    found["engine"] = stored_engine(found["engine"])
    if found["checkpoint"] is not None:
        found["checkpoint"] = str(found["checkpoint"])
    return found


def _basis(encoder: Encoder, basis: BasisTransformer) -> dict[str, Json]:
    document = encoder.object(basis, "basis")
    state = {name: getattr(basis, name) for name in basis.state}
    document["state"] = encoder.mapping(state, "basis.state")
    return document


def _fit(encoder: Encoder, found: Fit) -> dict[str, Json]:
    # The fit that chose alpha for a solve by products has served its purpose.
    skipped = ("basis", "pilot")
    plan = {
        f.name: getattr(found.plan, f.name) for f in fields(found.plan) if f.name not in skipped
    }
    # The solution in whitened coordinates is useless without the whitening factor.
    solution = {
        f.name: getattr(found.solution, f.name)
        for f in fields(found.solution)
        if f.name not in ("value", "gain")
    }
    rest = {f.name: getattr(found, f.name) for f in fields(found) if f.name not in NOT_IN_RECORD}
    document = {
        "plan": encoder.mapping(plan, "plan"),
        "solution": encoder.mapping(solution, "solution"),
        "found": encoder.mapping(rest, "fit"),
    }
    if found.path is not None:
        curves = {name: getattr(found.path, name) for name in CURVES}
        document["path"] = encoder.mapping(curves, "path")
    return document

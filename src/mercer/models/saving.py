"""Write a fitted estimator to one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer
from mercer.estimators import KernelEstimator
from mercer.estimators.comparing import changed_parameters
from mercer.estimators.fitted import check_sums
from mercer.estimators.parameters import check_parameters
from mercer.kernels import FunctionKernel, Kernel
from mercer.models.loading import CURVES, FORMAT, MOMENTS, load, with_suffix
from mercer.models.model_classes import ESTIMATORS, REGISTRY
from mercer.opening.inputs import columns_of_fit
from mercer.opening.opened_rows import stored_engine
from mercer.result import Fit
from mercer.storage import Encoder, write_tensors
from mercer.storage.registry import parameters
from mercer.storage.state import declared
from mercer.storage.tensor_file import Json
from mercer.validation import warn
from mercer.version import VERSION

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
    An existing file is replaced atomically, and only by a file that :func:`load` has read.

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
    names, encoding = columns_of_fit(estimator)
    document = {
        "format": FORMAT,
        "library": VERSION,
        "estimator": {
            "type": kind,
            "params": encoder.mapping(_parameters(estimator), "estimator"),
        },
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": names,
        "roles": list(estimator._roles),
        "columns": None if encoding is None else encoder.object(encoding, "columns"),
        "targets": encoder.object(estimator._targets.stored(), "targets"),
        "basis": _basis(encoder, estimator.fit_.basis),
        "fit": _fit(encoder, estimator.fit_),
        "notes": dict(estimator._notes),
        "calibration": _calibration(encoder, estimator),
        "moments": None,
    }
    if moments:
        check_sums(estimator.fit_)
        fit = estimator.fit_
        sums = (fit.folds, fit.dual_rows, fit.basis.factors)
        kept = dict(zip(MOMENTS, sums, strict=True))
        document["moments"] = encoder.mapping(kept, "moments")
        document["changed"] = changed_parameters(estimator)
        rows = estimator._remembered
        document["remembered"] = None if rows is None else encoder.object(rows, "remembered")
    target = with_suffix(path)
    write_tensors(target, document, encoder.tensors, load)
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
    check_parameters(estimator)  # as load() does
    return kind


def _calibration(encoder: Encoder, estimator: KernelEstimator) -> Json:
    calibration = getattr(estimator, "calibration_", None)
    return None if calibration is None else encoder.object(calibration, "calibration")


def _parameters(estimator: KernelEstimator) -> dict[str, Any]:
    """Return the parameters of an estimator, with the engine as its address and paths as text."""
    values = parameters(estimator)
    values["engine"] = stored_engine(values["engine"])
    if values["checkpoint"] is not None:
        values["checkpoint"] = str(values["checkpoint"])
    return values


def _basis(encoder: Encoder, basis: BasisTransformer) -> dict[str, Json]:
    document = encoder.object(basis, "basis")
    state = {name: getattr(basis, name) for name in declared(type(basis))}
    document["state"] = encoder.mapping(state, "basis.state")
    return document


def _fit(encoder: Encoder, fit: Fit) -> dict[str, Json]:
    document = {
        # The fit that chose alpha for a solve by products has served its purpose.
        "plan": encoder.mapping(_without(fit.plan, "basis", "pilot"), "plan"),
        # The solution in whitened coordinates is useless without the whitening factor.
        "solution": encoder.mapping(_without(fit.solution, "value", "gain"), "solution"),
        "found": encoder.mapping(_without(fit, *NOT_IN_RECORD), "fit"),
    }
    if fit.path is not None:
        curves = {name: getattr(fit.path, name) for name in CURVES}
        document["path"] = encoder.mapping(curves, "path")
    return document


def _without(record: object, *names: str) -> dict[str, Any]:
    """Return the fields of a record by name, without some."""
    return {name: value for name, value in parameters(record).items() if name not in names}

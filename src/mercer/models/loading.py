"""Read a fitted estimator from a file, without trusting its contents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.columns import TableEncoder, TableEncoding
from mercer.contracts import Solution
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRanker
from mercer.estimators.encoding import asked_encoder
from mercer.estimators.fitted_parameters import FIXED, keep_parameters
from mercer.inference.intervals import Intervals
from mercer.inference.left_out_rows import LeftOutRows
from mercer.metric import SearchRecord
from mercer.models.model_classes import CALIBRATIONS, ESTIMATORS, REGISTRY, TARGETS
from mercer.models.saving import CURVES, FORMAT, MOMENTS, with_suffix
from mercer.plan import Plan
from mercer.result import Fit
from mercer.rows.checks import check_exists
from mercer.solvers import SolverPath
from mercer.storage import DamagedFileError, Decoder, TensorFile, open_tensors
from mercer.storage.row_multiset import RowMultiset
from mercer.storage.tensor_file import Json
from mercer.validation import check_array, check_count, closest


class ModelFileError(ValueError):
    """The file cannot be read as a model; the message names the file and the problem."""


def load(path: str | os.PathLike[str]) -> KernelEstimator:
    """Load an estimator written by :func:`save`; its predictions are bit-identical.

    No code in the file is executed: classes are looked up in a fixed list, parameters are checked
    by name and arrays by shape, and the description and every array must have their checksums.
    A damaged or inconsistent file raises :class:`ModelFileError`. Checksums find damage; they do
    not prove who wrote a file.

    Parameters
    ----------
    path : str or path
        The file; ``.mercer`` may be omitted.

    Returns
    -------
    estimator : KernelRegressor, KernelClassifier or KernelRanker
        The fitted estimator. ``partial_fit`` and ``forget`` work if it was saved with
        ``moments=True``.
    """
    # Numbers that overflow cannot be from a model: most likely a byte is damaged.
    with _open_model(path) as file, np.errstate(over="raise", invalid="raise"):
        return _estimator(file)


def find_model(path: str | os.PathLike[str]) -> Path:
    """Return the path of an existing model file; ``.mercer`` may be omitted."""
    file = Path(path).expanduser()
    if not file.exists():
        file = with_suffix(file)
    try:
        check_exists(file.absolute())
    except ValueError as error:
        raise ModelFileError(str(error)) from error
    if not file.is_file():
        raise ModelFileError(f"{file} must be a model file, got a folder")
    return file


def written_by(path: str | os.PathLike[str]) -> str:
    """Return the version of mercer that wrote a model file."""
    with _open_model(path) as file:
        return str(file.document().get("library"))


@contextmanager
def _open_model(path: str | os.PathLike[str]) -> Iterator[TensorFile]:
    """Open a model file; errors name it."""
    found = find_model(path)
    try:
        with open_tensors(found) as file:
            yield file
    # A malicious document can make the checks of the parts fail in these ways.
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(f"{found} cannot be read as a model: {error}") from error


def _estimator(file: TensorFile) -> KernelEstimator:
    document = file.document()
    version = document.get("format")
    if version != FORMAT:
        raise DamagedFileError(
            f"its format is {version!r} (written by mercer {document.get('library')!r}), this "
            f"mercer reads format {FORMAT}: install the version that wrote it"
        )
    decoder = Decoder(REGISTRY, file)
    wanted = ("estimator", "n_features_in", "feature_names_in", "targets", "basis", "fit")
    missing = [name for name in wanted if name not in document]
    if missing:
        raise DamagedFileError(f"its description has no {', '.join(missing)}")

    estimator = _unfitted(decoder, document["estimator"])
    n_features = check_count(document["n_features_in"], "n_features_in")
    names = _feature_names(document["feature_names_in"], n_features)
    targets = _targets(decoder, document["targets"], estimator)
    values = decoder.mapping(_entry(document["fit"], "found"), "fit")
    estimator.columns_ = _columns(decoder, document.get("columns"), estimator, n_features, names)
    width = n_features
    if estimator.columns_ is not None:
        width = len(estimator.columns_.encoding_.feature_names)
    basis = _basis(decoder, document["basis"], width)
    # Coefficients come first: their number bounds the sizes in the file.
    check_array(values.get("coefficients"), "coefficients", (basis.size, targets.outputs))
    check_array(values.get("intercept"), "intercept", (targets.outputs,))
    basis.kernel_.check_state(width)
    basis.bind()
    found = _fit(decoder, document, basis, values, targets.outputs)
    found.check_state(targets.outputs)
    _check_left_out(found, basis, targets.outputs, width)
    if found.search is not None:
        if not isinstance(found.search, SearchRecord):
            raise DamagedFileError(f"search must be a record, got {type(found.search).__name__}")
        found.search.check_state(width)

    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
        if estimator.columns_ is not None:
            estimator.columns_.feature_names_in_ = estimator.feature_names_in_
    estimator._targets = targets
    if hasattr(targets, "classes"):
        estimator.classes_ = targets.classes
    estimator._adopt(found)
    if isinstance(estimator, (KernelClassifier, KernelRanker)):
        estimator.calibration_ = _calibration(decoder, document.get("calibration"), estimator)
    estimator._notes = _notes(document.get("notes", {}))
    estimator._remembered = _remembered(decoder, document.get("remembered"))
    keep_parameters(estimator, _changed(document.get("changed", [])))
    return estimator


def _check_left_out(found: Fit, basis: BasisTransformer, outputs: int, width: int) -> None:
    """Raise an error if the record of left-out rows does not fit the model."""
    if found.left_out is not None:
        if not isinstance(found.left_out, LeftOutRows):
            raise DamagedFileError(f"left_out must be rows, got {type(found.left_out).__name__}")
        found.left_out.check_state(outputs)
    if found.intervals is not None:
        if not isinstance(found.intervals, Intervals):
            raise DamagedFileError(f"intervals must be so, got {type(found.intervals).__name__}")
        found.intervals.check_state(basis.size, outputs, width)


def _remembered(decoder: Decoder, document: Json) -> RowMultiset | None:
    """Return the fingerprints of the rows, if they were kept."""
    if document is None:
        return None
    found = decoder.value(document, "remembered")
    if type(found) is not RowMultiset:
        raise DamagedFileError(f"remembered must be fingerprints, got {type(found).__name__}")
    found.check_state()
    return found


def _calibration(decoder: Decoder, document: Json, estimator: KernelEstimator) -> Any:
    """Return the map of probabilities or preferences, if any; older files have none."""
    if document is None:
        return None
    found = decoder.value(document, "calibration")
    wanted = CALIBRATIONS[type(estimator)]
    if type(found) is not wanted:
        raise DamagedFileError(
            f"the calibration of a {type(estimator).__name__} must be {wanted.__name__}, got "
            f"{type(found).__name__}"
        )
    found.check_state(len(getattr(estimator, "classes_", ())))
    return found


def _changed(value: Json) -> list[str]:
    """Return the names of parameters that were set after the fit."""
    if not isinstance(value, list) or not set(map(str, value)) <= set(FIXED):
        raise DamagedFileError("changed must name parameters")
    return [str(name) for name in value]


def _notes(value: Json) -> dict[str, str]:
    """Return what was noted of a fit; older files have no notes."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise DamagedFileError("notes must be text by name")
    return dict(value)


def _entry(document: Json, name: str) -> Json:
    if not isinstance(document, dict) or name not in document:
        raise DamagedFileError(f"its description has no {name!r}")
    return document[name]


def _unfitted(decoder: Decoder, document: Json) -> KernelEstimator:
    kind = _entry(document, "type")
    if not isinstance(kind, str) or kind not in ESTIMATORS:
        raise DamagedFileError(f"it holds a {kind!r}{closest(str(kind), ESTIMATORS)}")
    params = decoder.mapping(_entry(document, "params"), "estimator")
    estimator: KernelEstimator = REGISTRY.build(ESTIMATORS[kind], params, kind)
    estimator._request(None)  # validates the parameters
    return estimator


def _feature_names(value: Json, n_features: int) -> list[str] | None:
    """Return the column names, if any."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DamagedFileError("feature_names_in must be a list of names or null")
    if len(value) != n_features:
        raise DamagedFileError(f"feature_names_in must name {n_features} columns, got {len(value)}")
    return value


def _columns(
    decoder: Decoder,
    document: Json,
    estimator: KernelEstimator,
    n_features: int,
    names: list[str] | None,
) -> TableEncoder | None:
    """Return what became of the columns of a table, if any."""
    if document is None:
        return None
    encoding = decoder.value(document, "columns")
    if type(encoding) is not TableEncoding:
        raise DamagedFileError(f"columns must be an encoding, got {type(encoding).__name__}")
    encoding.check_state()
    if len(encoding.names) != n_features:
        raise DamagedFileError(f"columns must encode {n_features} columns")
    if names is not None and list(encoding.names) != names:
        raise DamagedFileError("columns must encode those of feature_names_in")
    fitted = asked_encoder(estimator) or TableEncoder()
    fitted.encoding_, fitted.n_features_in_ = encoding, n_features
    return fitted


def _targets(decoder: Decoder, document: Json, estimator: KernelEstimator) -> Any:
    targets = decoder.value(document, "targets")
    wanted = TARGETS[type(estimator)]
    if type(targets) is not wanted:
        raise DamagedFileError(
            f"the targets of a {type(estimator).__name__} must be {wanted.__name__}, got "
            f"{type(targets).__name__}"
        )
    targets.check_state()
    return targets


def _basis(decoder: Decoder, document: Json, n_features: int) -> BasisTransformer:
    kind = _entry(document, "type")
    params = decoder.mapping(_entry(document, "params"), "basis")
    state = decoder.mapping(_entry(document, "state"), "basis.state")
    cls = REGISTRY.find(kind) if isinstance(kind, str) else None
    if cls is None or not issubclass(cls, BasisTransformer):
        raise DamagedFileError(f"the basis has the unknown type {kind!r}")
    if set(state) != set(cls.state):
        raise DamagedFileError(
            f"the state of {kind} must be {sorted(cls.state)}, got {sorted(state)}"
        )
    basis: BasisTransformer = REGISTRY.build(cls, params, "basis")
    for name, value in state.items():
        setattr(basis, name, value)
    basis.check_state(n_features)
    return basis


def _fit(
    decoder: Decoder,
    document: dict[str, Json],
    basis: BasisTransformer,
    values: dict[str, Any],
    outputs: int,
) -> Fit:
    plan = decoder.mapping(_entry(document["fit"], "plan"), "plan")
    solution = decoder.mapping(_entry(document["fit"], "solution"), "solution")
    for name in ("path", "run", "communication"):
        if name in values:
            raise DamagedFileError(f"{name} must not be a part of the fit")
    kept = {}
    if document["fit"].get("path") is not None:
        kept["path"] = _path(decoder, document["fit"]["path"])
    if document.get("moments") is not None:
        sums = decoder.mapping(document["moments"], "moments")
        if set(sums) != set(MOMENTS):
            raise DamagedFileError(f"its moments must be {sorted(MOMENTS)}, got {sorted(sums)}")
        factors = sums.pop("factors")
        kept |= sums
        if factors is not None:
            basis.restore_factors(factors)
    nothing = np.zeros((0, outputs))  # a solution in whitened coordinates is not stored
    found: Fit = REGISTRY.build(
        Fit,
        {
            **values,
            **kept,
            "basis": basis,
            "plan": REGISTRY.build(Plan, {**plan, "basis": basis}, "plan"),
            "solution": REGISTRY.build(Solution, {**solution, "value": nothing}, "solution"),
        },
        "fit",
    )
    return found


def _path(decoder: Decoder, document: Json) -> SolverPath:
    curves = decoder.mapping(document, "path")
    if set(curves) != set(CURVES):
        raise DamagedFileError(f"its path must be {sorted(CURVES)}, got {sorted(curves)}")
    path: SolverPath = REGISTRY.build(SolverPath, curves, "path")
    return path

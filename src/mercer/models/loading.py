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
from mercer.estimators import KernelEstimator
from mercer.estimators.comparing import fixed_parameters
from mercer.estimators.fitted import Fitted
from mercer.estimators.parameters import FIXED, check_parameters, read_parameters
from mercer.inference.intervals import Intervals
from mercer.inference.left_out_pass import LeftOutRows
from mercer.models.model_classes import CALIBRATIONS, ESTIMATORS, REGISTRY, TARGETS
from mercer.opening.inputs import Features
from mercer.plan import Plan
from mercer.result import Fit
from mercer.rows.checks import check_exists
from mercer.solvers import SolverPath
from mercer.storage import UNREADABLE, DamagedFileError, Decoder, TensorFile, open_tensors
from mercer.storage.fingerprints import RowMultiset
from mercer.storage.state import (
    Count,
    Each,
    Numbers,
    OneOf,
    Part,
    Sizes,
    State,
    check_fields,
    check_state,
    declared,
)
from mercer.storage.tensor_file import Json
from mercer.validation import check_array, closest

#: The format version of load(); increase it for changes that an older mercer would misread.
FORMAT = 2
SUFFIX = ".mercer"
#: What is stored of the path of an iterative solver: its curves, not its solutions.
CURVES = ("residuals", "training_error", "validation_error", "by_fold")
#: What partial_fit needs; the factors define the functions of the moments.
MOMENTS = ("folds", "dual_rows", "factors")


#: Entries of the description, and what each must be.
ENTRIES = State(
    n_features_in=Count(),
    feature_names_in=Each(
        Part(str), optional=True, must="feature_names_in must be a list of names or null"
    ),
    roles=Each(Part(str), must="roles must be a list of names"),
    changed=Each(OneOf(FIXED), must="changed must name parameters"),
)
#: Parts of a fit that are made of fits.
LEFT_OUT = State(
    left_out=Part(LeftOutRows, "k", optional=True, must="left_out must be rows, got {kind}"),
    intervals=Part(Intervals, "m k d", optional=True, must="intervals must be so, got {kind}"),
)
#: What is left of a solution in a file.
SOLUTION = State(
    steps=Count(0), residuals=Numbers("steps | steps k", finite=False), gain=OneOf([None])
)
#: Entries that may be null.
OPTIONAL = ("columns", "calibration", "remembered", "moments")
ENCODING = Part(TableEncoding, "", optional=True, must="columns must be an encoding, got {kind}")
REMEMBERED = Part(
    RowMultiset, "", optional=True, must="remembered must be fingerprints, got {kind}"
)


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


def with_suffix(path: str | os.PathLike[str], suffix: str = SUFFIX) -> Path:
    """Return the path, with ``.mercer`` or another suffix added if it has none.

    >>> with_suffix("model").name, with_suffix("model.safetensors").name
    ('model.mercer', 'model.safetensors')
    """
    file = Path(path).expanduser()
    return file if file.suffix else file.with_name(file.name + suffix)


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
    existing = find_model(path)
    try:
        with open_tensors(existing) as file:
            yield file
    # A malicious document can make the checks of the parts fail in these ways.
    except UNREADABLE as error:
        raise ModelFileError(f"{existing} cannot be read as a model: {error}") from error


def _estimator(file: TensorFile) -> KernelEstimator:
    document, decoder = _document(file), Decoder(REGISTRY, file)
    estimator = _unfitted(decoder, document["estimator"])
    for name, field in ENTRIES.items():
        field.check(document[name], name, {})
    n_features, names = document["n_features_in"], document["feature_names_in"]
    if names is not None and len(names) != n_features:
        raise DamagedFileError(f"feature_names_in must name {n_features} columns, got {len(names)}")
    targets = _targets(decoder, document, estimator)
    values = decoder.mapping(_entry(document["fit"], "found"), "fit")
    encoding = _part(decoder, document, "columns", ENCODING)
    encoder, width = None, n_features
    if encoding is not None:
        encoder = _encoder(encoding, estimator, n_features, names)
        width = len(encoding.feature_names)
    basis = _basis(decoder, document["basis"], width)
    # Coefficients come first: their number bounds the sizes in the file.
    check_array(values.get("coefficients"), "coefficients", (basis.size, targets.outputs))
    check_array(values.get("intercept"), "intercept", (targets.outputs,))
    check_state(basis.kernel_, d=width)
    basis.bind()
    fit = _fit(decoder, document, basis, values, targets.outputs)
    sizes = {"m": basis.size, "k": targets.outputs, "d": width, "folds": fit.plan.folds}
    check_state(fit, **sizes)
    check_fields(fit, LEFT_OUT, sizes)
    check_fields(fit.solution, SOLUTION, {})

    estimator._take(
        Fitted(
            fit=fit,
            targets=targets,
            features=Features(n_features, names),
            encoder=encoder,
            roles=tuple(document["roles"]),
            fixed={**fixed_parameters(estimator), **dict.fromkeys(document["changed"], "")},
            remembered=_part(decoder, document, "remembered", REMEMBERED),
            calibration=_calibration(decoder, document, estimator, targets),
            notes=document["notes"],
        )
    )
    return estimator


def _document(file: TensorFile) -> dict[str, Json]:
    """Return the description, with all entries; older files have not all of the later ones."""
    document = file.document()
    version = document.get("format")
    if version != FORMAT:
        raise DamagedFileError(
            f"its format is {version!r} (written by mercer {document.get('library')!r}), this "
            f"mercer reads format {FORMAT}: install the version that wrote it"
        )
    wanted = ("estimator", "n_features_in", "feature_names_in", "targets", "basis", "fit")
    missing = [name for name in wanted if name not in document]
    if missing:
        raise DamagedFileError(f"its description has no {', '.join(missing)}")
    document = {**dict.fromkeys(OPTIONAL), "roles": [], "notes": {}, "changed": [], **document}
    notes = document["notes"]
    if not isinstance(notes, dict) or not all(isinstance(text, str) for text in notes.values()):
        raise DamagedFileError("notes must be text by name")
    return document


def _targets(decoder: Decoder, document: dict[str, Json], estimator: KernelEstimator) -> Any:
    """Return the targets, which must be of the kind of the estimator."""
    targets, wanted = decoder.value(document["targets"], "targets"), TARGETS[type(estimator)]
    if type(targets) is not wanted:
        raise DamagedFileError(
            f"the targets of a {type(estimator).__name__} must be {wanted.__name__}, got "
            f"{type(targets).__name__}"
        )
    check_state(targets)
    return targets


def _calibration(
    decoder: Decoder, document: dict[str, Json], estimator: KernelEstimator, targets: Any
) -> Any:
    """Return the map of probabilities or preferences, if any."""
    if type(estimator) not in CALIBRATIONS:
        return None
    wanted = CALIBRATIONS[type(estimator)]
    must = (
        f"the calibration of a {type(estimator).__name__} must be {wanted.__name__}, got {{kind}}"
    )
    sizes = {"classes": len(targets.classes)} if hasattr(targets, "classes") else {}
    part = Part(wanted, "classes", optional=True, must=must)
    return _part(decoder, document, "calibration", part, sizes)


def _part(
    decoder: Decoder, document: dict[str, Json], name: str, part: Part, sizes: Sizes | None = None
) -> Any:
    """Return the object of an entry, if there is one and it is as it must be."""
    value = None if document[name] is None else decoder.value(document[name], name)
    part.check(value, name, sizes or {})
    return value


def _encoder(
    encoding: TableEncoding, estimator: KernelEstimator, n_features: int, names: list[str] | None
) -> TableEncoder:
    """Return the fitted encoder of a table with these columns."""
    if len(encoding.names) != n_features:
        raise DamagedFileError(f"columns must encode {n_features} columns")
    if names is not None and list(encoding.names) != names:
        raise DamagedFileError("columns must encode those of feature_names_in")
    fitted: TableEncoder = read_parameters(estimator)["columns"] or TableEncoder()
    if names is not None:
        fitted.feature_names_in_ = np.array(names, dtype=object)
    fitted.encoding_, fitted.n_features_in_ = encoding, n_features
    return fitted


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
    check_parameters(estimator)
    return estimator


def _basis(decoder: Decoder, document: Json, n_features: int) -> BasisTransformer:
    kind = _entry(document, "type")
    params = decoder.mapping(_entry(document, "params"), "basis")
    state = decoder.mapping(_entry(document, "state"), "basis.state")
    cls = REGISTRY.find(kind) if isinstance(kind, str) else None
    if cls is None or not issubclass(cls, BasisTransformer):
        raise DamagedFileError(f"the basis has the unknown type {kind!r}")
    if set(state) != set(declared(cls)):
        raise DamagedFileError(
            f"the state of {kind} must be {sorted(declared(cls))}, got {sorted(state)}"
        )
    basis: BasisTransformer = REGISTRY.build(cls, params, "basis")
    for name, value in state.items():
        setattr(basis, name, value)
    check_state(basis, d=n_features)
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
        curves = _entries(decoder, document["fit"]["path"], "path", CURVES)
        kept["path"] = REGISTRY.build(SolverPath, curves, "path")
    if document["moments"] is not None:
        sums = _entries(decoder, document["moments"], "moments", MOMENTS)
        factors = sums.pop("factors")
        kept |= sums
        if factors is not None:
            basis.restore_factors(factors)
    nothing = np.zeros((0, outputs))  # a solution in whitened coordinates is not stored
    fit: Fit = REGISTRY.build(
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
    return fit


def _entries(decoder: Decoder, document: Json, what: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of a part of the file, which must have these names."""
    found = decoder.mapping(document, what)
    if set(found) != set(names):
        raise DamagedFileError(f"its {what} must be {sorted(names)}, got {sorted(found)}")
    return found

"""Read a fitted estimator from a file, believing nothing that it says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mercer.bases.graded import GradedBasis
from mercer.contracts import Solution
from mercer.estimators import KernelEstimator
from mercer.models import basis_checks, checks
from mercer.models.container import Container, open_container
from mercer.models.decode import Decoder
from mercer.models.encode import Json
from mercer.models.errors import ModelFileError
from mercer.models.fit_checks import check_fit
from mercer.models.registry import ESTIMATORS, REGISTRY
from mercer.models.saving import CURVES, FORMAT, MOMENTS, basis_state, with_suffix
from mercer.plan import Plan
from mercer.result import Fit
from mercer.solvers import SolverPath
from mercer.sources.checks import check_exists
from mercer.validation import closest


def load(path: str | os.PathLike[str]) -> KernelEstimator:
    """Read an estimator that :func:`save` has written; it predicts the same, bit for bit.

    No code in the file runs: classes are looked up in a fixed list, parameters are checked by name
    and arrays by shape. A file that is damaged or inconsistent gives a :class:`ModelFileError`.

    Parameters
    ----------
    path : str or path
        The file; ``.mercer`` may be left out.

    Returns
    -------
    estimator : KernelRegressor, KernelClassifier or KernelRanker
        The fitted estimator. ``partial_fit`` and ``forget`` go on if it was saved with
        ``moments=True``.
    """
    with open_container(find_model(path)) as container:
        try:
            # Numbers so large that they overflow are no model's: a damaged byte, most likely.
            with np.errstate(over="raise", invalid="raise"):
                return _estimator(container)
        except ModelFileError:
            raise
        # A hostile document can make the checks of the parts themselves fail, in these ways.
        except (ValueError, TypeError, ArithmeticError) as error:
            raise container.error(str(error)) from error


def find_model(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model file that exists; ``.mercer`` may be left out."""
    file = Path(path).expanduser()
    if not file.exists():
        file = with_suffix(file)
    check_exists(file.absolute())
    if not file.is_file():
        raise ModelFileError(f"{file} must be a model file, got a folder")
    return file


def written_by(path: str | os.PathLike[str]) -> str:
    """Return the version of mercer that wrote a model file."""
    with open_container(find_model(path)) as container:
        return str(container.document().get("library"))


def _estimator(container: Container) -> KernelEstimator:
    document = container.document()
    version = document.get("format")
    if version != FORMAT:
        raise container.error(
            f"its format is {version!r} (written by mercer {document.get('library')!r}), this "
            f"mercer reads format {FORMAT}: install the version that wrote it"
        )
    decoder = Decoder(container)
    wanted = ("estimator", "n_features_in", "feature_names_in", "targets", "basis", "fit")
    missing = [name for name in wanted if name not in document]
    if missing:
        raise container.error(f"its description lacks {', '.join(missing)}")

    estimator = _unfitted(decoder, document["estimator"])
    n_features = checks.whole(document["n_features_in"], "n_features_in", 1)
    names = checks.feature_names(document["feature_names_in"], n_features)
    targets = decoder.value(document["targets"], "targets")
    checks.check_targets(targets, estimator)
    values = decoder.mapping(_entry(decoder, document["fit"], "found"), "fit")
    basis = _basis(decoder, document["basis"], n_features, values, targets.outputs)
    found = _fit(decoder, document, basis, values, targets.outputs)

    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._targets = targets
    if hasattr(targets, "classes"):
        estimator.classes_ = targets.classes
    estimator._adopt(found)
    return estimator


def _entry(decoder: Decoder, document: Json, name: str) -> Json:
    if not isinstance(document, dict) or name not in document:
        raise decoder.error(f"its description lacks {name!r}")
    return document[name]


def _unfitted(decoder: Decoder, document: Json) -> KernelEstimator:
    kind = _entry(decoder, document, "type")
    if not isinstance(kind, str) or kind not in ESTIMATORS:
        raise decoder.error(f"it holds a {kind!r}{closest(str(kind), ESTIMATORS)}")
    params = decoder.mapping(_entry(decoder, document, "params"), "estimator")
    estimator: KernelEstimator = decoder.build(ESTIMATORS[kind], params, kind)
    checks.check_parts(estimator._request(None).kernel)
    return estimator


def _basis(
    decoder: Decoder, document: Json, n_features: int, values: dict[str, Any], outputs: int
) -> Any:
    kind = _entry(decoder, document, "type")
    params = decoder.mapping(_entry(decoder, document, "params"), "basis")
    state = decoder.mapping(_entry(decoder, document, "state"), "basis.state")
    cls = basis_checks.basis_class(kind, REGISTRY)
    names = basis_state(cls)
    if set(state) != set(names):
        raise decoder.error(f"the state of {kind} must be {sorted(names)}, got {sorted(state)}")
    size = basis_checks.basis_size(state, n_features)
    # Coefficients come first: their number bounds the size that the state claims.
    checks.check_coefficients(values, size, outputs)
    checks.check_kernel(state["kernel_"], n_features)
    basis = decoder.build(cls, params, "basis")
    for name, value in state.items():
        setattr(basis, name, value)
    if isinstance(basis, GradedBasis):
        basis._bind()
    return basis


def _fit(
    decoder: Decoder, document: dict[str, Json], basis: Any, values: dict[str, Any], outputs: int
) -> Fit:
    plan = decoder.mapping(_entry(decoder, document["fit"], "plan"), "plan")
    solution = decoder.mapping(_entry(decoder, document["fit"], "solution"), "solution")
    for name in ("path", "run", "communication"):
        if name in values:
            raise decoder.error(f"{name} must not be a part of what was found")
    kept = {}
    if document["fit"].get("path") is not None:
        kept["path"] = _path(decoder, document["fit"]["path"])
    if document.get("moments") is not None:
        sums = decoder.mapping(document["moments"], "moments")
        if set(sums) != set(MOMENTS):
            raise decoder.error(f"its moments must be {sorted(MOMENTS)}, got {sorted(sums)}")
        factor = sums.pop("factor")
        kept |= sums
        if factor is not None:
            basis.factor_ = checks.check_factor(factor, basis.size)
    found: Fit = decoder.build(
        Fit,
        {
            **values,
            **kept,
            "basis": basis,
            "plan": decoder.build(Plan, {**plan, "basis": basis}, "plan"),
            "solution": decoder.build(
                Solution, {**solution, "value": np.zeros((0, outputs))}, "solution"
            ),
        },
        "fit",
    )
    check_fit(found, outputs)
    return found


def _path(decoder: Decoder, document: Json) -> SolverPath:
    curves = decoder.mapping(document, "path")
    if set(curves) != set(CURVES):
        raise decoder.error(f"its path must be {sorted(CURVES)}, got {sorted(curves)}")
    path: SolverPath = decoder.build(SolverPath, curves, "path")
    return path

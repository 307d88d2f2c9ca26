"""Whether what a file holds fits together: each check says what must be and what was got."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRanker
from mercer.estimators.rank_targets import RankTargets
from mercer.estimators.targets import ClassTargets, RegressionTargets
from mercer.kernels import Kernel, Precomputed, Product, Sum
from mercer.storage.registry import parameters
from mercer.validation import check_choice, check_count, check_flag


def whole(value: Any, name: str, minimum: int) -> int:
    """Return a whole number of at least ``minimum``."""
    return check_count(value, name, minimum=minimum)


def numbers(value: Any, name: str, shape: tuple[int | None, ...], kind: str = "f") -> Array:
    """Return an array of the given shape (None: any length) and kind, with finite values."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kind:
        raise ValueError(f"{name} must be an array of {_KINDS[kind]}, got {_kind(value)}")
    wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
    if value.ndim != len(shape) or any(
        n is not None and n != got for n, got in zip(shape, value.shape, strict=True)
    ):
        raise ValueError(f"{name} must have shape {wanted}, got {value.shape}")
    if kind == "f" and not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return value


_KINDS = {"f": "floats", "iu": "whole numbers"}


def _kind(value: Any) -> str:
    return str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__


def feature_names(value: Any, n_features: int) -> list[str] | None:
    """Return the names of the columns, if there are any."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("feature_names_in must be a list of names or null")
    if len(value) != n_features:
        raise ValueError(f"feature_names_in must name {n_features} columns, got {len(value)}")
    return value


def check_targets(targets: Any, estimator: KernelEstimator) -> None:
    """Refuse targets that do not belong to the estimator, or are inconsistent."""
    wanted: type[RegressionTargets] | type[ClassTargets] = RegressionTargets
    if isinstance(estimator, KernelClassifier):
        wanted = ClassTargets
    elif isinstance(estimator, KernelRanker):
        wanted = RankTargets
    if type(targets) is not wanted:
        raise ValueError(
            f"the targets of a {type(estimator).__name__} must be {wanted.__name__}, got "
            f"{type(targets).__name__}"
        )
    if isinstance(targets, ClassTargets):
        classes = targets.classes
        if classes.ndim != 1 or len(classes) < 2 or np.any(np.unique(classes) != classes):
            raise ValueError("classes must be at least two, sorted, each once")
        return
    assert isinstance(targets, RegressionTargets)
    scale = numbers(targets.scale, "scale", (None,))
    numbers(targets.origin, "origin", scale.shape)
    if not len(scale) or np.any(scale <= 0) or (len(scale) > 1 and not targets.columns):
        raise ValueError("scale must be positive, one for each column of y")
    if isinstance(targets, RankTargets):
        _check_queries(targets)


def _check_queries(targets: RankTargets) -> None:
    """Refuse counts of queries that cannot be, and queries by name, which files do not hold."""
    check_choice(targets.weighting, "weighting", ["pair", "query"])
    check_flag(targets.by_query, "by_query")
    whole(targets.n_queries, "n_queries", 1)
    whole(targets.n_single, "n_single", 0)
    whole(targets.seed, "seed", 0)
    if targets.queries is not None or targets.pairs is not None or len(targets.scale) != 1:
        raise ValueError("the targets of a ranker must be one column, without queries")


def check_factor(factor: Any, size: int) -> Array:
    """Return a lower triangular matrix with a positive diagonal."""
    numbers(factor, "the factor", (size, size))
    if np.any(np.triu(factor, 1)) or np.any(np.diagonal(factor) <= 0):
        raise ValueError("the factor must be lower triangular with a positive diagonal")
    return np.asarray(factor)


def check_coefficients(values: dict[str, Any], size: int, outputs: int) -> None:
    """Refuse coefficients that are not one for each function and output, or not finite."""
    numbers(values.get("coefficients"), "coefficients", (size, outputs))
    numbers(values.get("intercept"), "intercept", (outputs,))


def check_parts(kernel: Any) -> list[Kernel]:
    """Return the kernels that a kernel is made of, refusing parts that are none."""
    if isinstance(kernel, (Sum, Product)):
        return check_parts(kernel.left) + check_parts(kernel.right)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"the kernel must be a kernel, got {type(kernel).__name__}")
    return [kernel]


def check_kernel(kernel: Any, n_features: int) -> None:
    """Refuse a kernel with parameters that are still to be found, or out of range."""
    for part in check_parts(kernel):
        for name, value in parameters(part).items():
            if value is None or isinstance(value, str):
                raise ValueError(f"{name} of {type(part).__name__} must be numbers, got {value!r}")
        if not isinstance(part, Precomputed):
            part.fitted(np.zeros((1, n_features)))

"""Whether what a file holds fits together: each check says what must be and what was got."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array
from mercer.estimators import KernelClassifier, KernelEstimator
from mercer.estimators.targets import ClassTargets, RegressionTargets
from mercer.kernels import Kernel, Precomputed, Product, Sum
from mercer.kernels.feature_maps import (
    ColumnFeatures,
    FourierFeatures,
    MultipliedFeatures,
    ReluFeatures,
    StackedFeatures,
)
from mercer.kernels.spline import SplineFeatures
from mercer.models.registry import FEATURE_MAPS, parameters
from mercer.validation import check_count


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
    wanted = ClassTargets if isinstance(estimator, KernelClassifier) else RegressionTargets
    if not isinstance(targets, wanted):
        raise ValueError(
            f"the targets of a {type(estimator).__name__} must be {wanted.__name__}, got "
            f"{type(targets).__name__}"
        )
    if isinstance(targets, ClassTargets):
        classes = targets.classes
        if classes.ndim != 1 or len(classes) < 2 or np.any(np.unique(classes) != classes):
            raise ValueError("classes must be at least two, sorted, each once")
        return
    scale = numbers(targets.scale, "scale", (None,))
    numbers(targets.origin, "origin", scale.shape)
    if not len(scale) or np.any(scale <= 0) or (len(scale) > 1 and not targets.columns):
        raise ValueError("scale must be positive, one for each column of y")


def basis_class(kind: Any, registry: dict[str, type]) -> type:
    """Return the class of a basis by its name."""
    cls = registry.get(kind) if isinstance(kind, str) else None
    if cls is None or not issubclass(cls, BasisTransformer):
        raise ValueError(f"the basis is of the unknown type {kind!r}")
    return cls


def basis_size(state: dict[str, Any], n_features: int) -> int:
    """Return M after checking the arrays that define the functions."""
    if state["precision_"] not in ("float32", "float64"):
        raise ValueError(f"precision must be float32 or float64, got {state['precision_']!r}")
    if "features_" in state:
        return _feature_map_size(state["features_"], n_features)
    landmarks = numbers(state["landmarks_"], "landmarks", (None, None))
    size, columns = landmarks.shape
    precomputed = isinstance(state["kernel_"], Precomputed)
    if columns != (size if precomputed else n_features) or size == 0:
        raise ValueError(
            f"landmarks must have {'a column each' if precomputed else f'{n_features} columns'}, "
            f"got shape {landmarks.shape}"
        )
    check_count(state["n_dropped_"], "n_dropped", minimum=0)
    indices = state["indices_"]
    if indices is not None:
        numbers(indices, "indices", (size,), "iu")
        if indices.min() < 0 or (precomputed and indices.max() >= n_features):
            raise ValueError("indices of landmarks must be those of rows")
    elif precomputed:
        raise ValueError("landmarks of a precomputed kernel must have indices")
    return int(size)


def _feature_map_size(features: Any, n_features: int) -> int:
    if type(features) not in FEATURE_MAPS:
        raise ValueError(f"the features must be a feature map, got {type(features).__name__}")
    if isinstance(features, FourierFeatures):
        numbers(features.phase, "phase", (None,))
        numbers(features.turns, "turns", (n_features, features.size))
    elif isinstance(features, ReluFeatures):
        numbers(features.weights, "weights", (n_features, None))
        if features.order not in (0, 1):
            raise ValueError(f"order of the features must be 0 or 1, got {features.order}")
    elif isinstance(features, SplineFeatures):
        numbers(features.knots, "knots", (n_features, None))
        if not features.order > 0.5:
            raise ValueError(f"order of the features must be over 0.5, got {features.order}")
    elif isinstance(features, ColumnFeatures) and features.size != n_features:
        raise ValueError(f"the features must be {n_features} columns, got {features.size}")
    elif isinstance(features, (StackedFeatures, MultipliedFeatures)):
        sizes = {_feature_map_size(part, n_features) for part in features.parts}
        if not sizes or (isinstance(features, MultipliedFeatures) and len(sizes) > 1):
            raise ValueError("the parts of multiplied features must be of one size")
    return check_count(int(features.size), "the number of features")


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

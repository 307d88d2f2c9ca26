"""Whether the functions that a file describes are well defined."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.bases.orthogonal_systems import OrthogonalSystem
from mercer.bases.projections import DenseProjection
from mercer.kernels import Precomputed
from mercer.kernels.feature_maps import (
    ColumnFeatures,
    FourierFeatures,
    MultipliedFeatures,
    ReluFeatures,
    StackedFeatures,
    WeightedFeatures,
)
from mercer.kernels.spline import SplineFeatures
from mercer.models.checks import numbers
from mercer.models.model_classes import FEATURE_MAPS, PROJECTIONS
from mercer.storage import Registry
from mercer.validation import check_count


def basis_class(kind: Any, registry: Registry) -> type:
    """Return the class of a basis by its name."""
    cls = registry.find(kind) if isinstance(kind, str) else None
    if cls is None or not issubclass(cls, BasisTransformer):
        raise ValueError(f"the basis is of the unknown type {kind!r}")
    return cls


def basis_size(state: dict[str, Any], n_features: int) -> int:
    """Return M after checking the arrays that define the functions."""
    if state["precision_"] not in ("float32", "float64"):
        raise ValueError(f"precision must be float32 or float64, got {state['precision_']!r}")
    if "features_" in state:
        return _feature_map_size(state["features_"], n_features)
    check_count(state["n_dropped_"], "n_dropped", minimum=0)
    if "projection_" in state:
        return _sketch_size(state, n_features)
    landmarks = numbers(state["landmarks_"], "landmarks", (None, None))
    size, columns = landmarks.shape
    precomputed = isinstance(state["kernel_"], Precomputed)
    if columns != (size if precomputed else n_features) or size == 0:
        raise ValueError(
            f"landmarks must have {'a column each' if precomputed else f'{n_features} columns'}, "
            f"got shape {landmarks.shape}"
        )
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
    elif isinstance(features, WeightedFeatures):
        size = _feature_map_size(features.part, n_features)
        numbers(features.weights, "weights of features", (size,))
    elif isinstance(features, (StackedFeatures, MultipliedFeatures)):
        sizes = {_feature_map_size(part, n_features) for part in features.parts}
        if not sizes or (isinstance(features, MultipliedFeatures) and len(sizes) > 1):
            raise ValueError("the parts of multiplied features must be of one size")
    return check_count(int(features.size), "the number of features")


def _sketch_size(state: dict[str, Any], n_features: int) -> int:
    points = numbers(state["points_"], "points", (None, None))
    n_rows, columns = points.shape
    precomputed = isinstance(state["kernel_"], Precomputed)
    if columns != (n_rows if precomputed else n_features) or n_rows == 0:
        raise ValueError(
            f"points must have {'a column each' if precomputed else f'{n_features} columns'}, got "
            f"shape {points.shape}"
        )
    indices = numbers(state["indices_"], "indices", (n_rows,), "iu")
    if indices.min() < 0 or (precomputed and indices.max() >= n_features):
        raise ValueError("indices of points must be those of rows")
    projection = state["projection_"]
    if type(projection) not in PROJECTIONS:
        raise ValueError(f"the projection must be one, got {type(projection).__name__}")
    if isinstance(projection, OrthogonalSystem):
        signs = numbers(projection.signs, "signs", (n_rows,), "iu")
        rows = numbers(projection.rows, "rows of the projection", (None,), "iu")
        if np.any(np.abs(signs) != 1):
            raise ValueError("signs must be +1 or -1")
        if np.any(rows < 0) or np.any(rows >= projection.width(n_rows)):
            raise ValueError("rows of the projection must be those of its transform")
        check_count(projection.drawn, "drawn", minimum=max(1, len(rows)))
    elif isinstance(projection, DenseProjection):
        numbers(projection.matrix, "the projection", (None, n_rows))
    return check_count(projection.shape[0], "the number of functions")

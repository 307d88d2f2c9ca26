"""The only classes that a model file can name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from mercer.bases import BASES
from mercer.bases.sketch import KINDS
from mercer.combine import COMBINATIONS
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRanker, KernelRegressor
from mercer.estimators.rank_targets import RankTargets
from mercer.estimators.targets import ClassTargets, RegressionTargets
from mercer.kernels import KERNELS, Product, Sum
from mercer.kernels.feature_maps import (
    ColumnFeatures,
    FourierFeatures,
    MultipliedFeatures,
    ReluFeatures,
    StackedFeatures,
    WeightedFeatures,
)
from mercer.kernels.spline import SplineFeatures
from mercer.moments import Moments
from mercer.selection import CRITERIA
from mercer.selection.criteria import Scores
from mercer.solvers import RULES, SOLVERS

ESTIMATORS: dict[str, type[KernelEstimator]] = {
    "KernelClassifier": KernelClassifier,
    "KernelRanker": KernelRanker,
    "KernelRegressor": KernelRegressor,
}

FEATURE_MAPS: tuple[type, ...] = (
    ColumnFeatures,
    FourierFeatures,
    MultipliedFeatures,
    ReluFeatures,
    SplineFeatures,
    StackedFeatures,
    WeightedFeatures,
)

PROJECTIONS: tuple[type, ...] = tuple(KINDS.values())

#: Names that stand for a class in a file; nothing else is ever looked up.
REGISTRY: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *KERNELS.values(),
        Product,
        Sum,
        *BASES.values(),
        *SOLVERS.values(),
        *RULES.values(),
        *CRITERIA.values(),
        *COMBINATIONS.values(),
        *FEATURE_MAPS,
        *PROJECTIONS,
        ClassTargets,
        RankTargets,
        RegressionTargets,
        Moments,
        Scores,
    )
}


def parameter_names(cls: type) -> list[str]:
    """Return the names that the constructor of a registered class takes.

    >>> parameter_names(REGISTRY["Matern"])
    ['bandwidth', 'nu']
    """
    if is_dataclass(cls):
        return [field.name for field in fields(cls)]
    names: list[str] = cls._get_param_names()  # type: ignore[attr-defined]
    return names


def parameters(value: Any) -> dict[str, Any]:
    """Return what the constructor of ``value`` was given, by name, one level deep."""
    return {name: getattr(value, name) for name in parameter_names(type(value))}

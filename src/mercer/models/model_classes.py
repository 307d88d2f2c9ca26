"""The only classes that a model file can name."""

from __future__ import annotations

from mercer.bases import BASES
from mercer.bases.sketch import KINDS
from mercer.combine import COMBINATIONS
from mercer.contracts import Status
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
from mercer.storage import Registry

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
REGISTRY = Registry(
    (
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
        Status,
    )
)

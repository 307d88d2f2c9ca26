"""The only classes that a model file can name."""

from __future__ import annotations

from mercer.bases import BASES
from mercer.bases.sketch import KINDS as PROJECTIONS
from mercer.columns import TableEncoder, TableEncoding
from mercer.columns.column_encoders import DateColumn, DroppedColumn, NumberColumn
from mercer.columns.level_encoders import HashColumn, OneHotColumn, OrderedColumn, TargetColumn
from mercer.columns.scaling import QuantileScaling, StandardScaling
from mercer.columns.text_dates import DateFormat
from mercer.columns.text_numbers import NumberStyle
from mercer.combine import COMBINATIONS
from mercer.contracts import Status
from mercer.estimators import (
    KernelClassifier,
    KernelEstimator,
    KernelRanker,
    KernelRegressor,
)
from mercer.estimators.calibrating import Calibration
from mercer.inference.error_scale import ErrorScale
from mercer.inference.intervals import Intervals
from mercer.inference.left_out_pass import LeftOutRows
from mercer.inference.novelty import Novelty
from mercer.inference.preferences import PreferenceMap
from mercer.inference.probability_map import ProbabilityMap
from mercer.inference.reliability import Reliability
from mercer.kernels import KERNELS, InMetric, Metric, Product, Sum
from mercer.kernels.cosine import DirectionFeatures
from mercer.kernels.feature_maps import (
    ColumnFeatures,
    FeaturesInMetric,
    FourierFeatures,
    MultipliedFeatures,
    ReluFeatures,
    StackedFeatures,
    WeightedFeatures,
)
from mercer.kernels.spline import SplineFeatures
from mercer.metric import SearchRecord, Tried
from mercer.moments import Moments, Peak
from mercer.search import MetricSearch
from mercer.selection import CRITERIA, SizePath
from mercer.selection.criteria import Scores
from mercer.solvers import RULES, SOLVERS
from mercer.storage import Registry
from mercer.storage.fingerprints import RowMultiset
from mercer.targets.class_targets import ClassTargets
from mercer.targets.number_targets import RegressionTargets, RowTargets
from mercer.targets.rank_targets import RankTargets

ESTIMATORS: dict[str, type[KernelEstimator]] = {
    kind.__name__: kind for kind in (KernelClassifier, KernelRanker, KernelRegressor)
}

#: What each estimator does.
TASKS: dict[type[KernelEstimator], str] = {
    KernelClassifier: "classification",
    KernelRanker: "ranking",
    KernelRegressor: "regression",
}
#: The targets class of each estimator.
TARGETS: dict[type[KernelEstimator], type[RowTargets]] = {
    KernelClassifier: ClassTargets,
    KernelRanker: RankTargets,
    KernelRegressor: RegressionTargets,
}

#: The map of each estimator that has one.
CALIBRATIONS: dict[type[KernelEstimator], type[Calibration | PreferenceMap]] = {
    KernelClassifier: Calibration,
    KernelRanker: PreferenceMap,
}

#: Tables of classes by alias.
NAMED = (KERNELS, BASES, SOLVERS, RULES, CRITERIA, COMBINATIONS, PROJECTIONS, TARGETS)
#: Classes without an alias, by what they are.
ENCODERS = (DateColumn, DroppedColumn, HashColumn, NumberColumn, OneHotColumn, OrderedColumn)
COLUMNS = (*ENCODERS, TargetColumn, TableEncoding, TableEncoder, NumberStyle, DateFormat)
COORDINATES = (InMetric, Product, Sum, Metric, QuantileScaling, StandardScaling)
DRAWN_FEATURES = (ColumnFeatures, DirectionFeatures, FourierFeatures, ReluFeatures, SplineFeatures)
COMBINED_FEATURES = (FeaturesInMetric, MultipliedFeatures, StackedFeatures, WeightedFeatures)
CHOICES = (MetricSearch, SearchRecord, Tried, Scores, SizePath, Status)
SUMS = (Moments, Peak, RowMultiset)
UNCERTAINTY = (Calibration, ErrorScale, Intervals, LeftOutRows, Novelty)
PROBABILITIES = (PreferenceMap, ProbabilityMap, Reliability)

#: Class names allowed in a file; nothing else is ever looked up.
REGISTRY = Registry(
    (
        *(kind for table in NAMED for kind in table.values()),
        *COLUMNS,
        *COORDINATES,
        *DRAWN_FEATURES,
        *COMBINED_FEATURES,
        *CHOICES,
        *SUMS,
        *UNCERTAINTY,
        *PROBABILITIES,
    )
)

"""Least-squares kernel learning from a laptop to a cluster."""

from mercer.bases import FullKernel, Landmarks, RandomFeatures, Sketch
from mercer.columns import TableEncoder
from mercer.combine import Average, ConjugateRounds, ExactSum, NewtonRounds
from mercer.datasets import load_letter
from mercer.displays.error_parts_display import ErrorPartsDisplay
from mercer.displays.interval_display import IntervalDisplay
from mercer.displays.leverage_display import ResidualLeverageDisplay
from mercer.displays.metric_display import MetricDisplay
from mercer.displays.path_display import SolverPathDisplay
from mercer.displays.plan_display import PlanDisplay
from mercer.displays.reliability_display import ReliabilityDisplay
from mercer.displays.rows_curve_display import RowsCurveDisplay
from mercer.displays.search_display import SearchDisplay
from mercer.displays.size_path_display import SizePathDisplay
from mercer.estimators import KernelClassifier, KernelRanker, KernelRegressor
from mercer.kernels import (
    ArcCosine,
    ChiSquared,
    Cosine,
    FunctionKernel,
    Gaussian,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    PeriodicSpline,
    Polynomial,
    Precomputed,
    Product,
    Sobolev,
    Sum,
)
from mercer.labelling.active_learner import ActiveLearner
from mercer.labelling.labeller import ImportanceLabeller
from mercer.models import ModelFileError, load, model_card, save, to_onnx
from mercer.moments import Moments
from mercer.recipes import recipe
from mercer.rows import open_rows, write_svmlight
from mercer.search import MetricSearch
from mercer.selection import GCV, AutoSelection, KFold, LeaveOneOut
from mercer.solvers import (
    KCGM,
    CutOff,
    GradientDescent,
    PreconditionedCG,
    Ridge,
    StopAfter,
    StopAtDiscrepancy,
    StopAtPenalty,
    StopByFolds,
    StopOnHeldOut,
)
from mercer.validation import EngineError, MemoryLimitError, MercerWarning
from mercer.version import VERSION

__version__ = VERSION

__all__ = [
    "GCV",
    "KCGM",
    "ActiveLearner",
    "ArcCosine",
    "AutoSelection",
    "Average",
    "ChiSquared",
    "ConjugateRounds",
    "Cosine",
    "CutOff",
    "EngineError",
    "ErrorPartsDisplay",
    "ExactSum",
    "FullKernel",
    "FunctionKernel",
    "Gaussian",
    "GradientDescent",
    "ImportanceLabeller",
    "IntervalDisplay",
    "KFold",
    "KernelClassifier",
    "KernelRanker",
    "KernelRegressor",
    "Landmarks",
    "LaplacianL1",
    "LaplacianL2",
    "LeaveOneOut",
    "Linear",
    "Matern",
    "MemoryLimitError",
    "MercerWarning",
    "MetricDisplay",
    "MetricSearch",
    "ModelFileError",
    "Moments",
    "NewtonRounds",
    "PeriodicSpline",
    "PlanDisplay",
    "Polynomial",
    "Precomputed",
    "PreconditionedCG",
    "Product",
    "RandomFeatures",
    "ReliabilityDisplay",
    "ResidualLeverageDisplay",
    "Ridge",
    "RowsCurveDisplay",
    "SearchDisplay",
    "SizePathDisplay",
    "Sketch",
    "Sobolev",
    "SolverPathDisplay",
    "StopAfter",
    "StopAtDiscrepancy",
    "StopAtPenalty",
    "StopByFolds",
    "StopOnHeldOut",
    "Sum",
    "TableEncoder",
    "load",
    "load_letter",
    "model_card",
    "open_rows",
    "recipe",
    "save",
    "to_onnx",
    "write_svmlight",
]

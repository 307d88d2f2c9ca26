"""Least-squares kernel learning from a laptop to a cluster."""

from mercer.bases import FullKernel, Landmarks, RandomFeatures, Sketch
from mercer.columns import TableEncoder
from mercer.combine import Average, ConjugateRounds, ExactSum, NewtonRounds
from mercer.datasets import load_letter
from mercer.estimators import (
    ActiveLearner,
    ErrorPartsDisplay,
    ImportanceLabeller,
    IntervalDisplay,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    MetricDisplay,
    PlanDisplay,
    ReliabilityDisplay,
    ResidualLeverageDisplay,
    RowsCurveDisplay,
    SearchDisplay,
    SizePathDisplay,
    SolverPathDisplay,
)
from mercer.kernels import (
    ArcCosine,
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
from mercer.models import ModelFileError, load, model_card, save
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
    "ConjugateRounds",
    "CutOff",
    "EngineError",
    "ErrorPartsDisplay",
    "ExactSum",
    "FullKernel",
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
    "write_svmlight",
]

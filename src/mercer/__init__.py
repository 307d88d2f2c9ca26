"""Least-squares kernel learning from a laptop to a cluster."""

from mercer.bases import FullKernel, Landmarks, RandomFeatures, Sketch
from mercer.datasets import load_letter
from mercer.estimators import KernelClassifier, KernelRegressor, SolverPathDisplay
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
from mercer.models import ModelFileError, load, save
from mercer.moments import Moments
from mercer.selection import GCV, KFold, LeaveOneOut
from mercer.solvers import (
    KCGM,
    CutOff,
    GradientDescent,
    PreconditionedCG,
    Ridge,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
    StopOnHeldOut,
)
from mercer.sources import open_rows
from mercer.validation import MemoryLimitError, MercerWarning

__version__ = "0.1.0"

__all__ = [
    "GCV",
    "KCGM",
    "ArcCosine",
    "CutOff",
    "FullKernel",
    "Gaussian",
    "GradientDescent",
    "KFold",
    "KernelClassifier",
    "KernelRegressor",
    "Landmarks",
    "LaplacianL1",
    "LaplacianL2",
    "LeaveOneOut",
    "Linear",
    "Matern",
    "MemoryLimitError",
    "MercerWarning",
    "ModelFileError",
    "Moments",
    "PeriodicSpline",
    "Polynomial",
    "Precomputed",
    "PreconditionedCG",
    "Product",
    "RandomFeatures",
    "Ridge",
    "Sketch",
    "Sobolev",
    "SolverPathDisplay",
    "StopAfter",
    "StopAtDiscrepancy",
    "StopByFolds",
    "StopOnHeldOut",
    "Sum",
    "load",
    "load_letter",
    "open_rows",
    "save",
]

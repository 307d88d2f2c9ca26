"""Model selection for alpha, steps and sizes: GCV, K-fold, leave-one-out, stopping rules."""

from mercer.selection.criteria import (
    CRITERIA,
    GCV,
    AutoSelection,
    Criterion,
    KFold,
    LeaveOneOut,
    Scored,
    Scores,
    as_criterion,
    best_alpha,
    choose_alpha,
    default_alphas,
)
from mercer.selection.size_path import SizePath
from mercer.solvers.early_stopping import Iterated, iterate

__all__ = [
    "CRITERIA",
    "GCV",
    "AutoSelection",
    "Criterion",
    "Iterated",
    "KFold",
    "LeaveOneOut",
    "Scored",
    "Scores",
    "SizePath",
    "as_criterion",
    "best_alpha",
    "choose_alpha",
    "default_alphas",
    "iterate",
]

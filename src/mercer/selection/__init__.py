"""Model selection for alpha and the number of steps: GCV, K-fold, leave-one-out, stopping rules."""

from mercer.selection.alpha import best_alpha, choose_alpha, default_alphas
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
)
from mercer.selection.second_pass import SecondPass
from mercer.selection.steps import Iterated, iterate

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
    "SecondPass",
    "as_criterion",
    "best_alpha",
    "choose_alpha",
    "default_alphas",
    "iterate",
]

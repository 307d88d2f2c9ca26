"""Model selection for alpha and the number of steps: GCV, K-fold, leave-one-out, stopping rules."""

from mercer.selection.alpha import best_alpha, choose_alpha, default_alphas
from mercer.selection.criteria import (
    CRITERIA,
    GCV,
    Criterion,
    KFold,
    LeaveOneOut,
    Scored,
    Scores,
    as_criterion,
)
from mercer.selection.leave_one_out import SecondPass
from mercer.selection.steps import Iterated, iterate

__all__ = [
    "CRITERIA",
    "GCV",
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

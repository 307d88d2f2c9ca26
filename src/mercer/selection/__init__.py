"""Choosing alpha, sizes and precision."""

from mercer.selection.criteria import CRITERIA, GCV, Criterion, KFold, LeaveOneOut, as_criterion
from mercer.selection.plan import Plan, make_plan, parse_memory
from mercer.selection.problems import DualProblem, PrimalProblem, Problem
from mercer.selection.solver_plan import plan_fit

__all__ = [
    "CRITERIA",
    "GCV",
    "Criterion",
    "DualProblem",
    "KFold",
    "LeaveOneOut",
    "Plan",
    "PrimalProblem",
    "Problem",
    "as_criterion",
    "make_plan",
    "parse_memory",
    "plan_fit",
]

"""Solvers: spectral filters ``v = g(A) b`` for the system ``(A + alpha) v = b``."""

from typing import Any, TypeAlias

from mercer.solvers.early_stopping import SolverPath
from mercer.solvers.gradient_descent import GradientDescent
from mercer.solvers.kcgm import KCGM
from mercer.solvers.preconditioned import PreconditionedCG
from mercer.solvers.ridge import CutOff, Ridge
from mercer.solvers.solver import BaseSolver, IterativeSolver, check_fits
from mercer.solvers.stopping import (
    RULES,
    StopAfter,
    StopAtDiscrepancy,
    StopAtPenalty,
    StopByFolds,
    StopOnHeldOut,
    StoppingRule,
)
from mercer.validation import from_alias

DirectSolver: TypeAlias = Ridge | CutOff

#: Names that ``solver=`` accepts.
SOLVERS: dict[str, type[Any]] = {
    "auto": Ridge,
    "ridge": Ridge,
    "cutoff": CutOff,
    "kcgm": KCGM,
    "gradient_descent": GradientDescent,
    "pcg": PreconditionedCG,
}


def as_solver(solver: str | BaseSolver) -> BaseSolver:
    """Turn a name into a solver object; pass objects through."""
    return from_alias(solver, SOLVERS, BaseSolver, "solver")


__all__ = [
    "KCGM",
    "RULES",
    "SOLVERS",
    "BaseSolver",
    "CutOff",
    "DirectSolver",
    "GradientDescent",
    "IterativeSolver",
    "PreconditionedCG",
    "Ridge",
    "SolverPath",
    "StopAfter",
    "StopAtDiscrepancy",
    "StopAtPenalty",
    "StopByFolds",
    "StopOnHeldOut",
    "StoppingRule",
    "as_solver",
    "check_fits",
]

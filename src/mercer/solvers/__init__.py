"""Solvers: spectral filters on (A, b)."""

from mercer.solvers.dual import DualSystem
from mercer.solvers.ridge import METHODS, Ridge, RidgeState
from mercer.solvers.spectrum import Spectrum
from mercer.validation import check_choice, from_alias

#: Names that ``solver=`` accepts.
SOLVERS: dict[str, type[Ridge]] = {"auto": Ridge, "ridge": Ridge}


def as_solver(solver: str | Ridge) -> Ridge:
    """Turn a name into a solver object; pass objects through."""
    found = from_alias(solver, SOLVERS, Ridge, "solver")
    check_choice(found.method, "method of Ridge", METHODS)
    return found


__all__ = ["SOLVERS", "DualSystem", "Ridge", "RidgeState", "Spectrum", "as_solver"]

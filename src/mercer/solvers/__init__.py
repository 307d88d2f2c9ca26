"""Solvers: spectral filters on (A, b)."""

from mercer.solvers.dual import DualSystem
from mercer.solvers.ridge import Ridge, RidgeState
from mercer.solvers.spectrum import Spectrum
from mercer.validation import from_alias

#: Names that ``solver=`` accepts.
SOLVERS: dict[str, type[Ridge]] = {"auto": Ridge, "ridge": Ridge}


def as_solver(solver: str | Ridge) -> Ridge:
    """Turn a name into a solver object; pass objects through."""
    return from_alias(solver, SOLVERS, Ridge, "solver")


__all__ = ["SOLVERS", "DualSystem", "Ridge", "RidgeState", "Spectrum", "as_solver"]

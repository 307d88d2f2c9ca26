"""Solvers: spectral filters on (A, b)."""

from mercer.solvers.dual import DualSystem
from mercer.solvers.ridge import Ridge, RidgeState
from mercer.solvers.spectrum import Spectrum
from mercer.validation import from_alias

#: Names that ``solver=`` accepts, beside "auto".
SOLVERS: dict[str, type[Ridge]] = {"ridge": Ridge}


def as_solver(solver: str | Ridge) -> Ridge:
    """Turn a name into a solver object ("auto" is ridge); pass objects through."""
    if isinstance(solver, str) and solver == "auto":
        return Ridge()
    return from_alias(solver, {"auto": Ridge, **SOLVERS}, Ridge, "solver")


__all__ = ["SOLVERS", "DualSystem", "Ridge", "RidgeState", "Spectrum", "as_solver"]

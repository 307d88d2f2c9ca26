"""The base class of solvers: scikit-learn parameters, and what they need from a system."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from mercer.contracts import System

#: What to use instead if a system does not offer what a solver needs.
_INSTEAD = {
    "matrix": "use solver='pcg', or combine='sum'",
    "steps": "use solver='ridge'",
    "products": "use solver='ridge'",
}


class BaseSolver(BaseEstimator):
    """Base class: solves ``(A + alpha) v = b``."""

    #: What it needs from a system: "matrix", "steps" or "products" (see ``contracts.System``).
    needs = "matrix"
    #: Whether alpha is an eigenvalue threshold instead of a penalty.
    cuts_off = False
    #: Whether the number of steps regularizes, so that alpha="auto" means 0.
    regularized_by_steps = False
    #: Whether values of functions are kept between products; "auto" if they fit into memory.
    keep: str | bool = "auto"

    def check(self) -> None:
        """Validate the parameters."""

    def scaled(self, ratio: float) -> Self:
        """Return the solver that does the same to ``(ratio A, ratio b)`` as this one to (A, b).

        This is about sizes of steps and residuals; alpha is multiplied by ``ratio`` elsewhere.
        """
        return self

    def rule(self) -> Any:
        """Return the rule that chooses the number of steps; None if alpha regularizes."""
        return None


def check_fits(solver: Any, system: System | type[System], what: str = "") -> None:
    """Raise ValueError if the system does not offer what the solver needs.

    >>> from mercer.solvers import PreconditionedCG
    >>> from mercer.systems import MomentSystem
    >>> check_fits(PreconditionedCG(), MomentSystem)
    Traceback (most recent call last):
    ...
    ValueError: PreconditionedCG needs products, but MomentSystem offers matrix, steps: use ...
    """
    if solver.needs in system.offers:
        return
    kind = system if isinstance(system, type) else type(system)
    offered = ", ".join(sorted(system.offers))
    raise ValueError(
        f"{type(solver).__name__} needs {solver.needs}, but {what or kind.__name__} offers "
        f"{offered}: {_INSTEAD[solver.needs]}"
    )

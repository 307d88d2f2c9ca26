"""What all solvers share: parameters as scikit-learn reads them, and what they need of a system."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from mercer.contracts import System

#: What to use instead, where a system does not offer what a solver needs.
_INSTEAD = {
    "matrix": "use solver='pcg', or combine='sum'",
    "steps": "use solver='ridge'",
    "products": "use solver='ridge'",
}


class BaseSolver(BaseEstimator):
    """A way from a system to its solution."""

    #: What it needs of a system: "matrix", "steps" or "products" (see ``contracts.System``).
    needs = "matrix"
    #: Whether alpha is a threshold for eigenvalues instead of a penalty.
    cuts_off = False
    #: Whether its number of steps regularizes, so that an open alpha is 0.
    regularized_by_steps = False

    def check(self) -> None:
        """Refuse invalid parameters."""

    def rule(self) -> Any:
        """Return the rule that chooses the number of steps; None where alpha regularizes."""
        return None


def check_fits(solver: Any, system: System | type[System], what: str = "") -> None:
    """Refuse a solver that needs more of a system than it offers.

    >>> from mercer.solvers import PreconditionedCG
    >>> from mercer.systems import MomentSystem
    >>> check_fits(PreconditionedCG(), MomentSystem)
    Traceback (most recent call last):
    ...
    ValueError: PreconditionedCG needs products, and MomentSystem offers matrix, steps: use ...
    """
    if solver.needs in system.offers:
        return
    kind = system if isinstance(system, type) else type(system)
    offered = ", ".join(sorted(system.offers))
    raise ValueError(
        f"{type(solver).__name__} needs {solver.needs}, and {what or kind.__name__} offers "
        f"{offered}: {_INSTEAD[solver.needs]}"
    )

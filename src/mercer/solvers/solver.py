"""The base classes of solvers, which say what they need from a system, and of iterative ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import BaseEstimator, clone

from mercer.contracts import Array, IteratedSystem, System
from mercer.solvers.stopping import StoppingRule, as_rule
from mercer.validation import check_count

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


@dataclass(frozen=True)
class Iterate:
    """The solution ``v_t`` after ``t = step`` steps.

    Attributes
    ----------
    step : int
        Counted from 1.
    value : array of shape (r, k)
        The solution.
    residuals : array of shape (k,)
        ``||(A + alpha) v - b||`` of each column, in the system's norm.
    note : str
        Why there is no further step; empty otherwise.
    broken : bool
        Whether the reason is a breakdown.
    """

    step: int
    value: Array
    residuals: Array
    note: str = ""
    broken: bool = False


class IterativeSolver(BaseSolver):
    """A solver regularized by its number of steps, which a stopping rule chooses.

    Subclasses yield iterates; :mod:`mercer.solvers.early_stopping` runs them.
    """

    needs = "steps"
    regularized_by_steps = True
    stop: str | StoppingRule
    max_steps: int
    name = "iterations"
    #: Whether steps have a size, so that a number of them acts like a penalty.
    has_step_size = False

    def iterates(self, system: IteratedSystem) -> Iterator[Iterate]:
        """Yield the solution after each step, until there is nothing left to do."""
        raise TypeError(f"{type(self).__name__} does not define iterates()")

    def rule(self) -> StoppingRule:
        """Return the stopping rule as an object; check ``max_steps``."""
        check_count(self.max_steps, f"max_steps of {type(self).__name__}")
        return as_rule(self.stop)

    def scaled(self, ratio: float) -> Self:
        """Return the solver that does the same to ``(ratio A, ratio b)`` as this one to (A, b)."""
        found: Self = clone(self)
        found.stop = self.rule().scaled(ratio)
        return found

    def steps_to_take(self, system: IteratedSystem) -> tuple[int, bool]:
        """Return the most steps to take, and whether that number is the goal, not a limit."""
        rule = self.rule()
        return rule.limit(self.max_steps), rule.counts

    def check(self) -> None:
        """Validate the parameters."""
        rule = self.rule()
        rule.check()
        if rule.penalty is not None and not self.has_step_size:
            raise ValueError(
                f"{type(rule).__name__} needs steps of a known size, but {self.name} has none: use "
                f"GradientDescent, or another rule"
            )

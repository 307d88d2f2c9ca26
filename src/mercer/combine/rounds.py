"""Rounds of communication: two exchanges of a vector each, towards the solution of all rows."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from mercer.combine.base import Combination
from mercer.combine.function_rounds import FunctionSystem
from mercer.combine.shard_system import MeanSystem
from mercer.contracts import Solution, Status
from mercer.solvers.early_stopping import StepProgress
from mercer.solvers.preconditioned import conjugate_gradients
from mercer.validation import check_choice, check_count, check_number

#: How much of the objective a round may lose to rounding.
ROUNDING = 1e-12


class Rounds(Combination):
    """What both kinds of rounds share.

    Parameters
    ----------
    rounds : int or None
        How many rounds; None means the estimator's ``rounds``.
    tolerance : float
        Stop before that when the global gradient, relative to that at zero, is down to this.
    start : "average" or "zero"
        Where the rounds begin: at the average of the shards' models, or at zero.
    """

    def __init__(
        self, rounds: int | None = None, tolerance: float = 1e-10, start: str = "average"
    ) -> None:
        self.rounds = rounds
        self.tolerance = tolerance
        self.start = start

    def check(self) -> None:
        """Refuse parameters that cannot be."""
        if self.rounds is not None:
            check_count(self.rounds, f"rounds of {type(self).__name__}")
        check_number(self.tolerance, f"tolerance of {type(self).__name__}", above=0.0)
        check_choice(self.start, f"start of {type(self).__name__}", ["average", "zero"])

    def run(
        self, system: MeanSystem, rounds: int, progress: StepProgress | None = None
    ) -> Solution:
        """Return the solution after the rounds; ``residuals`` are relative gradients."""
        raise TypeError(f"{type(self).__name__} does not define run()")

    def _ended(self, solution: Solution, rounds: int, gradients: list[float]) -> Solution:
        """Say how it ended: rounds that were asked for and made are no failure."""
        final = gradients[-1]
        told = f"{self.label}: {solution.steps} of them, to a relative gradient of {final:.1e}"
        status = solution.status
        if status is Status.ITERATION_LIMIT or solution.steps >= rounds:
            status = Status.STOPPED_EARLY if final > self.tolerance else Status.CONVERGED
        return replace(solution, status=status, reason=told, residuals=np.array(gradients))


class NewtonRounds(Rounds):
    """Newton rounds with the mean of the shards' inverses.

    .. math:: g \\leftarrow g - \\sum_j \\frac{W_j}{W} H_j^{-1} \\bar G(g), \\qquad
              \\bar G(g) = \\sum_j \\frac{W_j}{W} (H_j g - b_j)

    from the average of the shards' models, as in Lin, Wang and Zhou (2020), *Distributed kernel
    ridge regression with communications*, or from zero. They diverge once shards are small. Rounds
    that converge lower the objective of all rows, each of them: the first that raises it is the
    last, and the one before is returned.

    With the full kernel they are made in function space (:mod:`mercer.combine.function_rounds`):
    then shards send their rows to each other.
    """

    label = "Newton rounds"

    def run(
        self,
        system: MeanSystem | FunctionSystem,
        rounds: int,
        progress: StepProgress | None = None,
    ) -> Solution:
        """Return the solution after the rounds."""
        began = time.perf_counter()
        g, gradient = system.start, system.start_gradient()
        norms, objective = [system.relative(gradient)], system.objective(g, gradient)
        status, step = Status.ITERATION_LIMIT, 0
        while step < rounds and norms[-1] > self.tolerance:
            ahead = g - system.precondition(gradient)
            gradient = system.product(ahead) - system.b
            norms.append(system.relative(gradient))
            reached = system.objective(ahead, gradient)
            step += 1
            if progress is not None:
                progress(step, rounds, f"gradient {norms[-1]:.1e}")
            if not reached <= objective + ROUNDING * abs(objective):
                status = Status.DIVERGED
                break
            g, objective = ahead, reached
        found = Solution(g, status, "", step, np.array(norms), time.perf_counter() - began)
        if status is not Status.DIVERGED:
            return self._ended(found, rounds, norms)
        told = ", ".join(f"{norm:.1e}" for norm in norms)
        reason = (
            f"Newton rounds: round {step} leads away from the solution (relative gradients "
            f"{told}): shards are too small for them; use combine='conjugate' or 'sum', or fewer "
            f"shards"
        )
        return replace(found, reason=reason)


class ConjugateRounds(Rounds):
    """Conjugate gradients on the mean of ``H_j``, preconditioned by the mean of the inverses.

    The exchanges are those of Newton rounds, two vectors a round, but the step along each direction
    is the best one, and directions are conjugate: the rounds converge for any number of shards, in
    fewer rounds.
    """

    label = "conjugate rounds"

    def run(
        self, system: MeanSystem, rounds: int, progress: StepProgress | None = None
    ) -> Solution:
        """Return the solution after the rounds."""
        start = system.start if np.any(system.start) else None
        found = conjugate_gradients(system, self.tolerance, rounds, start, progress)
        # The right-hand side itself is preconditioned first, to measure residuals by.
        gradients = system.gradients[0 if start is None else 1 :]
        return self._ended(found, rounds, gradients or [0.0])

"""Rounds of communication: two exchanges of a vector each, towards the solution of all rows."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from mercer.combine.base import Combination
from mercer.combine.shard_system import MeanSystem
from mercer.contracts import Solution, Status
from mercer.solvers.early_stopping import StepProgress
from mercer.solvers.preconditioned import conjugate_gradients
from mercer.validation import check_count, check_number

#: A gradient that grows this much in a round, or in two rounds on end, will not come down again.
GROWTH = 10.0


class Rounds(Combination):
    """What both kinds of rounds share.

    Parameters
    ----------
    rounds : int or None
        How many rounds; None means the estimator's ``rounds``.
    tolerance : float
        Stop before that when the global gradient, relative to that at zero, is down to this.
    """

    def __init__(self, rounds: int | None = None, tolerance: float = 1e-10) -> None:
        self.rounds = rounds
        self.tolerance = tolerance

    def check(self) -> None:
        """Refuse parameters that cannot be."""
        if self.rounds is not None:
            check_count(self.rounds, f"rounds of {type(self).__name__}")
        check_number(self.tolerance, f"tolerance of {type(self).__name__}", above=0.0)

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

    from g = 0: the first round is the average of the shards' models (Lin, Wang and Zhou, 2020,
    *Distributed kernel ridge regression with communications*). They diverge once shards are small,
    which is noticed: the rounds end, and the one with the smallest gradient is returned.
    """

    label = "Newton rounds"

    def run(
        self, system: MeanSystem, rounds: int, progress: StepProgress | None = None
    ) -> Solution:
        """Return the solution after the rounds."""
        began = time.perf_counter()
        g = np.zeros_like(system.b)
        gradient = -system.b
        norms, best = [system.relative(gradient)], (np.inf, g)
        status, step = Status.ITERATION_LIMIT, 0
        while step < rounds and norms[-1] > self.tolerance:
            g = g - system.precondition(gradient)
            gradient = system.product(g) - system.b
            step += 1
            norms.append(system.relative(gradient))
            if not np.isfinite(norms[-1]):
                norms[-1] = np.inf
            if norms[-1] < best[0]:
                best = (norms[-1], g)
            if progress is not None:
                progress(step, rounds, f"gradient {norms[-1]:.1e}")
            if _grows(norms):
                status = Status.DIVERGED
                break
        if status is Status.DIVERGED:
            told = ", ".join(f"{norm:.1e}" for norm in norms)
            reason = (
                f"Newton rounds: the global gradient grows ({told}): shards are too small for "
                f"them; use combine='conjugate' or 'sum', or fewer shards"
            )
            value = best[1]
            return Solution(value, status, reason, step, np.array(norms), _since(began))
        found = Solution(g, status, "", step, np.array(norms), _since(began))
        return self._ended(found, rounds, norms)


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
        found = conjugate_gradients(system, self.tolerance, rounds, progress=progress)
        gradients = system.gradients or [system.relative(-system.b)]
        return self._ended(found, rounds, gradients)


def _grows(norms: list[float]) -> bool:
    """Whether the gradient has grown tenfold, or in two rounds on end."""
    if norms[-1] > GROWTH * min(norms[:-1]):
        return True
    return len(norms) > 2 and norms[-1] > norms[-2] > norms[-3]


def _since(began: float) -> float:
    return time.perf_counter() - began

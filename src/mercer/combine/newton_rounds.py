"""Newton rounds: the mean of the shards' inverses in place of the inverse of their mean."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mercer.combine.rounds import Rounds
from mercer.contracts import Array, Solution, Status, StepProgress
from mercer.systems import MeanOfShards
from mercer.validation import check_flag

#: Relative increase of the objective that rounding may cause in a round.
ROUNDING = 1e-12


class NewtonRounds(Rounds):
    """Newton iterations with the mean of the shards' inverses.

    .. math:: g \\leftarrow g - \\sum_j \\frac{W_j}{W} H_j^{-1} \\bar G(g), \\qquad
              \\bar G(g) = \\sum_j \\frac{W_j}{W} (H_j g - b_j)

    starting from the average of the shards' models, as in Lin, Wang and Zhou (2020), *Distributed
    kernel ridge regression with communications*, or from zero. The rounds diverge if shards are too
    small. Rounds that converge all lower the objective over all rows, so the first round that
    raises it is the last, and the one before it is returned (or the average of the shards' models,
    if already the first round from zero raises it).

    With the full kernel they run in function space (:mod:`mercer.systems.function_space`), where
    shards send their rows to each other.

    ``NewtonRounds(start="zero", pairs="within_shards", unstopped=True)`` is algorithm 1 of
    *Distributed Least Square Ranking with Random Features*, to the letter.

    Parameters
    ----------
    rounds, tolerance, start, pairs
        As in :class:`Rounds`.
    unstopped : bool
        Whether to run all rounds whatever happens, as papers do: nothing stops them, and the last
        one is returned, even if they diverge (the status then says so) or have converged long
        before. Only an overflow ends them, and the last finite round is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRanker, NewtonRounds, RandomFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 2))
    >>> paper = NewtonRounds(start="zero", pairs="within_shards", unstopped=True)
    >>> basis = RandomFeatures(20)
    >>> model = KernelRanker(Gaussian(0.5), basis, 0.1, combine=paper, shards=4, rounds=3)
    >>> model.fit(X, X[:, 0]).n_iter_
    3
    """

    label = "Newton rounds"
    alias = "newton"
    in_function_space = True

    def __init__(
        self,
        rounds: int | None = None,
        tolerance: float = 1e-10,
        start: str = "average",
        pairs: str = "all",
        unstopped: bool = False,
    ) -> None:
        super().__init__(rounds, tolerance, start, pairs)
        self.unstopped = unstopped

    def check(self) -> None:
        """Validate the parameters."""
        super().check()
        check_flag(self.unstopped, f"unstopped of {type(self).__name__}")

    def run(
        self, system: MeanOfShards, rounds: int, progress: StepProgress | None = None
    ) -> Solution:
        """Return the solution after the rounds."""
        began = time.perf_counter()
        g, gradient = system.start, system.start_gradient()
        at_g: Array | None = gradient
        norms, objective = [system.relative(gradient)], system.objective(g, gradient)
        step = kept = away = 0  # away: the first round that raises the objective
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is seen in the objective
            while step < rounds and (self.unstopped or norms[-1] > self.tolerance):
                ahead = g - system.precondition(gradient)
                gradient = system.product(ahead) - system.b
                norms.append(system.relative(gradient))
                reached = system.objective(ahead, gradient)
                step += 1
                if progress is not None:
                    progress(step, rounds, f"gradient {norms[-1]:.1e}")
                if not reached <= objective + ROUNDING * abs(objective):
                    away = away or step
                    if not (self.unstopped and np.isfinite(reached)):
                        break
                g, objective, kept, at_g = ahead, reached, step, gradient
        converged = kept == step and norms[-1] <= self.tolerance  # rounding may raise it, too
        if not kept and not np.any(g) and away:  # no round from zero is of use
            g, at_g = system.average(), None
        seconds = time.perf_counter() - began
        gain = None if at_g is None else np.einsum("ij,ij->j", g, system.b - at_g)
        found = Solution(g, Status.ITERATION_LIMIT, "", step, np.array(norms), seconds, gain)
        if not away or converged:
            return self._ended(found, rounds, norms)
        return replace(
            found, status=Status.DIVERGED, reason=self._led_away(away, kept, step, norms)
        )

    def _led_away(self, away: int, kept: int, step: int, norms: Sequence[float]) -> str:
        """Return why the rounds have diverged, and which one is returned."""
        listed = ", ".join(f"{norm:.1e}" for norm in norms)
        overflow = f"round {step} overflows, and " if self.unstopped and kept < step else ""
        model = f"that of round {kept}" if kept else "the average of the shards' models"
        last = ", the last, as they are unstopped" if kept == step else ""
        return (
            f"Newton rounds: round {away} leads away from the solution (relative gradients "
            f"{listed}); {overflow}the model is {model}{last}. Shards are too small for them: use "
            f"combine='conjugate' or 'sum', or fewer shards"
        )

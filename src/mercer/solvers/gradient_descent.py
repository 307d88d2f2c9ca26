"""Gradient descent, plain and accelerated, regularized by early stopping."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Self

import numpy as np

from mercer.contracts import IteratedSystem
from mercer.solvers.solver import Iterate, IterativeSolver
from mercer.solvers.stopping import StoppingRule
from mercer.systems.iterated import inner, lengths
from mercer.validation import check_flag, check_number

#: The most Lanczos steps used to bound the norm of A, and the accuracy at which they stop early.
#: The accuracy is high: permuted rows, or a duplicate row instead of weight 2, must give the same
#: step size.
BOUND_STEPS = 100
CLOSE = 1e-9
#: If the residual grows by this factor, the step is too long: with a safe step it falls.
DIVERGED = 10.0


class GradientDescent(IterativeSolver):
    """Gradient descent from zero, regularized by the number of steps.

    .. math:: v_{t} = v_{t-1} - \\eta\\,(A v_{t-1} - b)
              = \\sum_{j<t} \\eta\\,(I - \\eta A)^j\\, b

    t steps act like a penalty of about 1/(eta t). With acceleration (Nesterov, 1983), each step
    starts from ``v + (t-1)/(t+2) (v - v_before)`` instead, and t steps act like t^2 plain steps. A
    numeric alpha is added to A; alpha="auto" adds nothing.

    Parameters
    ----------
    stop : "kfold", "held_out", "discrepancy", "steps" or stopping rule
        When to stop.
    max_steps : int
        The maximum number of steps, unless ``stop`` is a number of steps.
    accelerated : bool
        Whether to use Nesterov's momentum.
    step_size : float or "auto"
        eta; "auto" is one over a computed upper bound of the norm of A.

    Examples
    --------
    >>> from mercer.systems import MatrixSystem
    >>> system = MatrixSystem(np.eye(1), np.ones((1, 1)))
    >>> descent = GradientDescent(step_size=0.5).iterates(system)
    >>> [next(descent).value.item() for _ in range(3)]
    [0.5, 0.75, 0.875]
    """

    name = "gradient descent"
    has_step_size = True

    def __init__(
        self,
        stop: str | StoppingRule = "kfold",
        max_steps: int = 2000,
        accelerated: bool = False,
        step_size: float | str = "auto",
    ) -> None:
        self.stop = stop
        self.max_steps = max_steps
        self.accelerated = accelerated
        self.step_size = step_size

    def check(self) -> None:
        """Validate the parameters."""
        super().check()
        check_flag(self.accelerated, "accelerated of GradientDescent")
        if self.step_size != "auto":
            check_number(self.step_size, "step_size of GradientDescent", above=0.0)

    def scaled(self, ratio: float) -> Self:
        """Return the solver that does the same to ``(ratio A, ratio b)`` as this one to (A, b)."""
        found = super().scaled(ratio)
        if not isinstance(found.step_size, str):
            found.step_size = found.step_size / ratio
        return found

    def steps_to_take(self, system: IteratedSystem) -> tuple[int, bool]:
        """Return the most steps to take, and whether that number is the goal, not a limit.

        A rule with a penalty wants ``ceil(1 / (eta penalty))`` steps.
        """
        penalty = self.rule().penalty
        if penalty is None:
            return super().steps_to_take(system)
        plain = 1.0 / (self._eta(system) * penalty)
        # Rounding in eta must not add a step.
        wanted = math.ceil((math.sqrt(plain) if self.accelerated else plain) * (1 - 1e-12))
        return min(max(wanted, 1), self.max_steps), wanted <= self.max_steps

    def _eta(self, system: IteratedSystem) -> float:
        """Return the step size."""
        return longest_step(system) if self.step_size == "auto" else float(self.step_size)

    def iterates(self, system: IteratedSystem) -> Iterator[Iterate]:
        """Yield the solution after each step, until it diverges; nothing if b = 0."""
        G_b = system.metric(system.b)
        start = lengths(system, system.b, G_b)
        if not start.any():
            return  # the solution is zero
        # In a column that is zero up to rounding, only rounding would accumulate.
        b, G_residual = (np.where(start > 0, columns, 0.0) for columns in (system.b, G_b))
        eta = self._eta(system)
        value, residual = np.zeros_like(b), b
        before, residual_before, G_before = value, residual, G_residual
        step = 0
        while True:
            momentum = step / (step + 3) if self.accelerated else 0.0
            look = value + momentum * (value - before)
            slope = residual + momentum * (residual - residual_before)
            G_slope = G_residual + momentum * (G_residual - G_before)
            before, residual_before, G_before = value, residual, G_residual
            # Everything is linear, so one product per step gives both gradient and residual.
            value = look + eta * slope
            residual = slope - eta * system.apply(slope, G_slope)
            G_residual = system.metric(residual)
            norms = lengths(system, residual, G_residual)
            step += 1
            note = ""
            if not np.all(norms <= DIVERGED * np.where(start > 0, start, 1.0)):
                note = f"the residual grows: step_size={eta:.3g} exceeds 2 / ||A||, use 'auto'"
                norms = lengths(system, residual_before, G_before)
                yield Iterate(step - 1, before, norms, note, broken=True)
                return
            yield Iterate(step, value, norms, note)


def longest_step(system: IteratedSystem) -> float:
    """Return one over the bound of the norm, the longest step that is always safe."""
    bound = norm_bound(system)
    return 1.0 / bound if bound > 0 else 1.0


def norm_bound(system: IteratedSystem, steps: int = BOUND_STEPS) -> float:
    """Return an upper bound on ``||A + alpha||``.

    The largest Ritz value of a few Lanczos steps from a random start, plus the norm of the
    residual: a bound that is safe in practice (Zhou and Li, 2011) and close to the norm.

    >>> from mercer.systems import MatrixSystem
    >>> round(norm_bound(MatrixSystem(np.diag([1.0, 3.0]), np.ones((2, 1)))), 6)
    3.0
    """
    size = len(system.b)
    if size == 0:
        return 0.0
    v = np.random.default_rng(0).standard_normal((size, 1))
    Gv = system.metric(v)
    norm = lengths(system, v, Gv).item()
    if norm == 0:
        return 0.0
    basis, metrics = [v / norm], [Gv / norm]
    diagonal: list[float] = []
    off: list[float] = []
    largest, left = 0.0, 0.0
    for _ in range(min(steps, size)):
        u = system.apply(basis[-1], metrics[-1])
        diagonal.append(inner(metrics[-1], u).item())
        for _ in range(2):
            for q, Gq in zip(basis, metrics, strict=True):
                u = u - inner(Gq, u) * q
        Gu = system.metric(u)
        rest = lengths(system, u, Gu).item()
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
        largest, left = float(values[-1]), rest * abs(float(vectors[-1, -1]))
        if left <= CLOSE * largest or rest <= 1e-13 * np.abs(diagonal).max():
            break
        off.append(rest)
        basis.append(u / rest)
        metrics.append(Gu / rest)
    return max(largest, 0.0) + left

"""The kernel conjugate gradient method: the smallest residual over a Krylov space."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.contracts import Array, IteratedSystem
from mercer.solvers.solver import Iterate, IterativeSolver
from mercer.solvers.stopping import StoppingRule
from mercer.systems.iterated import inner, lengths

#: A new direction whose norm, relative to the last product, is below this is only rounding.
DEPENDENT = 1e-13


class KCGM(IterativeSolver):
    """Kernel conjugate gradients, regularized by the number of steps.

    .. math:: v_t = \\arg\\min_{v \\in \\mathcal{K}_t(A, b)} \\|A v - b\\|, \\qquad
              \\mathcal{K}_t(A, b) = \\operatorname{span}\\{b, Ab, \\dots, A^{t-1}b\\}

    (Lin and Cevher, *Kernel conjugate gradient methods with random projections*). This is the
    minimal-residual method; plain conjugate gradients minimize a different norm. The Krylov space
    is built by the Lanczos recursion with full reorthogonalization, so that each step matches the
    definition even if A is ill-conditioned. Each output has its own Krylov space. A numeric alpha
    is added to A; alpha="auto" adds nothing.

    Parameters
    ----------
    stop : "kfold", "held_out", "discrepancy", "steps" or stopping rule
        When to stop.
    max_steps : int
        The maximum number of steps, unless ``stop`` is a number of steps.

    Examples
    --------
    >>> from mercer.systems import MatrixSystem
    >>> system = MatrixSystem(np.diag([1.0, 2.0]), np.array([[1.0], [2.0]]))
    >>> [iterate.value.round(3).ravel().tolist() for iterate in KCGM().iterates(system)]
    [[0.529, 1.059], [1.0, 1.0]]
    """

    name = "kernel conjugate gradients"

    def __init__(self, stop: str | StoppingRule = "kfold", max_steps: int = 100) -> None:
        self.stop = stop
        self.max_steps = max_steps

    def iterates(self, system: IteratedSystem) -> Iterator[Iterate]:
        """Yield the solution after each step, until every column is solved."""
        b = system.b
        G_b = system.metric(b)
        start = lengths(system, b, G_b)
        going = start > 0
        scale = np.where(going, start, 1.0)
        directions, metrics = [b / scale], [G_b / scale]
        columns = [_Column(norm) for norm in start]
        value, residuals = np.zeros_like(b), start.copy()
        step = 0
        while going.any():
            U = system.apply(directions[-1], metrics[-1])
            weights = np.zeros((step + 1, b.shape[1]))
            for _ in range(2):  # once is not enough if A is ill-conditioned
                for number, (Q, GQ) in enumerate(zip(directions, metrics, strict=True)):
                    part = inner(GQ, U)
                    weights[number] += part
                    U = U - part * Q
            G_U = system.metric(U)
            rest = lengths(system, U, G_U)
            ended = rest <= DEPENDENT * np.linalg.norm(weights, axis=0)
            step += 1
            for output in np.flatnonzero(going):
                y, residuals[output] = columns[output].add(
                    weights[:, output], 0.0 if ended[output] else rest[output]
                )
                value[:, output] = sum(
                    weight * Q[:, output] for weight, Q in zip(y, directions, strict=True)
                )
            going = going & ~ended
            note = "" if going.any() else "the Krylov space is exhausted: every column is solved"
            yield Iterate(step, value.copy(), residuals.copy(), note)
            scale = np.where(rest > 0, rest, 1.0)
            directions.append(np.where(going, U / scale, 0.0))
            metrics.append(np.where(going, G_U / scale, 0.0))


class _Column:
    """The projected problem of one output: ``min ||start e_1 - H y||``, where H gains columns."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.columns: list[Array] = []

    def add(self, weights: Array, rest: float) -> tuple[Array, float]:
        """Add a column of H; return the coefficients y and the residual."""
        self.columns.append(np.append(weights, rest))
        size = len(self.columns)
        H = np.zeros((size + 1, size))
        for number, column in enumerate(self.columns):
            H[: len(column), number] = column
        right = np.zeros(size + 1)
        right[0] = self.start
        y = np.linalg.lstsq(H, right, rcond=None)[0]
        return y, float(np.linalg.norm(right - H @ y))

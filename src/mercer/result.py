"""What a fit found: coefficients, how they were solved for, and what it takes to go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Solution, Status
from mercer.engines import Communication
from mercer.moments import Moments
from mercer.plan import Plan
from mercer.solvers import SolverPath
from mercer.solvers.early_stopping import Run

#: Noise of float32 values in f, relative to the scale of y, that is warned of.
COARSE = 0.01


@dataclass
class Fit:
    """The result of a fit."""

    basis: BasisTransformer
    plan: Plan
    coefficients: Array  # (M, k), for encoded targets
    intercept: Array  # (k,)
    solution: Solution
    alpha: float
    total_weight: float
    n_rows: int
    weight: float = 0.0  # the sum of the rows' weights
    effective_dimension: float | None = None
    alphas: Array | None = None
    scores: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    folds: list[Moments] | None = None  # None for the full kernel
    dual_rows: tuple[Array, Array] | None = None  # targets (n, k) and weights of the full kernel
    path: SolverPath | None = None  # of an iterative solver
    run: Run | None = None  # to go on with; it is not copied or stored
    combination: str = ""  # how shards were combined
    communication: Communication | None = None  # what shards sent, and were sent

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "run": None}


def float32_noise(basis: BasisTransformer, coefficients: Array) -> float:
    """Return the noise that float32 values put into f, in units of the targets' scale.

    Each value is rounded by up to half a unit in the last place, at random: what that does to
    ``sum_j c_j h_j(x)`` grows with the size of c, and c grows as functions become alike.
    """
    if basis.precision_ != "float32":
        return 0.0
    largest = float(np.linalg.norm(coefficients, axis=0).max(initial=0.0))
    return float(np.finfo(np.float32).eps / np.sqrt(12)) * largest


def check_precision(found: Fit, hidden: int = 0) -> Fit:
    """Mark a fit as coarse where float32, which was asked for, spoils it.

    ``hidden`` is the number of directions that the rounding of its sums has hidden.
    """
    noise = float32_noise(found.basis, found.coefficients)
    if (noise <= COARSE and not hidden) or not found.solution.status.succeeded:
        return found
    what = (
        f"rounding of the sums hides {hidden} of {found.basis.size} directions"
        if hidden
        else f"rounding of the values makes up about {noise:.1%} of the scale of y"
    )
    reason = f"{what} ({found.solution.reason}): use dtype='auto' or 'float64', or a larger alpha"
    return replace(found, solution=replace(found.solution, status=Status.COARSE, reason=reason))


class Clock:
    """Wall time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

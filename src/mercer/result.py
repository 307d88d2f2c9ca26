"""The result of a fit: coefficients, how they were computed, and what is needed to resume."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Penalty, Precision, Solution, Status
from mercer.engines import Communication
from mercer.metric import SearchRecord
from mercer.moments import Moments, Peak
from mercer.plan import Plan
from mercer.selection import Scores, SizePath
from mercer.solvers import SolverPath
from mercer.solvers.early_stopping import Run
from mercer.validation import check_array, check_count, check_number

#: Warn if float32 noise in f, relative to the scale of y, exceeds this.
COARSE = 0.01
#: Predictions of a model with ``dtype="auto"`` are in float32 if it has so many functions, and if
#: the noise, relative to the scale of y, is at most this. With fewer, float64 is as fast as it need
#: be.
MANY, NARROW = 500, 3e-5


@dataclass
class Fit:
    """The result of a fit: ``f(x) = h(x)'c + intercept``, with its plan and solution."""

    basis: BasisTransformer
    plan: Plan
    coefficients: Array  # (M, k), for encoded targets
    intercept: Array  # (k,)
    solution: Solution
    alpha: Penalty
    total_weight: float
    n_rows: int
    weight: float = 0.0  # the sum of the rows' weights
    effective_dimension: Penalty | None = None  # for each alpha
    alphas: Array | None = None
    scores: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    folds: list[Moments] | None = None  # None for the full kernel
    dual_rows: tuple[Array, Array] | None = None  # targets (n, k) and weights of the full kernel
    residual_square: Array | None = None  # (k,) sum_i w_i (y_i - f_i)^2 of a fit by products
    path: SolverPath | None = None  # of an iterative solver
    run: Run | None = None  # to resume; not copied or stored
    combination: str = ""  # how shards were combined
    communication: Communication | None = None  # what was sent to and from shards
    search: SearchRecord | None = None  # how kernel and metric were chosen
    sizes: SizePath | None = None  # how M grew; None if it was given
    peak: Peak | None = None  # the largest sums, if rows were forgotten since
    left_out: Any = None  # LeftOutRows: rows predicted by models without them; in intervals if any
    intervals: Any = None  # Intervals: what prediction intervals need

    @cached_property
    def prediction_precision(self) -> Precision:
        """The precision of the values in predictions: that of the fit, or float32 if that will do.

        If a precision was asked for, predictions have it.
        """
        basis = self.basis
        exact = basis.dual or basis.precision_ != "float64" or not self.plan.may_widen
        if exact or basis.size < MANY:
            return basis.precision_
        if basis.narrow_noise(self.coefficients) <= NARROW:
            return "float32"
        return basis.precision_

    def without_folds(self, wanted: int) -> Fit:
        """Return the fit with one sum instead of those of folds, if folds were only left out."""
        if self.folds is None or len(self.folds) <= 1 or wanted > 1:
            return self
        total = self.folds[0]
        for fold in self.folds[1:]:
            total = total + fold
        return replace(self, folds=[total], plan=replace(self.plan, folds=1, held_out=None))

    def check_state(self, outputs: int) -> None:
        """Raise ValueError if the parts of a fit read from a file are inconsistent."""
        if not isinstance(self.alpha, np.ndarray):
            check_number(self.alpha, "alpha", minimum=0.0)
        elif np.any(check_array(self.alpha, "alpha", (outputs,)) < 0):
            raise ValueError("alpha must not be negative")
        if isinstance(self.effective_dimension, np.ndarray):
            check_array(self.effective_dimension, "effective_dimension", (outputs,))
        check_number(self.total_weight, "total_weight", above=0.0)
        check_number(self.weight, "weight", minimum=0.0)
        check_count(self.n_rows, "n_rows")
        if not isinstance(self.combination, str):
            raise ValueError(f"combination must be text, got {type(self.combination).__name__}")
        for stage, seconds in self.seconds.items():
            check_number(seconds, f"seconds of {stage}")
        self.plan.check_state()
        if (self.alphas is None) != (self.scores is None):
            raise ValueError("alphas and scores must both be given, or neither")
        if self.alphas is not None:
            check_array(self.alphas, "alphas", (None,))
            if not isinstance(self.scores, Scores):
                raise ValueError(f"scores must be Scores, got {type(self.scores).__name__}")
            self.scores.check_state(len(self.alphas))
        if self.sizes is not None:
            if not isinstance(self.sizes, SizePath):
                raise ValueError(f"sizes must be a path, got {type(self.sizes).__name__}")
            self.sizes.check_state()
        if self.path is not None:
            self.path.check_state(self.solution.steps)
        if self.residual_square is not None:
            check_array(self.residual_square, "residual_square", (outputs,))
            if np.any(self.residual_square < 0):
                raise ValueError("residual_square must not be negative")
        self._check_sums(outputs)

    def _check_sums(self, outputs: int) -> None:
        size = self.basis.size
        if self.peak is not None:
            if not isinstance(self.peak, Peak):
                raise ValueError(f"peak must be the largest sums, got {type(self.peak).__name__}")
            self.peak.check_state(outputs)
        if self.folds is not None:
            if not isinstance(self.folds, list) or len(self.folds) != self.plan.folds:
                raise ValueError(f"moments must be a list of {self.plan.folds} folds")
            for fold in self.folds:
                if not isinstance(fold, Moments):
                    raise ValueError(f"a fold must be Moments, got {type(fold).__name__}")
                fold.check_state(size, outputs)
        if self.dual_rows is not None:
            if not isinstance(self.dual_rows, tuple) or len(self.dual_rows) != 2:
                raise ValueError("dual_rows must be targets and weights")
            check_array(self.dual_rows[0], "targets of the rows", (size, outputs))
            check_array(self.dual_rows[1], "weights of the rows", (size,))

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "run": None}
        state.pop("prediction_precision", None)
        return state


def float32_noise(basis: BasisTransformer, coefficients: Array) -> float:
    """Return the noise in f caused by float32 rounding, relative to the scale of the targets.

    Each value is rounded by up to half a unit in the last place, at random. The effect on ``sum_j
    c_j h_j(x)`` grows with the size of c, and c grows as functions become more similar.
    """
    if basis.precision_ != "float32":
        return 0.0
    largest = float(np.linalg.norm(coefficients, axis=0).max(initial=0.0))
    return float(np.finfo(np.float32).eps / np.sqrt(12)) * largest


def check_precision(found: Fit, hidden: int = 0) -> Fit:
    """Mark a fit as coarse if the requested float32 is not precise enough.

    ``hidden`` is the number of directions lost in the rounding of the sums.
    """
    noise = float32_noise(found.basis, found.coefficients)
    if (noise <= COARSE and not hidden) or not found.solution.status.succeeded:
        return found
    what = (
        f"rounding of the sums hides {hidden} of {found.basis.size} directions"
        if hidden
        else f"rounding of the values adds noise of about {noise:.1%} of the scale of y"
    )
    reason = f"{what} ({found.solution.reason}): use dtype='auto' or 'float64', or a larger alpha"
    return replace(found, solution=replace(found.solution, status=Status.COARSE, reason=reason))


class Clock:
    """Wall time by stage; ``before`` is what smaller sizes of the same model took."""

    def __init__(self, before: float = 0.0) -> None:
        self.seconds: dict[str, float] = {"smaller sizes": before} if before else {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent in the context to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

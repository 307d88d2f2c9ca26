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
from mercer.precision import MANY, NARROW, float32_noise, why_coarse
from mercer.selection import Scores, SizePath
from mercer.solvers import SolverPath
from mercer.solvers.early_stopping import Run
from mercer.storage.state import (
    NOT_NEGATIVE,
    Count,
    Each,
    Number,
    Numbers,
    OneOf,
    Part,
    Sizes,
    State,
    check_state,
)
from mercer.validation import check_array, check_number

#: The moments of folds, in a file.
FOLDS = Each(Part(Moments, "m k", must="a fold must be Moments, got {kind}"))


@dataclass
class Fit:
    """The result of a fit: ``f(x) = h(x)'c + intercept``, with its plan and solution."""

    state = State(
        plan=Part(Plan, ""),
        basis=Part(BasisTransformer),
        solution=Part(Solution),
        coefficients=Numbers("m k"),
        intercept=Numbers("k"),
        alpha=Part(object),  # a number, or one for each output
        effective_dimension=Part(object, optional=True),
        total_weight=Number(above=0.0),
        weight=Number(0.0),
        n_rows=Count(),
        seconds=Part(dict),
        alphas=Numbers("alphas", optional=True),
        scores=Part(Scores, "alphas", optional=True, must="scores must be Scores, got {kind}"),
        sizes=Part(SizePath, "", optional=True, must="sizes must be a path, got {kind}"),
        path=Part(SolverPath, optional=True),
        residual_square=Numbers("k", rule=NOT_NEGATIVE, optional=True),
        peak=Part(Peak, "k", optional=True, must="peak must be the largest sums, got {kind}"),
        folds=Part(list, optional=True, must="moments must be a list of {folds} folds"),
        dual_rows=Part(tuple, optional=True, must="dual_rows must be targets and weights"),
        search=Part(SearchRecord, "d", optional=True, must="search must be a record, got {kind}"),
        left_out=Part(object, optional=True),  # of classes that know fits: checked by the reader
        intervals=Part(object, optional=True),
        run=OneOf([None]),
        communication=OneOf([None]),
    )
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
    scores: Scores | None = None
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

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if the parts of a fit read from a file do not fit together."""
        outputs, size = sizes["k"], self.basis.size
        if not isinstance(self.alpha, np.ndarray):
            check_number(self.alpha, "alpha", minimum=0.0)
        elif np.any(check_array(self.alpha, "alpha", (outputs,)) < 0):
            raise ValueError("alpha must not be negative")
        if isinstance(self.effective_dimension, np.ndarray):
            check_array(self.effective_dimension, "effective_dimension", (outputs,))
        for stage, seconds in self.seconds.items():
            check_number(seconds, f"seconds of {stage}")
        if (self.alphas is None) != (self.scores is None):
            raise ValueError("alphas and scores must both be given, or neither")
        if self.path is not None:
            check_state(self.path, steps=self.solution.steps)
        if self.folds is not None:
            if len(self.folds) != self.plan.folds:
                raise ValueError(f"moments must be a list of {self.plan.folds} folds")
            FOLDS.check(self.folds, "folds", sizes)
        if self.dual_rows is not None:
            if len(self.dual_rows) != 2:
                raise ValueError("dual_rows must be targets and weights")
            check_array(self.dual_rows[0], "targets of the rows", (size, outputs))
            check_array(self.dual_rows[1], "weights of the rows", (size,))

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "run": None}
        state.pop("prediction_precision", None)
        return state


def check_precision(found: Fit, hidden: int = 0) -> Fit:
    """Mark a fit as coarse if the requested float32 is not precise enough.

    ``hidden`` is the number of directions lost in the rounding of the sums.
    """
    noise = float32_noise(found.basis.precision_, found.coefficients)
    least = float(np.min(found.alpha)) if found.run is None else np.inf  # few steps do
    what = why_coarse(noise, hidden, found.basis.size, found.basis.lost_to_float32, least)
    if what is None or not found.solution.status.succeeded:
        return found
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

"""Small fits of a candidate kernel, judged by rows that they have not seen.

The moments of the rows come in two folds. The fit is that of the first, and the error on the second
is a function of its moments alone: for coefficients c,

.. math:: \\sum_{i \\in \\text{held out}} w_i (y_i - h(x_i)'c)^2 = s_{yy} - 2 c't + c'Sc,

so one pass gives the error for every alpha, for any number of outputs, within queries, over files
and over shards. Where rows are few there are several splits, each with folds of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from mercer.bases import BasisTransformer, Landmarks
from mercer.columns.scaling import Scaling
from mercer.contracts import Array, Reading, Targets
from mercer.engines import blas_threads
from mercer.kernels import InMetric, Kernel
from mercer.metric import gradient_outer_product
from mercer.moments import Moments, sum_moments
from mercer.plan import make_plan
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.selection import default_alphas
from mercer.solvers import Ridge
from mercer.systems import MomentSystem

#: The share of rows that judge the fits.
HELD_OUT = 0.25
#: Rows of a block: small fits should take little memory.
BLOCK_ROWS = 1024
#: Up to so many rows there are so many splits, because few held-out rows judge badly.
SPLITS = {100: 5, 500: 3}
#: The trials of a search: with few functions, with more, and with one for each column.
SMALL, FINAL, LINEAR = "small", "final", "linear"


#: The error of a candidate, the sums of its gradients in each form, one per split, and seconds.
Outcome: TypeAlias = tuple[float, dict[str, list[Array]], float]


@dataclass(frozen=True)
class Candidate:
    """What a small fit needs to know of a candidate."""

    kernels: list[Kernel]  # one per split, or one for all
    forms: list[str]  # of the metric, for which gradients are summed
    scaling: Scaling | None  # of the columns in which gradients are
    trial: str = SMALL


@dataclass(frozen=True)
class SmallFit:
    """A fit of the rows that are not held out, at the alpha that held-out rows prefer."""

    basis: BasisTransformer
    coefficients: Array  # (M, k)
    error: float  # on the held-out rows of all splits, relative to predicting the mean


@dataclass(frozen=True)
class Split:
    """The system of the rows that are not held out, and the moments of those that are."""

    system: MomentSystem
    held: Moments

    @property
    def nothing(self) -> float:
        """The error of predicting the mean."""
        constant = self.system.equations.mean_y
        zero = np.zeros((len(self.held.sum_h), len(constant)))
        return float(self.held.squared_error(zero, constant).sum())

    def solved(self, alphas: Array) -> tuple[Array, Array]:
        """Return whitened coefficients for every alpha (r, alphas * k), and errors (alphas,)."""
        system, equations = self.system, self.system.equations
        found = system.whitener.coefficients(system.solutions(alphas))
        constants = np.tile(equations.mean_y, len(alphas)) - equations.mean_h @ found
        errors = self.held.squared_error(found, constants)
        return found, errors.reshape(len(alphas), -1).sum(axis=1)


class Trial:
    """Rows, landmarks and splits that all candidates share, so that their errors compare.

    ``request`` has the parameters of the fit, except for the kernel; ``seed`` deals rows to folds.
    """

    def __init__(
        self, rows: RowSet, targets: Targets, request: Request, points: Array, seed: int
    ) -> None:
        self.rows, self.targets, self.intercept = rows, targets, request.intercept
        self.points, self.seed = points, seed
        small = replace(
            request,
            targets=targets,
            basis=Landmarks(sampling=points),
            solver=Ridge(),
            alpha=0.0,
            dtype="auto",
            needs_sums=True,
            memory_limit="auto",
            previous=None,
            progress=None,
        )
        self.plan = make_plan(rows, small)
        self.splits = splits_of(rows.n_rows)
        folds, held_out = (self.splits, None) if self.splits > 1 else (2, HELD_OUT)
        block_rows = min(self.plan.block_rows, BLOCK_ROWS)
        self.reading = Reading(block_rows, self.plan.lanes, folds, held_out)

    def fits(self, kernels: list[Kernel]) -> list[SmallFit]:
        """Return a fit per split, for a kernel per split, or one for all.

        They share the alpha at which the rows that are held out have the smallest error together.
        """
        sums = [self._moments(kernel) for kernel in kernels]
        held = range(self.splits) if self.splits > 1 else [1]
        splits = [self._split(*sums[at % len(sums)], at) for at in held]
        alphas = default_alphas(splits[0].system)
        solved = [split.solved(alphas) for split in splits]
        errors = np.sum([errors for _, errors in solved], axis=0)
        best = int(np.nanargmin(np.where(np.isfinite(errors), errors, np.inf)))
        nothing = sum(split.nothing for split in splits)
        error = max(float(errors[best] / nothing), 0.0) if nothing > 0 else 1.0
        at = slice(best * self.targets.outputs, (best + 1) * self.targets.outputs)
        return [
            SmallFit(split.system.basis, split.system.basis.coefficients(found[:, at]), error)
            for split, (found, _) in zip(splits, solved, strict=True)
        ]

    def _moments(self, kernel: Kernel) -> tuple[BasisTransformer, list[Moments]]:
        basis = Landmarks(sampling=self.points).fit_source(
            self.rows,
            kernel,
            np.random.default_rng(self.seed),
            self.plan.precision,
            self.plan.may_widen,
        )
        folds = sum_moments(
            self.rows, self.targets, basis, self.reading, self.seed, record="search"
        )
        return basis, folds

    def _split(self, basis: BasisTransformer, folds: list[Moments], held: int) -> Split:
        """Return all folds but one as a system, and that one to judge it."""
        total = folds[0]
        for fold in folds[1:]:
            total = total + fold
        units = np.ones(self.targets.outputs)
        system = MomentSystem([total - folds[held]], basis, self.intercept, units)
        return Split(system, folds[held])

    def gradients(self, fit: SmallFit, diagonal: bool, scaling: Scaling | None) -> Array:
        """Return the average gradient outer product of a fit, in the scaled columns."""
        return gradient_outer_product(
            self.rows,
            fit.basis,
            fit.coefficients,
            replace(self.reading, folds=1, held_out=None),
            diagonal=diagonal,
            scaling=scaling,
            targets=self.targets,
        )


def splits_of(n_rows: int) -> int:
    """Return how often rows are held out."""
    return next((splits for most, splits in SPLITS.items() if n_rows <= most), 1)


def outcome_of(candidate: Candidate, trials: Mapping[str, Trial]) -> Outcome:
    """Task: fit a candidate in its trial.

    The matrices are small: on a busy machine, threads that wait for each other cost more.
    """
    start, trial = time.perf_counter(), trials[candidate.trial]
    with blas_threads(1):
        fits = trial.fits(candidate.kernels)
        gradients = {
            form: [trial.gradients(fit, form == "diagonal", candidate.scaling) for fit in fits]
            for form in candidate.forms
        }
    return fits[0].error, gradients, time.perf_counter() - start


def with_bandwidth(kernel: Kernel, X: Array, factor: float) -> Kernel:
    """Return a kernel with numeric bandwidths: the median distance, times a factor where open."""
    open_ones = (
        kernel.kernel.parameters_with("auto")
        if isinstance(kernel, InMetric)
        else (kernel.parameters_with("auto"))
    )
    fitted = kernel.fitted(X)
    inner = fitted.kernel if isinstance(fitted, InMetric) else fitted
    known = inner.get_params()
    inner.set_params(**{name: factor * known[name] for name in open_ones})
    return fitted

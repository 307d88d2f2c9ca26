"""A solved-for-every-alpha view of a fit: what criteria score and what the last solve uses.

The primal problem knows moments, the dual problem the kernel matrix; criteria see neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from mercer.bases import BasisTransformer, Whitener
from mercer.contracts import Array, Solution, Status
from mercer.moments import Moments, NormalEquations
from mercer.selection.folds import dual_fold_errors, fold_errors
from mercer.selection.steps import Iterated, iterate_dual, iterate_primal
from mercer.solvers import CutOff, DirectSolver, DualSystem, IterativeSolver, RidgeState, Spectrum
from mercer.solvers.early_stopping import Run, StepProgress

#: Share of directions below the rounding of float32 that a fit can do without.
FEW = 0.05


class Problem(Protocol):
    """One basis, one set of rows, any alpha."""

    @property
    def solver(self) -> DirectSolver:
        """What solves it for an alpha."""

    @property
    def intercept(self) -> bool:
        """Whether a constant is fitted."""

    @property
    def units(self) -> Array:
        """Squares of the units that targets are kept in: errors are in the user's; shape (k,)."""

    @property
    def spectrum(self) -> Spectrum:
        """Eigenvalues of A and the coordinates of b."""

    @property
    def target_square(self) -> Array:
        """Mean square of y, centered with an intercept; shape (k,)."""

    @property
    def count(self) -> float:
        """How many rows the fit counts as."""

    def solve(self, alpha: float) -> tuple[Array, Array, Solution]:
        """Return coefficients (M, k), intercept (k,) and how they were found."""

    def iterate(
        self,
        solver: IterativeSolver,
        alpha: float,
        rng: np.random.Generator,
        run: Run | None = None,
        progress: StepProgress | None = None,
    ) -> Iterated:
        """Run an iterative solver to where its rule stops it; ``run`` is one to go on with."""

    def fold_errors(self, n_splits: int, alphas: Array, rng: np.random.Generator) -> Array:
        """Return held-out mean squared errors of shape (folds, alphas)."""

    def row_errors(
        self, alphas: Array, sample: int | None, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return leave-one-out squared errors (rows, alphas) and the rows' weights."""


@dataclass
class PrimalProblem:
    """Moments of a fixed basis, in one piece or by fold."""

    folds: Sequence[Moments]
    basis: BasisTransformer
    solver: DirectSolver
    intercept: bool
    units: Array
    #: Reads the rows again for leave-one-out: (problem, alphas, sample, rng) -> errors, weights.
    second_pass: Callable[..., tuple[Array, Array]] | None = None

    @cached_property
    def whitener(self) -> Whitener:
        """The whitener of the basis."""
        return self.basis.whitener()

    @cached_property
    def total(self) -> Moments:
        """The moments of all folds together."""
        total = self.folds[0]
        for fold in self.folds[1:]:
            total = total + fold
        return total

    @cached_property
    def equations(self) -> NormalEquations:
        """(A, b) of all rows, in whitened coordinates."""
        return self.normal_equations(self.total)

    @cached_property
    def _state(self) -> RidgeState:
        return self.solver.prepare(self.equations.A, self.equations.b)

    @property
    def spectrum(self) -> Spectrum:
        """Eigenvalues of A and the coordinates of b."""
        return self._state.spectrum

    @property
    def target_square(self) -> Array:
        """Mean square of y, centered with an intercept; shape (k,)."""
        return np.asarray(self.equations.target_square)

    @property
    def count(self) -> float:
        """How many rows the fit counts as."""
        return float(self.equations.count)

    @property
    def mean_h(self) -> Array:
        """Mean of h, zeros without an intercept."""
        return np.asarray(self.equations.mean_h)

    @property
    def mean_y(self) -> Array:
        """Mean of y, zeros without an intercept."""
        return np.asarray(self.equations.mean_y)

    @cached_property
    def directions(self) -> Array:
        """``T = R U`` of shape (M, M): the eigendirections in the functions of the moments."""
        return self.whitener.coefficients(self.spectrum.vectors)

    def solve(self, alpha: float) -> tuple[Array, Array, Solution]:
        """Return coefficients (M, k), intercept (k,) and how they were found."""
        solution = self.solver.solve(self._state, alpha)
        return *self.coefficients(solution.value), solution

    def hidden(self, solution: Solution) -> int:
        """Return how many directions float32 sums have hidden, where that is more than a few."""
        if self.basis.precision_ != "float32" or solution.status is not Status.RANK_REDUCED:
            return 0
        dropped = self.spectrum.dropped
        return dropped if dropped > FEW * len(self.spectrum.values) else 0

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return coefficients (M, k) and intercept (k,) for a solution in whitened coordinates."""
        graded = self.whitener.coefficients(value)
        mean_h, mean_y = self.total.means(self.intercept)
        return self.basis.coefficients(graded), mean_y - mean_h @ graded

    def iterate(
        self,
        solver: IterativeSolver,
        alpha: float,
        rng: np.random.Generator,
        run: Run | None = None,
        progress: StepProgress | None = None,
    ) -> Iterated:
        """Run an iterative solver to where its rule stops it; ``run`` is one to go on with."""
        return iterate_primal(self, solver, alpha, run, progress)

    def normal_equations(self, moments: Moments) -> NormalEquations:
        """Return (A, b) of some of the rows, in whitened coordinates."""
        return moments.normal_equations(self.whitener, self.intercept)

    def fold_errors(self, n_splits: int, alphas: Array, rng: np.random.Generator) -> Array:
        """Return held-out mean squared errors of shape (folds, alphas), from moments alone."""
        return fold_errors(self, alphas)

    def row_errors(
        self, alphas: Array, sample: int | None, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return leave-one-out squared errors (rows, alphas) and the rows' weights."""
        if self.second_pass is None:
            raise ValueError(
                "leave-one-out needs the rows again, and these moments came without them "
                "(partial_fit): use selection='gcv', or a number for alpha"
            )
        return self.second_pass(self, alphas, sample, rng)


@dataclass
class DualProblem:
    """The kernel matrix of all rows."""

    system: DualSystem
    solver: DirectSolver
    units: Array

    def __post_init__(self) -> None:
        self.system.cutoff = isinstance(self.solver, CutOff)

    @property
    def intercept(self) -> bool:
        """Whether a constant is fitted."""
        return self.system.intercept

    @property
    def spectrum(self) -> Spectrum:
        """Eigenvalues of A and the coordinates of b."""
        return self.system.spectrum

    @property
    def target_square(self) -> Array:
        """Mean square of y, centered with an intercept; shape (k,)."""
        return self.system.target_square

    @property
    def count(self) -> float:
        """How many rows the fit counts as."""
        return self.system.count

    def solve(self, alpha: float) -> tuple[Array, Array, Solution]:
        """Return coefficients (n, k), intercept (k,) and how they were found."""
        return self.system.solve(alpha, getattr(self.solver, "method", "auto"))

    def iterate(
        self,
        solver: IterativeSolver,
        alpha: float,
        rng: np.random.Generator,
        run: Run | None = None,
        progress: StepProgress | None = None,
    ) -> Iterated:
        """Run an iterative solver to where its rule stops it; ``run`` is one to go on with."""
        return iterate_dual(self.system, self.units, solver, alpha, rng, run, progress)

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return coefficients (n, k), which the solver finds, and their intercept (k,)."""
        return value, self.system.constant(value)

    def fold_errors(self, n_splits: int, alphas: Array, rng: np.random.Generator) -> Array:
        """Return held-out mean squared errors of shape (folds, alphas), by refitting."""
        return dual_fold_errors(self.system, n_splits, alphas, self.units, rng)

    def row_errors(
        self, alphas: Array, sample: int | None, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return leave-one-out squared errors (rows, alphas) and the rows' weights.

        All rows, whatever the sample: the eigenvectors give their leverages at no cost.
        """
        system, spectrum = self.system, self.system.spectrum
        filters = np.stack([spectrum.filter(alpha) for alpha in alphas], axis=1)
        kept = spectrum.values[:, None] * filters  # s / (s + alpha)
        leverage = spectrum.vectors**2 @ kept
        if system.intercept:
            leverage += (system.weight / system.total)[:, None]
        centered = system.root[:, None] * (system.Y - system.mean_y)
        rotated = spectrum.vectors.T @ centered
        errors = np.zeros((len(system.Y), len(alphas)))
        for output, unit in enumerate(self.units):
            fitted = spectrum.vectors @ (kept * rotated[:, output : output + 1])
            residual = (centered[:, output : output + 1] - fitted) / system.root[:, None]
            errors += unit * (residual / np.maximum(1.0 - leverage, 1e-12)) ** 2
        return errors, system.weight

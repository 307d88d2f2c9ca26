"""Fit by products alone: no matrix of moments, and no kernel matrix, is ever formed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from mercer.bases import BasisTransformer, Landmarks
from mercer.contracts import Array, Precision, RowBlock, Rows, RowSource, Solution
from mercer.engines import blas_threads
from mercer.kernels import Kernel
from mercer.moments.products import QueryProducts, RowProducts
from mercer.result import Clock, Fit, Progress, Targets, checked_blocks, float32_noise
from mercer.sampling import pivoted_cholesky, uniform_indices
from mercer.selection import Plan
from mercer.solvers import PreconditionedCG, SolverPath
from mercer.solvers.dual import ABSENT
from mercer.solvers.early_stopping import StepProgress
from mercer.solvers.kernel_products import KernelProducts, KernelProductSystem
from mercer.solvers.preconditioned import conjugate_gradients
from mercer.solvers.row_system import LandmarkPreconditioner, RowSystem, SamplePreconditioner

#: Tolerances where none is given: of a basis, an approximation itself, and of the full kernel.
APPROXIMATE, FULL = 1e-2, 1e-5
#: Functions up to which their Gram matrix is factored beforehand: it shows whether they depend on
#: each other, and whether float32 will do.
LEAN = 3000
#: Noise of float32 values in f, relative to the scale of y, from which float64 takes over.
NOISE = 1e-3


def fit_by_products(
    source: RowSource,
    targets: Targets,
    kernel: Kernel,
    plan: Plan,
    solver: PreconditionedCG,
    *,
    alpha: float,
    intercept: bool,
    rng: np.random.Generator,
    clock: Clock,
    progress: Progress | None = None,
    previous: Fit | None = None,
    shared: BasisTransformer | None = None,
) -> Fit:
    """Fit a model to a source by preconditioned conjugate gradients.

    ``previous`` is a fit of the same rows and functions to start from; ``shared`` is a basis that
    is fitted already.
    """
    with clock.stage("basis"):
        if shared is not None:
            basis = shared
        elif previous is None:
            precision: Precision = "float64" if plan.basis.dual else plan.precision
            lean = plan.size > LEAN
            basis = plan.basis.fit_source(
                source, kernel, rng, precision, plan.may_widen and not plan.basis.dual, lean
            )
        else:
            basis = previous.basis
    start = None if previous is None else previous.solution.value
    how = _FullKernel if basis.dual else _Rows
    problem = how(source, targets, basis, plan, solver, intercept, rng, clock, progress)
    coefficients, constant, solution = problem.solve(alpha, start)
    return Fit(
        basis=basis,
        plan=plan,
        coefficients=coefficients,
        intercept=constant,
        solution=solution,
        alpha=alpha,
        total_weight=problem.count,
        weight=problem.weight,
        n_rows=source.n_rows,
        seconds=clock.seconds,
        path=SolverPath(residuals=solution.residuals[1:]),
    )


class _Problem:
    """What both kinds need."""

    count: float
    weight: float

    def __init__(
        self,
        source: RowSource,
        targets: Targets,
        basis: BasisTransformer,
        plan: Plan,
        solver: PreconditionedCG,
        intercept: bool,
        rng: np.random.Generator,
        clock: Clock,
        progress: Progress | None,
    ) -> None:
        self.source, self.targets, self.basis, self.plan = source, targets, basis, plan
        self.solver, self.intercept, self.rng = solver, intercept, rng
        self.clock, self.progress = clock, progress

    def solve(self, alpha: float, start: Array | None) -> tuple[Array, Array, Solution]:
        """Return coefficients, intercept and how they were found."""
        raise TypeError(f"{type(self).__name__} does not define solve()")

    def steps(self) -> StepProgress | None:
        """Return what to tell of each step."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total, note: progress("solve", done, total, "steps", note)

    def iterate(self, system: Any, start: Array | None) -> Solution:
        """Run the solver."""
        solver = self.solver
        tolerance = solver.tolerance or (FULL if self.basis.dual else APPROXIMATE)
        # Products run on all cores by themselves; what else there is, is small.
        with blas_threads(1):
            return conjugate_gradients(system, tolerance, solver.max_steps, start, self.steps())


class _Rows(_Problem):
    """A basis of M functions: products with their values at the rows."""

    def solve(self, alpha: float, start: Array | None) -> tuple[Array, Array, Solution]:
        found = self._attempt(alpha, start)
        if self.plan.may_widen and float32_noise(self.basis, found[0]) > NOISE:
            self.basis.factorize(may_widen=True)
            self.basis.widen()
            found = self._attempt(alpha, None)
        return found

    def _preconditioner(self, alpha: float) -> SamplePreconditioner | LandmarkPreconditioner:
        whole = self.plan.sample >= self.source.n_rows
        if isinstance(self.basis, Landmarks) and not whole:
            return LandmarkPreconditioner(self.basis, alpha)
        sample, weight = self._sample()
        return SamplePreconditioner(self.basis, sample, weight, alpha, self.intercept, whole)

    def _attempt(self, alpha: float, start: Array | None) -> tuple[Array, Array, Solution]:
        with self.clock.stage("preconditioner"):
            size = self.basis.size
            preconditioner = self._preconditioner(alpha)
            if preconditioner.factor is None:  # functions that depend on each other
                self.basis.factorize(self.plan.may_widen)
                start = start if self.basis.size == size else None
                preconditioner = self._preconditioner(alpha)
            if preconditioner.factor is None:
                raise ValueError(
                    "the basis gives no positive definite preconditioner: scale the columns, or "
                    "use solver='ridge'"
                )
        products = self._read()
        self.weight = products.weight
        self.count = max(products.weight, float(products.rows))
        system = RowSystem(products, alpha, self.intercept, preconditioner)
        with self.clock.stage("solve"):
            solution = self.iterate(system, start)
        return solution.value, system.intercept(solution.value), solution

    def _sample(self) -> tuple[Rows, Array | None]:
        """Return a sample of the rows, with their weights."""
        chosen = uniform_indices(self.source.n_rows, self.plan.sample, self.rng)
        rows, weights = [], []
        for block, _ in checked_blocks(self.source, self.targets, self.plan.block_rows):
            low, high = np.searchsorted(chosen, [block.start, block.start + block.n_rows])
            at = chosen[low:high] - block.start
            rows.append(block.X[at])
            if block.weight is not None:
                weights.append(block.weight[at])
        weight = np.concatenate(weights) if weights else None
        if weight is not None and not weight.sum() > 0:
            weight = None  # the few rows that count are not in the sample
        stack = scipy.sparse.vstack if scipy.sparse.issparse(rows[0]) else np.vstack
        return stack(rows), weight

    def _read(self) -> RowProducts:
        """Read all rows once, for the sums that are vectors; keep their values if there is room."""
        source, plan = self.source, self.plan
        width = 8 if self.basis.precision_ == "float64" else 4
        values = width * source.n_rows * self.basis.size
        # Wider values than the plan was made for may no longer fit.
        keep = plan.keep and (self.solver.keep is True or values <= plan.memory_limit)

        def blocks(rows: int) -> Iterator[tuple[RowBlock, Array]]:
            return checked_blocks(source, self.targets, rows)

        def report(done: int) -> None:
            if self.progress is not None:
                self.progress("rows", done, source.n_rows)

        rows = (
            blocks,
            source.n_rows,
            self.basis,
            self.targets.outputs,
            plan.block_rows,
            plan.lanes,
            keep,
            report,
        )
        pairs = self.targets.pairs
        with self.clock.stage("rows"):
            if pairs is not None:
                return QueryProducts(*rows, pairs=pairs, codes=self.targets.codes)
            return RowProducts(*rows)


class _FullKernel(_Problem):
    """All rows: products with the kernel matrix."""

    def solve(self, alpha: float, start: Array | None) -> tuple[Array, Array, Solution]:
        blocks = list(checked_blocks(self.source, self.targets, max(1, self.source.n_rows)))
        Y = np.vstack([Y for _, Y in blocks])
        ones = [np.ones(b.n_rows) if b.weight is None else b.weight for b, _ in blocks]
        weight = np.concatenate(ones)
        self.weight = float(weight.sum())
        self.count = max(self.weight, float(np.count_nonzero(weight)))
        points, kernel = self.basis.landmarks_, self.basis.kernel_
        with self.clock.stage("preconditioner"):
            F, _ = pivoted_cholesky(kernel, points, self.plan.sample, self.rng)
        products = KernelProducts(kernel, points, self.plan.precision)
        system = KernelProductSystem(
            products, Y, np.maximum(weight, ABSENT), alpha, self.intercept, F
        )
        with self.clock.stage("solve"):
            solution = self.iterate(system, start)
        return *system.split(solution.value), solution

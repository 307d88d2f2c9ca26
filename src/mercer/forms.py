"""Build a system in one of four forms from rows, functions and a plan.

The forms are: moments, the kernel matrix, products with basis values, products with the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer.bases import BasisTransformer, Landmarks
from mercer.contracts import Array, Penalty
from mercer.engines import available_cores, blas_threads
from mercer.moments.by_fold import Pass, share_functions, sum_moments
from mercer.moments.products import products_of
from mercer.plan import Plan
from mercer.request import Request
from mercer.result import Clock
from mercer.rows.labels import labels_of
from mercer.rows.rowset import RowSet
from mercer.sampling import pivoted_cholesky
from mercer.solvers import BaseSolver
from mercer.systems import (
    ABSENT,
    KernelMatrixSystem,
    KernelProducts,
    KernelProductSystem,
    MomentSystem,
    ProductSystem,
    ShardedKernelProducts,
)
from mercer.systems.preconditioners import (
    LandmarkPreconditioner,
    SamplePreconditioner,
    float64_rounding,
    sample_rows,
)
from mercer.validation import check_overflow, check_total_weight

#: Rows of a matrix for each thread of BLAS, beyond which a factorization is on one thread: OpenBLAS
#: 0.3.30 writes past its buffers for 20,000 rows on two threads with AVX-512 (14,000 are safe).
LARGEST_SHARE = 7000
Form: TypeAlias = MomentSystem | KernelMatrixSystem | ProductSystem | KernelProductSystem


@dataclass
class Work:
    """The shared state of one fit."""

    rows: RowSet
    request: Request
    plan: Plan
    solver: BaseSolver
    basis: BasisTransformer
    clock: Clock
    alpha: Penalty | None
    seed: int = 0  # that deals rows to folds


def by_moments(work: Work) -> MomentSystem:
    """Sum the moments ``S = sum_i w_i h_i h_i'`` and ``t = sum_i w_i h_i y_i'`` by fold."""
    request, plan = work.request, work.plan
    with work.clock.stage("moments"):
        if request.folds > 1:  # a fit without random draws is the same for every seed
            work.seed = request.seeds.rows()
        folds = sum_moments(work.rows, request.targets, work.basis, plan.reading, work.seed)
    again = Pass(work.rows, request.targets, plan.reading)
    return MomentSystem(
        folds, work.basis, request.intercept, request.error_units, work.solver.cuts_off, again
    )


def by_kernel_matrix(work: Work) -> KernelMatrixSystem:
    """Evaluate the kernel matrix ``K(x_i, x_j)`` of all rows."""
    with work.clock.stage("kernel matrix"):
        ((Y, weight),) = work.rows.map(labels_of, work.request.targets)
        check_total_weight(weight.sum())
        return kernel_matrix_system(work.basis, Y, weight, work.request, work.solver.cuts_off)


def kernel_matrix_system(
    basis: BasisTransformer, Y: Array, weight: Array, request: Request, cutoff: bool = False
) -> KernelMatrixSystem:
    """Return the system of the full kernel with these targets and weights."""
    gram = basis.gram()
    assert gram is not None
    check_overflow(gram, "float64")
    # Rows with weight 0 are excluded: an infinite ridge makes their coefficient 0.
    present = np.maximum(weight, ABSENT)
    return KernelMatrixSystem(gram, Y, present, request.intercept, request.error_units, cutoff)


def by_products(work: Work) -> ProductSystem:
    """Read all rows once, store their values if they fit, and factor a preconditioner."""
    rows, request, plan, basis = work.rows, work.request, work.plan, work.basis
    assert isinstance(work.alpha, float)
    one_thread = basis.size > LARGEST_SHARE * available_cores()
    threads = blas_threads(1) if one_thread else nullcontext()
    with work.clock.stage("preconditioner"), threads:
        preconditioner = _preconditioner(work, attempts=1)
        if preconditioner.factor is None:  # dependent functions
            basis.factorize(plan.may_widen)
            preconditioner = _preconditioner(work)
        if preconditioner.factor is None:
            raise ValueError(
                "the preconditioner of this basis is not positive definite: scale the columns, or "
                "use solver='ridge'"
            )
    width = 8 if basis.precision_ == "float64" else 4
    # Values wider than planned may no longer fit into memory.
    fits = width * rows.n_rows * basis.size <= plan.memory_limit
    keep = plan.keep and (work.solver.keep is True or fits)
    with work.clock.stage("rows"):
        held = rows.hold(
            products_of,
            request.targets,
            share_functions(rows, basis),
            rows.reading(plan.reading),
            keep,
        )
        return ProductSystem(held, basis, work.alpha, request.intercept, preconditioner, keep)


def _preconditioner(
    work: Work, attempts: int = 12
) -> SamplePreconditioner | LandmarkPreconditioner:
    rows, request, plan, basis = work.rows, work.request, work.plan, work.basis
    assert isinstance(work.alpha, float)
    whole = plan.sample >= rows.n_rows
    by_landmarks = isinstance(basis, Landmarks) and not whole
    wanted = plan.sample - basis.size if by_landmarks else plan.sample
    if by_landmarks and wanted <= 0:
        return LandmarkPreconditioner(basis, work.alpha, request.intercept, attempts)
    rng = request.seeds.solve()
    sample, weight = sample_rows(rows, request.targets, plan.reading, wanted, rng)
    if by_landmarks:
        return LandmarkPreconditioner(
            basis, work.alpha, request.intercept, attempts, sample, weight
        )
    return SamplePreconditioner(basis, sample, weight, work.alpha, request.intercept, whole)


def by_kernel_products(work: Work) -> KernelProductSystem:
    """Collect targets and weights, and factor a low-rank preconditioner."""
    rows, request, plan = work.rows, work.request, work.plan
    points, kernel = work.basis.landmarks_, work.basis.kernel_
    assert isinstance(work.alpha, float)
    labels = rows.map(labels_of, request.targets, record="targets")
    Y, weight = (rows.by_number(part) for part in zip(*labels, strict=True))
    check_total_weight(weight.sum())
    with work.clock.stage("preconditioner"):
        F, _ = pivoted_cholesky(kernel, points, plan.sample, request.seeds.solve())
    products: KernelProducts | ShardedKernelProducts
    if rows.one_place:
        products = KernelProducts(kernel, points, plan.precision, plan.stored)
    else:
        products = ShardedKernelProducts(rows, kernel, points, plan.precision)
    present = np.maximum(weight, ABSENT)
    rounding = float64_rounding(kernel, points)
    return KernelProductSystem(products, Y, present, work.alpha, request.intercept, F, rounding)


#: The function that builds each form.
FORMS: dict[str, Callable[[Work], Form]] = {
    "moments": by_moments,
    "kernel matrix": by_kernel_matrix,
    "products": by_products,
    "kernel products": by_kernel_products,
}

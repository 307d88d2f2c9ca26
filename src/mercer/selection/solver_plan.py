"""Moments or products: which way to solve, and what it needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mercer.bases import Landmarks
from mercer.contracts import Precision, RowSource
from mercer.engines import available_cores
from mercer.kernels import Kernel
from mercer.selection import cost
from mercer.selection.plan import BLOCK_ENTRIES, Plan, chosen_basis, human_bytes, make_plan
from mercer.selection.plan import parse_memory as parse
from mercer.solvers import BaseSolver, PreconditionedCG, Ridge
from mercer.solvers.kernel_products import TILE_COLUMNS, TILE_ROWS
from mercer.validation import MemoryLimitError

#: The largest automatic rank of the full kernel's preconditioner.
RANK = 2000
#: Entries of a tile of the full kernel.
TILE = TILE_ROWS * TILE_COLUMNS


def plan_fit(
    source: RowSource,
    kernel: Kernel,
    basis: Any,
    solver: BaseSolver | None,
    *,
    open_alpha: bool,
    fixed_basis: bool = False,
    **how: Any,
) -> tuple[Plan, BaseSolver]:
    """Return the plan, and the solver: chosen by the cost model where ``solver`` is None.

    Keywords are those of :func:`mercer.selection.plan.make_plan`.
    """
    if solver is not None and not isinstance(solver, PreconditionedCG):
        return make_plan(source, kernel, basis, fixed_basis=fixed_basis, **how), solver
    if solver is not None:
        how["fixed_basis"] = fixed_basis
        return product_plan(source, kernel, basis, solver, open_alpha, **how), solver
    direct, refused = None, None
    try:
        direct = make_plan(source, kernel, basis, fixed_basis=fixed_basis, **how)
    except MemoryLimitError as error:
        refused = error
    by_products = PreconditionedCG()
    indirect = None
    if direct is not None and _moment_seconds(source, direct, open_alpha) < cost.SOON:
        return direct, Ridge()
    if not fixed_basis:
        try:
            indirect = product_plan(source, kernel, basis, by_products, open_alpha, **how)
        except MemoryLimitError as error:
            refused = refused or error
    if direct is None and indirect is None:
        assert refused is not None
        raise refused
    if direct is None:
        assert indirect is not None
        return replace(
            indirect, solver_reason="moments would not fit the memory limit"
        ), by_products
    if indirect is None or direct.size != indirect.size:
        return direct, Ridge()
    before = _moment_seconds(source, direct, open_alpha)
    after = _product_seconds(source, indirect, how["outputs"], open_alpha)
    clearly = cost.CLEARLY_OPEN if open_alpha else cost.CLEARLY
    told = f"moments about {before:.1f} s, products about {after:.1f} s by the cost model"
    if before > clearly * after:
        return replace(indirect, solver_reason=told), by_products
    return replace(direct, solver_reason=told), Ridge()


def _moment_seconds(source: RowSource, plan: Plan, open_alpha: bool) -> float:
    if plan.basis.dual:
        return cost.full_direct_seconds(source.n_rows, source.n_features, open_alpha)
    single = plan.precision == "float32"
    return cost.direct_seconds(source.n_rows, plan.size, source.n_features, open_alpha, single)


def _product_seconds(source: RowSource, plan: Plan, outputs: int, open_alpha: bool) -> float:
    n_rows, columns = source.n_rows, source.n_features
    if plan.basis.dual:
        return cost.full_product_seconds(n_rows, columns, plan.sample, open_alpha)
    return cost.product_seconds(n_rows, plan.size, columns, outputs, plan.keep, open_alpha)


def product_plan(
    source: RowSource,
    kernel: Kernel,
    basis: Any,
    solver: PreconditionedCG,
    open_alpha: bool,
    *,
    dtype: str,
    memory_limit: Any,
    outputs: int,
    folds: int = 1,
    held_out: float | None = None,
    second_pass: bool = False,
    fixed_basis: bool = False,
) -> Plan:
    """Return the plan of a fit by products, with a pilot where alpha is open."""
    limit = parse(memory_limit)
    n_rows, columns = source.n_rows, source.n_features
    chosen, reason = chosen_basis(basis, n_rows, columns, limit, fixed_basis)
    size = chosen.wanted_size(n_rows)
    coarse = dtype == "float32" or (dtype == "auto" and kernel.bounded)
    precision: Precision = "float32" if coarse else "float64"
    width = 4 if coarse else 8
    pilot = None
    if open_alpha:
        pilot = make_plan(
            source,
            kernel,
            Landmarks(min(cost.PILOT, size))
            if chosen.dual
            else chosen.resized(min(cost.PILOT, size)),
            dtype=dtype,
            memory_limit=memory_limit,
            outputs=outputs,
            folds=folds,
            second_pass=second_pass,
        )
    cores = available_cores()
    space = 3 * 8 * size * 60 * (outputs + 1)
    if chosen.dual:
        rank = solver.preconditioner or min(RANK, max(100, int(n_rows ** (2 / 3))))
        sample = min(rank, n_rows)
        tiles = cores * 8 * (2 + kernel.scratch) * TILE
        memory = 8 * n_rows * (3 * sample + 2 * columns) + space + tiles + 16 * sample**2
        block_rows, keep = 1, False
    else:
        sample = min(n_rows, solver.preconditioner or 2 * size)
        block_rows = min(max(256, min(8192, BLOCK_ENTRIES // max(1, size))), max(1, n_rows))
        block = cores * block_rows * (size * (width + 8 * kernel.scratch) + 32 * columns)
        matrix = size**2 * (width + 16)
        memory = matrix + block + space + 16 * sample * columns
        values = n_rows * size * width
        keep = solver.keep is True or (solver.keep == "auto" and memory + values <= limit)
        memory += values if keep else 0
    if memory > limit:
        lower = "preconditioner of the solver" if chosen.dual else "n_components of the basis"
        if keep:  # it was asked for: "auto" keeps only what fits
            lower += ", use keep='auto' of the solver"
        raise MemoryLimitError(
            f"the fit by products needs about {human_bytes(memory)}, over the memory_limit of "
            f"{human_bytes(limit)}: lower {lower}, or raise memory_limit"
        )
    return Plan(
        chosen,
        size,
        precision,
        block_rows,
        cores,
        1,
        int(memory),
        limit,
        reason,
        may_widen=dtype == "auto",
        sample=sample,
        keep=keep,
        pilot=pilot,
        solver_reason="asked for",
    )

"""Choose between a solve by moments and a solve by products."""

from __future__ import annotations

from dataclasses import replace

from mercer.bases import BasisTransformer, Landmarks
from mercer.engines import available_cores
from mercer.engines.memory import human_bytes, parse_memory
from mercer.plan import cost
from mercer.plan.plan import (
    BLOCK_ENTRIES,
    Plan,
    Shape,
    chosen_basis,
    make_plan,
    pilot_plan,
)
from mercer.precision import starting_precision
from mercer.request import Request
from mercer.solvers import BaseSolver, PreconditionedCG, Ridge
from mercer.systems.by_kernel_products import TILE_COLUMNS, TILE_ROWS, stored_bytes
from mercer.validation import MemoryLimitError

#: The largest automatic rank of the full kernel's preconditioner.
RANK = 2000
#: The tolerance of a solve by products that nobody asked for: it changes squared errors by a part
#: in ten thousand, less than another sample of the rows would. The exact kernel has its own.
AUTOMATIC = 1e-2
#: Below this tolerance the values of functions are in float64.
FINE = 1e-5
#: Sampled rows of the preconditioner that are considered, as multiples of the landmarks.
SAMPLES = (2, 3, 4, 6, 8)
#: Entries of a tile of the full kernel.
TILE = TILE_ROWS * TILE_COLUMNS


def plan_fit(rows: Shape, request: Request) -> tuple[Plan, BaseSolver]:
    """Return the plan and the solver; the cost model chooses the solver if the request has none."""
    solver = request.solver
    if solver is not None:
        by_products = solver.needs == "products"
        return (product_plan if by_products else make_plan)(rows, request), solver
    direct, refused = None, None
    try:
        direct = make_plan(rows, request)
    except MemoryLimitError as error:
        refused = error
    exact = request.basis is not None and request.basis.dual
    products = PreconditionedCG(tolerance=None if exact else AUTOMATIC)
    indirect = None
    if direct is not None and _moment_seconds(rows, direct, request) < cost.NEGLIGIBLE:
        return direct, Ridge()
    if not request.needs_sums:
        try:
            indirect = product_plan(rows, replace(request, solver=products))
        except MemoryLimitError as error:
            refused = refused or error
    if direct is None and indirect is None:
        assert refused is not None
        raise refused
    if direct is None:
        assert indirect is not None
        return replace(indirect, solver_reason="moments would exceed the memory limit"), products
    if indirect is None or direct.size != indirect.size:
        return direct, Ridge()
    before = _moment_seconds(rows, direct, request)
    after = _product_seconds(rows, indirect, request)
    factor = cost.ADVANTAGE_OPEN if request.open_alpha else cost.ADVANTAGE
    reason = f"estimated cost: moments {before:.1f} s, products {after:.1f} s"
    if before > factor * after:
        return replace(indirect, solver_reason=reason), products
    return replace(direct, solver_reason=reason), Ridge()


def fit_seconds(rows: Shape, plan: Plan, request: Request) -> float:
    """Return the seconds of a planned fit on a typical machine; only ratios mean something."""
    return (_product_seconds if plan.sample else _moment_seconds)(rows, plan, request)


def _moment_seconds(rows: Shape, plan: Plan, request: Request) -> float:
    if plan.basis.dual:
        return cost.full_direct_seconds(rows.n_rows, rows.n_features, request.open_alpha)
    single = plan.precision == "float32"
    return cost.direct_seconds(rows.n_rows, plan.size, rows.n_features, request.open_alpha, single)


def _product_seconds(rows: Shape, plan: Plan, request: Request) -> float:
    n_rows, columns, open_alpha = rows.n_rows, rows.n_features, request.open_alpha
    if plan.basis.dual:
        width = 4 if plan.precision == "float32" else 8
        share = plan.stored / stored_bytes(n_rows, width)
        return cost.full_product_seconds(
            n_rows, columns, plan.sample, open_alpha, share=share, outputs=request.outputs
        )
    return cost.product_seconds(
        n_rows,
        plan.size,
        columns,
        request.outputs,
        plan.keep,
        open_alpha,
        sample=plan.sample,
    )


def _sampled(rows: Shape, request: Request, basis: BasisTransformer, keep: bool) -> int:
    """Return how many rows the preconditioner of a basis is made of.

    More rows save steps, and cost sums of their own. Landmarks are a sample already; in one place
    it grows as long as that saves time, whereas from a shard no further rows are taken.
    """
    size = basis.wanted_size(rows.n_rows)
    if not isinstance(basis, Landmarks):
        return 2 * size
    shape = rows.n_rows, size, rows.n_features, request.outputs, keep, request.open_alpha
    more = [size * factor for factor in SAMPLES if rows.one_place and size * factor < rows.n_rows]
    return min([size, *more], key=lambda sample: cost.product_seconds(*shape, sample=sample))


def product_plan(rows: Shape, request: Request) -> Plan:
    """Return the plan of a fit by products, with a pilot fit if alpha is open."""
    solver = request.solver
    assert isinstance(solver, PreconditionedCG)
    limit = parse_memory(request.memory_limit)
    kernel, dtype, outputs = request.kernel, request.dtype, request.outputs
    n_rows, columns = rows.n_rows, rows.n_features
    chosen, reason = chosen_basis(rows, request, limit)
    size = chosen.wanted_size(n_rows)
    # Exact products of the full kernel are in float64 anyway.
    fine = not chosen.dual and solver.tolerance is not None and solver.tolerance < FINE
    precision = starting_precision(dtype, kernel.bounded, worthwhile=not fine)
    width = 4 if precision == "float32" else 8
    pilot = None
    if request.open_alpha:
        pilot = pilot_plan(rows, request, chosen, size)
    cores = available_cores()
    space = 3 * 8 * size * 60 * (outputs + 1)
    if chosen.dual:
        rank = solver.preconditioner or min(RANK, max(100, int(n_rows ** (2 / 3))))
        sample = min(rank, n_rows)
        tiles = cores * 8 * (2 + kernel.scratch) * TILE
        memory = 8 * n_rows * (3 * sample + 2 * columns) + space + tiles + 16 * sample**2
        block_rows, values = 1, stored_bytes(n_rows, width)
        keep = solver.keep is True
        stored = values if keep else min(values, max(0, limit - memory)) if solver.keep else 0
        memory += stored
    else:
        block_rows = min(max(256, min(8192, BLOCK_ENTRIES // max(1, size))), max(1, n_rows))
        block = cores * block_rows * (size * (width + 8 * kernel.scratch) + 32 * columns)
        matrix = size**2 * (width + 16)
        memory = matrix + block + space
        values, stored = n_rows * size * width, 0
        keep = solver.keep is True or (solver.keep == "auto" and memory + values <= limit)
        sample = min(n_rows, solver.preconditioner or _sampled(rows, request, chosen, keep))
        memory += 16 * sample * columns
        memory += values if keep else 0
    if memory > limit:
        lower = "preconditioner of the solver" if chosen.dual else "n_components of the basis"
        if keep:  # set by the user: "auto" keeps only what fits
            lower += ", set keep='auto' in the solver"
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
        stored=int(stored),
        pilot=pilot,
        solver_reason="requested",
    )

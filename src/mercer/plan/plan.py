"""The plan of a fit: its sizes and its memory, decided before it starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from sklearn.base import clone

from mercer.bases import BasisTransformer, FullKernel, Landmarks
from mercer.bases.basis import tile_rows
from mercer.contracts import Precision, Reading
from mercer.engines import available_cores
from mercer.engines.memory import human_bytes, parse_memory
from mercer.plan.cost import PILOT
from mercer.precision import FLOAT64_WORK, starting_precision
from mercer.request import Request
from mercer.solvers import Ridge
from mercer.storage.state import PRECISION, Count, OneOf, Part, Share, State
from mercer.validation import MemoryLimitError, check_choice

#: Up to this many rows, "auto" is the full kernel: exact, and takes a second or two.
FULL_ROWS = 2000
#: The most landmarks of "auto", and rows for each: more than the default of a basis where they cost
#: little, since products need no M x M sums.
LANDMARKS, ROWS_EACH = 4000, 3
#: Beyond this many values of functions, "auto" takes the default of a basis.
VALUES = 4e8
#: Entries of a block of basis values.
BLOCK_ENTRIES = 2**22
#: Rows of a block for moments if memory allows: each block adds M x M numbers to the running sums,
#: which takes as long as the product of about 200 rows.
SUMMED_ROWS = 4096
#: Up to this many rows are one block.
FEW_ROWS = 1024

#: Upper bounds of threads, folds and rows per block: a stored plan beyond them is corrupt.
LARGEST = {"lanes": 4096, "block_rows": 2**24, "folds": 10_000}


@dataclass(frozen=True)
class Plan:
    """What a fit will do.

    Attributes
    ----------
    basis : BasisTransformer
        The unfitted basis, with its final size.
    size : int
        M, the number of functions.
    precision : "float32" or "float64"
        Of blocks and their products.
    may_widen : bool
        Whether the basis may switch from float32 to float64 if its functions need it.
    block_rows : int
        Rows evaluated at a time by one thread.
    lanes : int
        Number of threads, each with its own sums.
    folds : int
        Number of folds in which moments are kept.
    memory : int
        Estimated peak, in bytes, in addition to the process and its data.
    memory_limit : int
        The largest peak allowed, in bytes.
    reason : str
        Why this basis and this precision.
    held_out : float or None
        The share of rows in the second of two folds; None means folds of equal size.
    sample : int
        For a solve by products: rows of the preconditioner, or its rank; 0 for one by moments.
    keep : bool
        Whether a solve by products stores the basis values of all rows.
    stored : int
        Bytes for values of the full kernel that a solve by products stores.
    pilot : Plan or None
        The plan of a smaller fit that chooses alpha for a solve by products, or for the scores by
        which functions are drawn.
    solver_reason : str
        Why this solver.
    """

    state = State(
        basis=Part(BasisTransformer),
        precision=PRECISION,
        **{name: Count(most=largest) for name, largest in LARGEST.items()},
        held_out=Share(optional=True, must="held_out must be a share of the rows, got {value}"),
        pilot=OneOf((None,), must="pilot must not be a part of a stored plan"),
    )
    basis: BasisTransformer
    size: int
    precision: Precision
    block_rows: int
    lanes: int
    folds: int
    memory: int
    memory_limit: int
    reason: str
    may_widen: bool = False
    held_out: float | None = None
    sample: int = 0
    keep: bool = False
    stored: int = 0
    pilot: Plan | None = None
    solver_reason: str = ""

    @property
    def form(self) -> str:
        """The form of the system: by moments, kernel matrix, products or kernel products."""
        if self.basis.dual:
            return "kernel products" if self.sample else "kernel matrix"
        return "products" if self.sample else "moments"

    @property
    def reading(self) -> Reading:
        """How a pass reads the rows."""
        return Reading(self.block_rows, self.lanes, self.folds, self.held_out)


class Shape(Protocol):
    """The size of the data, as needed by a plan."""

    @property
    def n_rows(self) -> int:
        """n."""

    @property
    def n_features(self) -> int:
        """d."""

    @property
    def row_values(self) -> float:
        """The values of a row on average: d, or fewer if rows are sparse."""

    @property
    def one_place(self) -> bool:
        """Whether all rows are in one place, rather than in shards."""


@dataclass(frozen=True)
class Sized:
    """A number of rows and columns."""

    n_rows: int
    n_features: int
    one_place: bool = True

    @property
    def row_values(self) -> float:
        """d."""
        return self.n_features


def chosen_basis(rows: Shape, request: Request, limit: int) -> tuple[BasisTransformer, str]:
    """Return an unfitted basis and the reason: the requested one, or the largest for the rows."""
    wanted, n_rows = request.basis, rows.n_rows
    if wanted is not None and not wanted.grows:
        if wanted.dual and request.needs_sums:
            return Landmarks(n_rows), "requested: the full kernel, as one landmark per row"
        return clone(wanted), request.basis_reason
    small = wanted is None and n_rows <= FULL_ROWS and not request.needs_sums
    if small and dual_memory(rows) <= limit:
        return FullKernel(), f"the exact kernel is affordable up to {FULL_ROWS} rows"
    landmarks = Landmarks() if wanted is None else clone(wanted).set_params(n_components=None)
    if request.needs_sums:
        return landmarks, "landmarks, whose sums can be added over rows"
    size = landmarks.wanted_size(n_rows)
    by_products = request.solver is None or request.solver.needs == "products"
    if by_products and n_rows * LANDMARKS <= VALUES:
        size = max(size, min(LANDMARKS, n_rows // ROWS_EACH))
    reason = f"landmarks: more than {FULL_ROWS} rows" if wanted is None else request.basis_reason
    return landmarks.resized(size), reason


def make_plan(rows: Shape, request: Request) -> Plan:
    """Choose basis, precision and block sizes; raise MemoryLimitError if they do not fit."""
    check_choice(request.dtype, "dtype", ["auto", "float32", "float64"])
    limit = parse_memory(request.memory_limit)
    n_rows = rows.n_rows
    chosen, reason = chosen_basis(rows, request, limit)
    size = chosen.wanted_size(n_rows)
    if chosen.dual:
        memory = dual_memory(rows)
        if memory > limit:
            raise MemoryLimitError(
                f"the full kernel of {n_rows} rows needs about {human_bytes(memory)}, over the "
                f"memory_limit of {human_bytes(limit)}: use basis='landmarks', fewer rows, or "
                f"raise memory_limit"
            )
        return Plan(chosen, n_rows, "float64", 1, 1, 1, memory, limit, reason)
    folds, held_out = request.dealing(n_rows)
    first = Plan(chosen, size, "float64", 1, 1, folds, 0, limit, reason, held_out=held_out)
    plan = _sized(first, rows, request)
    if plan.memory > limit and folds > request.folds:
        # Rather leave no rows out than make the model smaller.
        first = replace(first, folds=request.folds, held_out=request.held_out)
        plan = _sized(first, rows, request)
    wanted = request.basis
    automatic = wanted is None or wanted.grows or chosen.automatic_size
    if plan.memory > limit and automatic:
        while plan.memory > limit and plan.size > 100:
            smaller = replace(plan, size=max(100, int(plan.size * 0.8)))
            plan = _sized(smaller, rows, request)
        plan = replace(plan, reason=f"{reason}; {plan.size} functions fit the memory limit")
    if plan.memory > limit:
        raise MemoryLimitError(
            f"the fit needs about {human_bytes(plan.memory)} for {plan.size} functions, over the "
            f"memory_limit of {human_bytes(limit)}: lower n_components of "
            f"the basis, or raise memory_limit"
        )
    if automatic and plan.size != size:
        plan = replace(plan, basis=chosen.resized(plan.size))
    if chosen.scores_at_alpha and request.open_alpha:
        plan = replace(plan, pilot=pilot_plan(rows, request, chosen, plan.size))
    return plan


def pilot_plan(rows: Shape, request: Request, chosen: BasisTransformer, size: int) -> Plan:
    """Return the plan of a smaller fit that chooses alpha, of functions that need none."""
    fewer = min(PILOT, size)
    uniform = chosen.dual or chosen.scores_at_alpha
    basis = Landmarks(fewer) if uniform else chosen.resized(fewer)
    return make_plan(rows, replace(request, basis=basis, solver=Ridge(), leave_out=None))


def _sized(plan: Plan, rows: Shape, request: Request) -> Plan:
    """Fill in precision, block size, threads and memory for the size of the plan."""
    size, n_rows, n_features = plan.size, rows.n_rows, rows.n_features
    kernel, dtype = request.kernel, request.dtype
    work = n_rows * float(size) * (size + (0 if kernel.pairwise else rows.row_values))
    precision = starting_precision(dtype, kernel.bounded, work > FLOAT64_WORK)
    width = plan.basis.width(n_rows)
    wide = width > plan.basis.wanted_size(n_rows)
    entries = width if wide else size
    fitting = BLOCK_ENTRIES // max(1, entries)
    block_rows = even_blocks(n_rows, max(512 if wide else SUMMED_ROWS, min(8192, fitting)))
    lanes = min(available_cores(), max(1, n_rows // block_rows))
    resident = plan.basis.resident_bytes(n_rows, n_features, size, kernel)
    if kernel.pairwise:
        n_features = 0  # the matrix is already in memory
    scratch = kernel.scratch + plan.basis.scratch
    if wide:
        # Every core holds the kernel values of only a few rows, and either the scratch blocks of
        # the kernel or two transforms of the values.
        tile = min(n_rows, tile_rows(width)) * width
        resident += available_cores() * 8 * (1 + max(kernel.scratch, 2)) * tile
        scratch = 0
    widest: Precision = "float64" if dtype == "auto" else precision
    while True:
        plan = replace(plan, block_rows=block_rows, lanes=lanes)
        memory = resident + _primal_memory(plan, widest, scratch, n_features, request)
        if memory <= plan.memory_limit or (lanes == 1 and block_rows <= 512):
            break
        if lanes > 1:
            lanes -= 1
        else:
            block_rows = max(512, block_rows // 2)
    return replace(plan, precision=precision, memory=memory, may_widen=dtype == "auto")


def even_blocks(n_rows: int, most: int) -> int:
    """Return how many rows a block has so that every core gets as many blocks of at most ``most``.

    >>> even_blocks(100, 4096)
    100
    """
    if n_rows <= FEW_ROWS:
        return max(1, min(n_rows, most))
    rounds = -(-n_rows // (most * available_cores()))
    return -(-n_rows // (rounds * available_cores()))


def _primal_memory(
    plan: Plan, precision: Precision, scratch: int, n_features: int, request: Request
) -> int:
    """Return the peak bytes of accumulation or solve, whichever is larger."""
    size, block_rows, lanes, folds = plan.size, plan.block_rows, plan.lanes, plan.folds
    outputs = request.outputs
    square, width = 8 * size**2, 4 if precision == "float32" else 8
    # A thread holds a block of values, the part of them that orthogonalization changes, the scratch
    # blocks of the kernel, and the block of rows in float64 twice.
    block = block_rows * (size * (2 * width + 8 * scratch) + 16 * n_features + 16 * outputs)
    lane = square * folds + width * size**2 + block
    reading = 4 * lanes * folds * block_rows * 8 * (n_features + outputs)
    # The factor of Gamma stays in memory throughout.
    accumulate = lanes * lane + reading + 2 * square
    # The factor of Gamma and its orthogonalized form, S, A, the eigendecomposition, and the folds.
    # A second pass for leave-one-out evaluates and rotates blocks again.
    solve = square * (8 + folds) + 8 * size * (n_features + 30 * outputs)
    if request.reads_twice:
        solve += lanes * (width * size**2 + 2 * block + block_rows * 500 * outputs)
    return int(max(accumulate, solve))


def dual_memory(rows: Shape) -> int:
    """Return the peak bytes of the dual solve: K, its factor or eigenvectors, and workspace."""
    return int(8 * rows.n_rows**2 * 6 + 16 * rows.n_rows * rows.n_features)

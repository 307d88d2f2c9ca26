"""The sizes of a fit, and the memory it needs, before any work is done."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from mercer.bases import BasisTransformer, FullKernel, Landmarks, as_basis
from mercer.bases.base import tile_rows
from mercer.contracts import Precision, RowSource
from mercer.engines import available_cores
from mercer.engines.memory import available_memory
from mercer.kernels import Kernel, Precomputed
from mercer.validation import MemoryLimitError, check_choice, check_count, check_number

#: Rows up to which the full kernel is the automatic basis: exact, and a second or two.
FULL_ROWS = 2000
#: Multiply-adds (n M^2) below which float64 costs less than about half a second.
FLOAT64_WORK = 2e10
#: Entries of a block of basis values: about what a core's share of the last-level cache holds.
BLOCK_ENTRIES = 2**22

#: More threads, folds or rows a block than any machine has use for: a plan beyond is damaged.
LARGEST = {"lanes": 4096, "block_rows": 2**24, "folds": 10_000}
_UNITS = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20}
_UNITS |= {"gib": 2**30, "tib": 2**40}


def parse_memory(limit: Any) -> int:
    """Return a memory limit in bytes; "auto" is half of what is free now.

    >>> parse_memory("1.5GB"), parse_memory(2000)
    (1500000000, 2000)
    """
    if isinstance(limit, str) and limit != "auto":
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]*)\s*", limit)
        if match is None or match[2].lower() not in _UNITS:
            raise ValueError(
                f"memory_limit must be a number of bytes, a size such as '2GB' or '500MB', or "
                f"'auto', got {limit!r}"
            )
        limit = float(match[1]) * _UNITS[match[2].lower()]
    if isinstance(limit, str):
        return available_memory() // 2
    return int(check_number(limit, "memory_limit", above=0.0, hint="; for example '2GB'"))


def human_bytes(number: float) -> str:
    """Write bytes for people.

    >>> human_bytes(1.5e9)
    '1.5 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


@dataclass(frozen=True)
class Plan:
    """What a fit will do.

    Attributes
    ----------
    basis : BasisTransformer
        The unfitted basis, its size decided.
    size : int
        M, the number of functions.
    precision : "float32" or "float64"
        Of blocks and their products.
    may_widen : bool
        Whether the basis may turn float32 into float64, where its functions ask for it.
    block_rows : int
        Rows evaluated at a time by one lane.
    lanes : int
        Threads, each with sums of its own.
    folds : int
        Pieces that moments are kept in.
    memory : int
        Estimated peak, in bytes, above what the process and its data hold already.
    memory_limit : int
        What it may be.
    reason : str
        Why this basis and this precision.
    held_out : float or None
        The share of rows in the second of two pieces; None deals them evenly.
    sample : int
        For a solve by products: rows of the preconditioner, or its rank; 0 for one by moments.
    keep : bool
        Whether a solve by products keeps the values of all rows.
    pilot : Plan or None
        The plan of a smaller fit that chooses alpha for a solve by products.
    solver_reason : str
        Why this solver, where it was chosen.
    """

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
    pilot: Plan | None = None
    solver_reason: str = ""

    def check_state(self) -> None:
        """Refuse numbers that no plan has."""
        if self.precision not in ("float32", "float64"):
            raise ValueError(f"precision must be float32 or float64, got {self.precision!r}")
        for name, largest in LARGEST.items():
            if check_count(getattr(self, name), name) > largest:
                raise ValueError(f"{name} must be at most {largest}, got {getattr(self, name)}")
        if self.held_out is not None and not 0 < self.held_out < 1:
            raise ValueError(f"held_out must be a share of the rows, got {self.held_out}")


def chosen_basis(
    basis: Any, n_rows: int, n_features: int, limit: int, fixed_basis: bool
) -> tuple[BasisTransformer, str]:
    """Return an unfitted basis, and why: a copy of what was asked for, or what suits the rows."""
    if not (isinstance(basis, str) and basis == "auto"):
        asked = as_basis(basis)
        if asked.dual and fixed_basis:
            return Landmarks(n_rows), "asked for: the full kernel as a landmark at every row"
        return clone(asked), "asked for"
    small = n_rows <= FULL_ROWS and not fixed_basis
    if small and _dual_memory(n_rows, n_features) <= limit:
        return FullKernel(), f"the exact kernel is affordable up to {FULL_ROWS} rows"
    if fixed_basis:
        return Landmarks(), "landmarks, whose sums over rows add"
    return Landmarks(), f"landmarks: more than {FULL_ROWS} rows"


def make_plan(
    source: RowSource,
    kernel: Kernel,
    basis: Any,
    *,
    dtype: str,
    memory_limit: Any,
    outputs: int,
    folds: int = 1,
    held_out: float | None = None,
    second_pass: bool = False,
    fixed_basis: bool = False,
) -> Plan:
    """Decide basis, precision and block sizes, or say which parameter to lower.

    ``second_pass`` counts the memory of reading rows again for leave-one-out. ``fixed_basis`` asks
    for one that further rows can be added to (never the full kernel).
    """
    check_choice(dtype, "dtype", ["auto", "float32", "float64"])
    limit = parse_memory(memory_limit)
    n_rows = source.n_rows
    chosen, reason = chosen_basis(basis, n_rows, source.n_features, limit, fixed_basis)
    size = chosen.wanted_size(n_rows)
    if chosen.dual:
        memory = _dual_memory(n_rows, source.n_features)
        if memory > limit:
            raise MemoryLimitError(
                f"the full kernel of {n_rows} rows needs about {human_bytes(memory)}, over the "
                f"memory_limit of {human_bytes(limit)}: use basis='landmarks', fewer rows, or "
                f"raise memory_limit"
            )
        return Plan(chosen, n_rows, "float64", 1, 1, 1, memory, limit, reason)
    automatic = getattr(chosen, "n_components", None) is None and isinstance(
        getattr(chosen, "sampling", ""), str
    )
    plan = _sized(
        Plan(chosen, size, "float64", 1, 1, folds, 0, limit, reason, held_out=held_out),
        n_rows,
        kernel,
        dtype,
        source.n_features,
        outputs,
        second_pass,
    )
    if plan.memory > limit and automatic:
        while plan.memory > limit and plan.size > 100:
            plan = _sized(
                replace(plan, size=max(100, int(plan.size * 0.8))),
                n_rows,
                kernel,
                dtype,
                source.n_features,
                outputs,
                second_pass,
            )
        plan = replace(plan, reason=f"{reason}; {plan.size} functions fit the memory limit")
    if plan.memory > limit:
        raise MemoryLimitError(
            f"the fit needs about {human_bytes(plan.memory)} for {plan.size} functions, over the "
            f"memory_limit of {human_bytes(limit)}: lower n_components of "
            f"the basis, or raise memory_limit"
        )
    if automatic and plan.size != size:
        plan = replace(plan, basis=chosen.resized(plan.size))
    return plan


def _sized(
    plan: Plan,
    n_rows: int,
    kernel: Kernel,
    dtype: str,
    n_features: int,
    outputs: int,
    second_pass: bool,
) -> Plan:
    """Fill in precision, blocks, lanes and memory for the plan's size."""
    size = plan.size
    precision: Precision = "float64"
    if dtype == "float32" or (
        dtype == "auto" and kernel.bounded and n_rows * float(size) ** 2 > FLOAT64_WORK
    ):
        precision = "float32"
    width = plan.basis.width(n_rows)
    wide = width > plan.basis.wanted_size(n_rows)
    entries = width if wide else size
    block_rows = min(max(512, min(8192, BLOCK_ENTRIES // max(1, entries))), max(1, n_rows))
    lanes = min(available_cores(), max(1, n_rows // block_rows))
    resident = plan.basis.resident_bytes(n_rows, n_features, size, kernel)
    if isinstance(kernel, Precomputed):
        n_features = 0  # the matrix is in memory already
    # Random features compute phases, then functions of them.
    scratch = kernel.scratch + (not isinstance(plan.basis, Landmarks))
    if wide:
        # Every core holds the kernel values of a few rows only, and either what the kernel needs
        # on its way or two transforms of them.
        tile = min(n_rows, tile_rows(width)) * width
        resident += available_cores() * 8 * (1 + max(kernel.scratch, 2)) * tile
        scratch = 0
    while True:
        widest: Precision = "float64" if dtype == "auto" else precision
        memory = resident + _primal_memory(
            size, widest, block_rows, lanes, plan.folds, scratch, n_features, outputs, second_pass
        )
        if memory <= plan.memory_limit or (lanes == 1 and block_rows <= 512):
            break
        if lanes > 1:
            lanes -= 1
        else:
            block_rows = max(512, block_rows // 2)
    return replace(
        plan,
        precision=precision,
        block_rows=block_rows,
        lanes=lanes,
        memory=memory,
        may_widen=dtype == "auto",
    )


def _primal_memory(
    size: int,
    precision: Precision,
    block_rows: int,
    lanes: int,
    folds: int,
    scratch: int,
    n_features: int,
    outputs: int,
    second_pass: bool,
) -> int:
    """Peak bytes of accumulation or solve, whichever is more."""
    square, width = 8 * size**2, 4 if precision == "float32" else 8
    # A lane holds a block of values, one of the same shape for grading, what the kernel needs on
    # its way, and the block of rows in float64 twice.
    block = block_rows * (size * (2 * width + 8 * scratch) + 16 * n_features + 16 * outputs)
    lane = square * folds + width * size**2 + block
    reading = 4 * lanes * folds * block_rows * 8 * (n_features + outputs)
    # The factor of Gamma stays throughout.
    accumulate = lanes * lane + reading + 2 * square
    # Gamma's factor, its graded form, S, A, and the eigendecomposition; folds stay beside. A second
    # pass for leave-one-out evaluates blocks again, and rotates them.
    solve = square * (8 + folds) + 8 * size * (n_features + 30 * outputs)
    if second_pass:
        solve += lanes * (width * size**2 + 2 * block + block_rows * 500 * outputs)
    return int(max(accumulate, solve))


def _dual_memory(n_rows: int, n_features: int) -> int:
    """Peak bytes of the dual solve: K, its factor or eigenvectors, and work space."""
    return int(8 * n_rows**2 * 6 + 16 * n_rows * n_features)

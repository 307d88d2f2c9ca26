"""The contracts between the parts: one page to read before any other.

::

    rows -> basis -> moments -> system -> solver -> model

A *source* yields blocks of rows; a *basis* turns a block into values of M functions; *moments* are
sums of those values over rows; a *system* is ``(A + alpha) v = b``, from moments or otherwise; a
*solver* finds v; the *model* is basis and coefficients. Each part knows the one before it and none
of those after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Rows: TypeAlias = Any  # a dense (n, d) array or scipy's CSR rows
Precision: TypeAlias = Literal["float32", "float64"]


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows of a source: ``X`` (rows, d), and ``y``, ``weight`` and ``query`` if it has.

    A source with queries says so by ``has_query``, and yields them by ``queries(rows)``.
    """

    start: int
    X: Rows
    y: Array | None = None
    weight: Array | None = None
    query: Array | None = None

    @property
    def n_rows(self) -> int:
        """How many rows the block holds."""
        return int(self.X.shape[0])


@runtime_checkable
class RowSource(Protocol):
    """Where rows come from. It can be read any number of times, in blocks, and pickled."""

    n_rows: int
    n_features: int
    feature_names: list[str] | None
    has_target: bool

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield y alone, in blocks, without reading the columns of X where that can be avoided."""

    def split(self, parts: int) -> list[RowSource]:
        """Return ``parts`` sources of consecutive rows that together are this one."""

    @property
    def resident_bytes(self) -> int:
        """Bytes this source keeps in memory while it is read, beyond the blocks it yields."""


class BlockKernel(Protocol):
    """A kernel with its second argument fixed: ``evaluate(X, out)`` is K(X, Z)."""

    def __call__(self, X: Rows, out: Array | None = None) -> Array:
        """Return K(X, Z) of shape (rows of X, rows of Z)."""


class Status(Enum):
    """How a solve ended, in words that a person understands."""

    SOLVED = "solved directly"
    RANK_REDUCED = "solved on the numerically independent part of the basis"
    CONVERGED = "converged to the tolerance"
    STOPPED_EARLY = "stopped early by its rule"
    ITERATION_LIMIT = "reached the iteration limit before the tolerance"
    BREAKDOWN = "stopped by a numerical break-down; the best iterate is returned"
    COARSE = "solved, but float32 is too coarse for these functions"
    DIVERGED = "the rounds diverge; the best of them is returned"
    INTERRUPTED = "interrupted; the best solution so far is returned"

    @property
    def succeeded(self) -> bool:
        """Whether the solution is what was asked for."""
        return self in (
            Status.SOLVED,
            Status.RANK_REDUCED,
            Status.CONVERGED,
            Status.STOPPED_EARLY,
        )


@dataclass(frozen=True)
class Solution:
    """What a solver found and how.

    Attributes
    ----------
    value : array of shape (r, k)
        The solution v of ``(A + alpha I) v = b``, a column an output.
    status : Status
        How the solve ended.
    reason : str
        One sentence with the particulars.
    steps : int
        Iterations made; 0 for a direct solve.
    residuals : array
        Relative residual ``||(A + alpha) v - b|| / ||b||`` after each step (one value if direct).
    seconds : float
        Wall time of the solve.
    """

    value: Array
    status: Status
    reason: str = ""
    steps: int = 0
    residuals: Array = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0


class System(Protocol):
    """``(A + alpha) v = b`` for any alpha, with A symmetric positive semi-definite.

    What else a system has, it declares in ``offers``, and a solver declares what it ``needs``:

    - ``"matrix"``: ``cholesky(alpha)`` and ``spectrum``, a direct solve for any alpha;
    - ``"steps"``: ``at(alpha)`` with an inner product, for iterations that are stopped early;
    - ``"products"``: ``product(V)`` and ``precondition(R)`` for one alpha, never a matrix.
    """

    offers: frozenset[str]

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return coefficients (M, k) of the basis and the intercept (k,) for a solution v."""


class IteratedSystem(Protocol):
    """``(A + alpha) v = b`` for A self-adjoint in the inner product ``u' metric(v)``."""

    @property
    def b(self) -> Array:
        """The right-hand side; shape (r, k)."""

    @property
    def alpha(self) -> float:
        """The penalty that is added to A."""

    def metric(self, V: Array) -> Array:
        """Return G V, so that column by column the inner product is ``U'GV``."""

    def apply(self, V: Array, GV: Array) -> Array:
        """Return ``(A + alpha) V``, given G V."""


class PreconditionedSystem(Protocol):
    """A positive definite system known by products."""

    @property
    def b(self) -> Array:
        """The right-hand side; shape (r, k)."""

    def product(self, V: Array, exact: bool) -> Array:
        """Return the system times V, exactly or fast."""

    def precondition(self, R: Array) -> Array:
        """Return the system's approximate inverse times R."""

    @property
    def mixed(self) -> bool:
        """Whether fast products are coarser than exact ones."""


#: Returns the error of a solution: on rows that were fitted, or on others.
ErrorOf: TypeAlias = "Callable[[Array], float]"
#: Called after each step with the step, the most steps there can be, and a note.
StepProgress: TypeAlias = "Callable[[int, int, str], None]"


@dataclass(frozen=True)
class Reading:
    """How a pass reads the rows of a shard, and in how many pieces its sums are kept.

    ``held_out`` is the share of rows in the second of two pieces; None deals them evenly.
    """

    block_rows: int
    lanes: int = 1
    folds: int = 1
    held_out: float | None = None


class Progress(Protocol):
    """Called with how far a stage is: so many of so many rows, or steps, and a note."""

    def __call__(
        self, stage: str, done: int, total: int, unit: str = "rows", note: str = ""
    ) -> None:
        """Show it."""


class Targets(Protocol):
    """Turns y as the user has it into columns of numbers of order one."""

    @property
    def outputs(self) -> int:
        """k, the number of columns."""

    @property
    def scale(self) -> Array:
        """What one unit of an encoded column is in the user's units; shape (k,)."""

    def encode(self, y: Array, start: int) -> Array:
        """Return y of shape (rows, k) in float64."""

    @property
    def pairs(self) -> Any:
        """The weights of pairs (PairWeights) where the loss is over pairs within queries."""

    @property
    def ranks(self) -> bool:
        """Whether the loss is one of pairs of rows."""

    @property
    def seed(self) -> int:
        """Deals queries to folds."""

    def codes(self, block: RowBlock) -> Array:
        """Return the number of each row's query."""

    def within(self, source: RowSource) -> Targets:
        """Return the targets of a fit to only these rows."""

    def stored(self) -> Targets:
        """Return what a fitted model needs of them."""

    def share(self, weight: float) -> float:
        """Return what a fit to rows of this weight counts in an average of models."""


class Seeds(Protocol):
    """Where the random draws of a fit come from."""

    def basis(self) -> np.random.Generator:
        """Return the generator that functions are drawn with."""

    def features(self) -> np.random.Generator:
        """Return the generator that chooses among candidates."""

    def rows(self) -> int:
        """Return the base of the shards' seeds, which deal rows to folds."""

    def solve(self) -> np.random.Generator:
        """Return the generator of whatever the choice of alpha or the solver draws."""


class Shape(Protocol):
    """As much of the rows as a plan needs to know."""

    @property
    def n_rows(self) -> int:
        """n."""

    @property
    def n_features(self) -> int:
        """d."""


class TargetKind(Protocol):
    """Checks y, and makes the targets of a fit: from rows in one place, or from summaries."""

    @property
    def ranks(self) -> bool:
        """Whether the loss is one of pairs of rows."""

    def check(self, y: Any) -> Array:
        """Return y as an array, or say what is wrong with it."""

    def of_source(self, source: RowSource) -> Targets:
        """Return the targets of rows in one place."""

    @property
    def summarize(self) -> Any:
        """The task that sums up y in a shard."""

    def pooled(self, summaries: Sequence[Any]) -> Targets:
        """Return the targets that the summaries of all shards describe."""

    def check_shards(self, summaries: Sequence[Any], whole_queries: bool) -> None:
        """Refuse shards that split what must stay whole."""


#: Called with a stage, and how many of how many shards are done with it.
ShardProgress: TypeAlias = "Callable[[str, int, int], None]"


class Engine(Protocol):
    """Runs tasks over shards, here or elsewhere. It knows no mathematics.

    A task is a function that can be imported, called as ``task(item, *common)``; ``items`` are
    shards, or what a task made of each.
    """

    progress: ShardProgress | None

    @property
    def width(self) -> int:
        """How many tasks run at a time."""

    def place(self, items: Sequence[Any]) -> list[Any]:
        """Return items as tasks take them: in this process themselves, elsewhere references."""

    def share(self, value: Any) -> Any:
        """Return a value that many tasks take, to be sent once."""

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """Run a task over items and leave each result where it was made."""

    def map(
        self,
        task: Callable[..., Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
        light: bool = False,
    ) -> list[Any]:
        """Run a task over items; return the results, in the order of the items.

        ``light`` says that it takes milliseconds, less than it takes to send.
        """

    def reduce(
        self,
        task: Callable[..., Any],
        add: Callable[[Any, Any], Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
    ) -> Any:
        """Run a task over items and add the results, as a tree of fixed shape."""

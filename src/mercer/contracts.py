"""The interfaces between the parts. Read this first.

::

    rows -> columns -> metric -> basis -> moments -> system -> solver -> model

A *source* yields blocks of rows, whose *columns* become numbers; a *basis* turns them into values
of M functions; *moments* are their sums over rows; a *system* is ``(A + alpha) v = b``; a *solver*
computes v; the *model* is basis and coefficients. Each part depends only on those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")  # the result of a task
Array: TypeAlias = NDArray[Any]
Rows: TypeAlias = Any  # a dense (n, d) array or a SciPy CSR matrix
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"
Precision: TypeAlias = Literal["float32", "float64"]
Penalty: TypeAlias = "float | Array"  # one alpha, or one for each of k outputs, of shape (k,)


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows of a source: ``X`` (rows, d), and optional ``y``, ``weight``, ``query``.

    A source with queries has ``has_query`` set, and yields them from ``queries(rows)``.
    """

    start: int
    X: Rows
    y: Array | None = None
    weight: Array | None = None
    query: Array | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows in the block."""
        return int(self.X.shape[0])


class ReadableRows(Protocol):
    """Rows that functions are chosen from: those of a source, or all rows of a fit."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def n_features(self) -> int:
        """The number of columns."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, if they have any."""

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""


@runtime_checkable
class RowSource(Protocol):
    """A source of rows. It can be read repeatedly, in blocks, and pickled."""

    n_rows: int
    n_features: int
    feature_names: list[str] | None
    has_target: bool

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y, in blocks, without reading the columns of X if possible."""

    def split(self, parts: int) -> list[RowSource]:
        """Split into ``parts`` sources of consecutive rows."""

    @property
    def resident_bytes(self) -> int:
        """Bytes that the source holds in memory while it is read, besides the yielded blocks."""


class BlockKernel(Protocol):
    """A kernel with its second argument fixed: ``evaluate(X, out)`` is K(X, Z)."""

    def __call__(self, X: Rows, out: Array | None = None) -> Array:
        """Return K(X, Z) of shape (rows of X, rows of Z)."""


class BlockGradient(Protocol):
    """Gradients of ``f_o(x) = sum_j c_jo K(x, z_j)`` with the points fixed."""

    def __call__(self, X: Rows, C: Array, weight: Array | None = None) -> Array:
        """Return ``sum_j weight_ij C_jo dK(x_i, z_j)/dx_i``, of shape (k, rows, d)."""


class Status(Enum):
    """How a solve ended; the value is a phrase for messages."""

    SOLVED = "solved directly"
    RANK_REDUCED = "solved on the numerically independent part of the basis"
    CONVERGED = "converged to the tolerance"
    STOPPED_EARLY = "stopped early by its rule"
    ITERATION_LIMIT = "reached the iteration limit before the tolerance"
    ROUNDING_LIMIT = "stopped by rounding with a small residual, but perhaps a larger error"
    BREAKDOWN = "stopped by a numerical breakdown; the best iterate is returned"
    COARSE = "solved, but float32 is too coarse for these functions"
    DIVERGED = "the rounds diverge"
    INTERRUPTED = "interrupted; the best solution so far is returned"

    def __reduce__(self) -> tuple[Any, ...]:
        return Status, (self.value,)  # skops stores by it what pickle stores by __reduce_ex__

    @property
    def succeeded(self) -> bool:
        """Whether the solve succeeded."""
        return self in (Status.SOLVED, Status.RANK_REDUCED, Status.CONVERGED, Status.STOPPED_EARLY)


@dataclass(frozen=True)
class Solution:
    """The result of a solver.

    Attributes
    ----------
    value : array of shape (r, k)
        The solution v of ``(A + alpha I) v = b``, one column per output.
    status, reason : Status, str
        How the solve ended, and one sentence with the details.
    steps, seconds : int, float
        Number of iterations, 0 for a direct solve, and wall time.
    residuals : array
        Relative residual ``||(A + alpha) v - b|| / ||b||`` after each step (one value if direct).
    gain : array of shape (k,) or None
        ``2 b'v - v'(A + alpha)v`` of a solve by products, which has A at no other time.
    """

    value: Array
    status: Status
    reason: str = ""
    steps: int = 0
    residuals: Array = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0
    gain: Array | None = None


class System(Protocol):
    """``(A + alpha) v = b`` for any alpha, with A symmetric positive semi-definite.

    A system declares what it ``offers``, and a solver what it ``needs``:

    - ``"matrix"``: ``cholesky(alpha)`` and ``decomposition``, a direct solve for any alpha;
    - ``"steps"``: ``at(alpha)`` with an inner product, for iterations that are stopped early;
    - ``"products"``: ``product(V)`` and ``precondition(R)`` for one alpha, never a matrix.
    """

    offers: frozenset[str]

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return coefficients (M, k) of the basis and the intercept (k,) for a solution v."""


class IteratedSystem(Protocol):
    """``(A + alpha) v = b`` with A self-adjoint in the inner product ``u' metric(v)``."""

    @property
    def b(self) -> Array:
        """The right-hand side; shape (r, k)."""

    @property
    def alpha(self) -> float:
        """The penalty added to A."""

    def metric(self, V: Array) -> Array:
        """Return G V, where the inner product of columns u and v is ``u'Gv``."""

    def apply(self, V: Array, GV: Array) -> Array:
        """Return ``(A + alpha) V``, given G V."""


class PreconditionedSystem(Protocol):
    """A positive definite system ``A x = b`` given by products and a preconditioner."""

    @property
    def b(self) -> Array:
        """The right-hand side; shape (r, k)."""

    def product(self, V: Array, exact: bool) -> Array:
        """Return ``A V``, exactly or fast."""

    def precondition(self, R: Array) -> Array:
        """Return ``P^-1 R``, with P an approximation of A."""

    @property
    def mixed(self) -> bool:
        """Whether fast products have a lower precision than exact ones."""


#: Returns the error of a solution, on training or held-out rows.
ErrorOf: TypeAlias = "Callable[[Array], float]"
#: Called after each step with the step, the maximum number of steps, and a note.
StepProgress: TypeAlias = "Callable[[int, int, str], None]"


@dataclass(frozen=True)
class Reading:
    """How a pass reads the rows of a shard, and the number of folds of its sums."""

    block_rows: int
    lanes: int = 1
    folds: int = 1
    held_out: float | None = None  # share of rows outside the first fold; None: equal folds

    @property
    def few_left_out(self) -> bool:
        """Whether the first fold has most rows, and several others share the rest."""
        return self.held_out is not None and self.folds > 2


class Progress(Protocol):
    """Called with the progress of a stage: done and total rows or steps, and a note."""

    def __call__(
        self, stage: str, done: int, total: int, unit: str = "rows", note: str = ""
    ) -> None:
        """Report progress."""


class Targets(Protocol):
    """Encodes the user's y as numeric columns of order one."""

    @property
    def outputs(self) -> int:
        """k, the number of columns."""

    @property
    def scale(self) -> Array:
        """The size of one unit of an encoded column, in the units of y; shape (k,)."""

    @property
    def origin(self) -> Array:
        """The y of an encoded 0; shape (k,)."""

    @property
    def columns(self) -> bool:
        """Whether what has one value for each output has an axis for them."""

    @property
    def alpha_factor(self) -> float:
        """The user's alpha, divided by the alpha of the sum over rows."""

    def has_intercept(self, wanted: bool) -> bool:
        """Return whether a fit has an intercept, if one is wanted."""

    def encode(self, y: Array, start: int) -> Array:
        """Return y of shape (rows, k) in float64."""

    def values(self, y: Array, start: int) -> Array:
        """Return y as numbers of shape (rows, k) that depend on no other row."""

    @property
    def pairs(self) -> Any:
        """The pair weights (PairWeights) if the loss is over pairs within queries."""

    @property
    def ranks(self) -> bool:
        """Whether the loss is over pairs of rows."""

    @property
    def seed(self) -> int:
        """The seed that assigns queries to folds."""

    def codes(self, block: RowBlock) -> Array:
        """Return the query number of each row."""

    def within(self, source: RowSource) -> Targets:
        """Return the targets for a fit to only these rows."""

    def pairs_within(self, source: RowSource) -> Targets:
        """Return the targets of a shard whose pairs with other shards do not count."""

    def stored(self) -> Targets:
        """Return the part that a fitted model stores."""

    def share(self, weight: float) -> float:
        """Return the weight, in an average of models, of a fit to rows of this total weight."""


class TargetKind(Protocol):
    """Checks y, and makes the targets of a fit from rows or from summaries of shards."""

    @property
    def ranks(self) -> bool:
        """Whether the loss is over pairs of rows."""

    @property
    def classes(self) -> bool:
        """Whether y names classes, of which any text may be one."""

    def check(self, y: Any) -> Array:
        """Return y as an array; raise an error if it is invalid."""

    def of_source(self, source: RowSource) -> Targets:
        """Return the targets of rows in one place."""

    @property
    def summarize(self) -> Any:
        """The task that summarizes y in a shard."""

    def pooled(self, summaries: Sequence[Any]) -> Targets:
        """Return the targets from the summaries of all shards."""

    def check_shards(self, summaries: Sequence[Any], whole_queries: bool) -> None:
        """Raise ValueError if shards split a query that must be in one shard."""


#: Called with a stage, and the numbers of finished shards and of all shards.
ShardProgress: TypeAlias = "Callable[[str, int, int], None]"


class Engine(Protocol):
    """Runs tasks over shards, locally or on a cluster, independent of the mathematics.

    A task is an importable function, called as ``task(item, *common)``; ``items`` are shards, or
    the results of an earlier task.
    """

    progress: ShardProgress | None

    @property
    def width(self) -> int:
        """The number of tasks that run at a time."""

    def place(self, items: Sequence[object]) -> list[Any]:
        """Return what to pass to tasks: the items themselves, or references on a cluster."""

    def share(self, value: object) -> Any:
        """Return a value for many tasks, which is sent only once."""

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: object) -> list[Any]:
        """Run a task over items and leave each result where it was computed."""

    def map(
        self,
        task: Callable[..., T],
        items: Sequence[object],
        *common: object,
        label: str = "",
        light: bool = False,
    ) -> list[T]:
        """Run a task over items; return the results, in the order of the items.

        A ``light`` task takes milliseconds, less than sending it."""

    def reduce(
        self,
        task: Callable[..., T],
        add: Callable[[T, T], T],
        items: Sequence[object],
        *common: object,
        label: str = "",
    ) -> T:
        """Run a task over items and add the results, as a tree of fixed shape."""

"""The full kernel by products only: tiles of K, and only half of them, by symmetry.

.. math:: (K + N)\\, a = y, \\qquad N = \\lambda W \\operatorname{diag}(1/w),

preconditioned by ``F F' + N`` with a randomly pivoted Cholesky factor F of K, inverted by

.. math:: (F F' + N)^{-1} = N^{-1/2} \\big(I - G\\, (I + G'G)^{-1} G'\\big) N^{-1/2}, \\qquad
          G = N^{-1/2} F.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import blas, cho_factor, cho_solve

from mercer.contracts import Array, BlockKernel, Precision, Solution
from mercer.engines import Lanes, count_numbers
from mercer.engines.memory import large_array
from mercer.kernels import Kernel
from mercer.moments.products import padded_columns, slice_rows
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.systems.by_kernel_matrix import ABSENT
from mercer.systems.function_space import values_at

#: Rows and columns of a tile.
TILE_ROWS, TILE_COLUMNS = 1024, 4096
#: Rows of a tile multiplied at a time from both sides in exact products: they stay in cache.
SLICE = 128


class KernelProducts:
    """Products ``K(X, X) V`` in two precisions; only half of the symmetric K is evaluated.

    Tiles for fast products are evaluated once and stored, as many as there is room for.

    Parameters
    ----------
    kernel : Kernel
        The fitted kernel.
    X : array of shape (n, d)
        The rows; for a precomputed kernel the kernel matrix itself.
    precision : "float32" or "float64"
        Precision of fast products.
    room : int
        Bytes for stored tiles.
    """

    def __init__(self, kernel: Kernel, X: Array, precision: Precision, room: int = 0) -> None:
        self.kernel, self.X, self.precision = kernel, X, precision
        self._blocks: dict[str, list[Any]] = {}
        self._stored = _Store(0 if kernel.pairwise else room, precision)

    def product(self, V: Array, exact: bool) -> Array:
        """Return ``K V``, summed in float64."""
        precision: Precision = "float64" if exact else self.precision
        n_rows, outputs = V.shape
        blocks = self._against(precision)
        stored = None if exact and precision != self.precision else self._stored
        padded = np.zeros((padded_columns(outputs), n_rows), dtype=precision)
        padded[:outputs] = V.T
        step = SLICE if exact else slice_rows(len(padded))

        def add(total: Array, placed: tuple[_Tile, _Stored | None]) -> None:
            tile, known = placed
            columns = tile.columns
            K = np.empty((step, columns.stop - columns.start), dtype=precision)
            for start in range(tile.rows.start, tile.rows.stop, step):
                rows = slice(start, min(start + step, tile.rows.stop))
                if known is None:
                    part = blocks[tile.number](rows, columns, K[: rows.stop - start])
                else:
                    place = known.values[start - tile.rows.start :][: rows.stop - start]
                    part = place if known.filled else blocks[tile.number](rows, columns, place)
                total[:, rows] += padded[:, columns] @ part.T
                if rows.stop <= columns.start:  # strictly above the diagonal
                    total[:, columns] += padded[:, rows] @ part
            if known is not None:
                known.filled = True

        places = ((tile, stored.find(tile) if stored else None) for tile in _tiles(n_rows))
        lanes = Lanes(lambda: np.zeros(padded.shape)).run(places, add)
        return np.asarray(np.sum(lanes, axis=0)[:outputs].T)

    def _against(self, precision: Precision) -> list[Any]:
        """Return one evaluation function per column of tiles."""
        if precision not in self._blocks:
            X, made = self.X, []
            for column in range(0, len(X), TILE_COLUMNS):
                if self.kernel.pairwise:
                    made.append(partial(_taken, X))
                    continue
                block = self.kernel.against(X[column : column + TILE_COLUMNS], precision)
                made.append(partial(_evaluated, block, X))
            self._blocks[precision] = made
        return self._blocks[precision]


@dataclass(frozen=True)
class _Tile:
    """A tile of K on or above its diagonal."""

    number: int  # of its column of tiles
    rows: slice
    columns: slice


def _tiles(n_rows: int) -> Iterator[_Tile]:
    for number, column in enumerate(range(0, n_rows, TILE_COLUMNS)):
        end = min(n_rows, column + TILE_COLUMNS)
        for first, last in ((0, column), (column, end)):
            for row in range(first, last, TILE_ROWS):
                yield _Tile(number, slice(row, min(last, row + TILE_ROWS)), slice(column, end))


@dataclass
class _Stored:
    """The place for the values of a tile, and whether they are there."""

    values: Array
    filled: bool = False


class _Store:
    """Memory for the first tiles that ask for it."""

    def __init__(self, room: int, precision: Precision) -> None:
        self.room, self.precision = room, precision
        self._places: dict[tuple[int, int], _Stored] = {}

    def find(self, tile: _Tile) -> _Stored | None:
        """Return the place of a tile, or None if there is none."""
        key = (tile.number, tile.rows.start)
        if key not in self._places:
            shape = (tile.rows.stop - tile.rows.start, tile.columns.stop - tile.columns.start)
            size = shape[0] * shape[1] * np.dtype(self.precision).itemsize
            if size > self.room:
                return None
            self.room -= size
            self._places[key] = _Stored(large_array(shape, self.precision))
        return self._places[key]


def stored_bytes(n_rows: int, width: int) -> int:
    """Return the bytes of all tiles, of values of this many bytes.

    >>> stored_bytes(4096, 4), stored_bytes(8192, 4)
    (67108864, 201326592)
    """
    tiles = -(-n_rows // TILE_COLUMNS)
    return width * sum(
        min(n_rows, (k + 1) * TILE_COLUMNS) * min(TILE_COLUMNS, n_rows - k * TILE_COLUMNS)
        for k in range(tiles)
    )


def _evaluated(block: BlockKernel, X: Array, rows: slice, columns: slice, out: Array) -> Array:
    return block(X[rows], out)


def _taken(X: Array, rows: slice, columns: slice, out: Array) -> Array:
    out[...] = X[rows, columns]
    return out


class ShardedKernelProducts:
    """Products ``K(X, X) V`` over shards: each shard holds all points and multiplies its own rows.

    Parameters
    ----------
    rows : RowSet
        The shards.
    kernel : Kernel
        The fitted kernel.
    X : array of shape (n, d)
        The rows of all shards, by their numbers.
    precision : "float32" or "float64"
        Precision of fast products.
    """

    def __init__(self, rows: RowSet, kernel: Kernel, X: Array, precision: Precision) -> None:
        self.precision, self._rows = precision, rows
        points = rows.share(X, "points")
        self._held = rows.hold(kernel_rows_of, kernel, points, rows.slices)

    def product(self, V: Array, exact: bool) -> Array:
        """Return ``K V``, summed in float64."""
        precision: Precision = "float64" if exact else self.precision
        parts = self._held.map(
            kernel_product_of, V, precision, record="product", to_shard=count_numbers(V)
        )
        return self._rows.by_number(parts)


@dataclass
class KernelRows:
    """The points of all shards, and which are those of a shard."""

    kernel: Kernel
    points: Array
    own: Array | slice


def kernel_rows_of(
    shard: Shard, kernel: Kernel, points: Array, slices: dict[int, slice]
) -> KernelRows:
    """Return what a shard keeps for products with its rows of K: a task."""
    return KernelRows(
        kernel, points, slices[shard.number] if shard.origin is None else shard.origin
    )


def kernel_product_of(rows: KernelRows, V: Array, precision: Precision) -> Array:
    """Task: return a shard's rows of ``K V``."""
    block = rows.kernel.against(rows.points, precision)
    return values_at(block, rows.points[rows.own], V.astype(precision))


class KernelProductSystem:
    """``(K + N) A = [Y, 1]`` with ``N = lambda W diag(1/w)``; the last column gives the intercept.

    Parameters
    ----------
    products : KernelProducts or ShardedKernelProducts
        Products with the kernel matrix.
    Y, weight : arrays of shape (n, k) and (n,)
        Targets and positive weights.
    alpha : float
        The penalty.
    intercept : bool
        Whether to fit an intercept.
    F : array of shape (n, r)
        A low-rank factor of K, in Fortran order; it is overwritten.
    value_rounding : float
        The root mean square rounding of values of K in float64.
    """

    offers = frozenset({"products"})
    #: Default tolerance of the relative error in f: tight, because the kernel is exact.
    tolerance = 1e-5
    #: K is at least F F', so no eigenvalue of ``P^-1 A`` is below 1.
    weakest = 1.0

    def __init__(
        self,
        products: KernelProducts | ShardedKernelProducts,
        Y: Array,
        weight: Array,
        alpha: float,
        intercept: bool,
        F: Array,
        value_rounding: float = float(np.finfo(np.float64).eps),
    ) -> None:
        self.products, self.alpha, self._intercept = products, alpha, intercept
        self._value_rounding = value_rounding
        ones = np.ones((len(Y), 1))
        self.b = np.hstack([Y, ones]) if intercept else Y
        self.weight = float(weight.sum())
        self.count = max(self.weight, float(np.count_nonzero(weight > ABSENT)))
        # At alpha = 0 nothing is added to K, but the preconditioner needs a positive diagonal.
        trace = float(np.einsum("ij,ij->", F, F))
        self.ridge = (alpha * self.weight / weight)[:, None]
        self._root = 1.0 / np.sqrt(np.maximum(self.ridge, 1e-12 * max(trace, 1e-300)))
        F *= self._root
        self._scaled = F
        inner = blas.dsyrk(1.0, F, trans=1, lower=1)
        np.einsum("ii->i", inner)[...] += 1.0
        self._factor = cho_factor(inner, lower=True, overwrite_a=True)

    @property
    def mixed(self) -> bool:
        """Whether fast products have a lower precision than exact ones."""
        return self.products.precision == "float32"

    def product(self, V: Array, exact: bool) -> Array:
        """Return ``(K + N) V``."""
        return self.products.product(V, exact) + self.ridge * V

    def precondition(self, R: Array) -> Array:
        """Return ``(F F' + N)^-1 R``."""
        scaled = self._root * R
        known = self._scaled @ cho_solve(self._factor, self._scaled.T @ scaled)
        return np.asarray(self._root * (scaled - known))

    def rounding(self, value: Array, sizes: Array) -> Array:
        """Return what rounding adds to the squared error of each column, in the norm of K + N.

        Each entry of K a is rounded by at most 3 e ||a||, as a rule, where e is the rounding of
        values, and ``(K + N)^-1`` is at most N^-1.
        """
        squares = (3.0 * self._value_rounding) ** 2 * np.einsum("ij,ij->j", sizes, sizes)
        return np.asarray(squares * np.sum(self._root**2))

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return coefficients (n, k) with ``sum a = 0``, and the intercept (k,)."""
        if not self._intercept:
            return value, np.zeros(value.shape[1])
        a, ones = value[:, :-1], value[:, -1:]
        constant = a.sum(axis=0) / ones.sum()
        return a - ones * constant, constant

    def residual_square(self, solution: Solution) -> Array | None:
        """Return ``sum_i w_i (y_i - f(x_i))^2``, of shape (k,): ``y - f = N a`` once it is solved.

        At alpha = 0 that says nothing, and the result is None.
        """
        if not self.alpha > 0:
            return None
        a, _ = self.coefficients(solution.value)
        return np.asarray(self.alpha * self.weight * np.sum(self.ridge * a**2, axis=0))

    def kept(self) -> dict[str, Any]:
        """Return what a fit stores of the rows: nothing."""
        return {}

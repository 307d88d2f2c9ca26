"""The matrix-free twin of the moments: products with S, block by block, S never formed.

.. math:: S c = \\sum_b H_b' \\operatorname{diag}(w_b)\\, H_b\\, c

Blocks H_b of basis values are kept in memory where they fit, and evaluated again where not.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer.contracts import Array, RowBlock
from mercer.engines import Lanes
from mercer.moments.pairs import PairWeights
from mercer.moments.queries import QueryParts, center
from mercer.validation import check_overflow

#: Rows of kept values that one product takes at a time: a few megabytes, near to the cores.
SLICE = 256

#: Such slices that a thread takes at a time.
SLICES = 8
#: Columns are padded to a multiple of this.
PADDED = 8
#: Bytes from which an array is worth pages of its own.
HUGE = 2**26

#: Yields blocks of at most so many rows, with their encoded targets.
Blocks = Callable[[int], Iterator[tuple[RowBlock, Array]]]


def padded_columns(outputs: int) -> int:
    """Return how many columns BLAS is at its best with, for at least ``outputs``."""
    return outputs if outputs < PADDED // 2 else -(-outputs // PADDED) * PADDED


def _large(shape: tuple[int, int], dtype: str) -> Array:
    """Return an array to be filled, in huge pages where the system has them.

    Gigabytes in pages of 4 kB are touched a million times, which takes longer than the arithmetic.
    """
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if size < HUGE or sys.platform != "linux":
        return np.empty(shape, dtype=dtype)
    memory = mmap.mmap(-1, size)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype=dtype).reshape(shape)


class RowProducts:
    """Sums over rows that need no M x M matrix, and products with the one that would.

    Parameters
    ----------
    blocks : callable
        Yields the rows, as often as it is called.
    n_rows : int
        How many there are.
    basis : BasisTransformer
        Evaluates blocks, in its own precision.
    outputs : int
        k, the columns of y.
    block_rows, lanes : int
        Rows evaluated at a time, and threads.
    keep : bool
        Whether to keep the values of all rows: n M numbers.
    report : callable or None
        Told how many rows the first pass has read.
    """

    def __init__(
        self,
        blocks: Blocks,
        n_rows: int,
        basis: Any,
        outputs: int,
        block_rows: int,
        lanes: int,
        keep: bool,
        report: Callable[[int], None] | None = None,
    ) -> None:
        self.basis = basis
        self._blocks, self._block_rows, self._lanes = blocks, block_rows, lanes
        self.kept = _large((n_rows, basis.size), basis.precision_) if keep else None
        self._read(outputs, report)

    def _read(self, outputs: int, report: Callable[[int], None] | None) -> None:
        """Evaluate all rows once: the sums that are vectors, and the values if they are kept."""
        size = self.basis.size
        done = 0

        def make() -> dict[str, Any]:
            return {
                "cross": np.zeros((size, outputs + 1)),
                "y": np.zeros(outputs),
                "weight": 0.0,
                "rows": 0,
            }

        def add(sums: dict[str, Any], piece: tuple[RowBlock, Array]) -> None:
            H = self._evaluate(piece[0], sums)
            right = self._weighted(H, piece, sums)
            for start in range(0, len(H), SLICE):
                part = slice(start, start + SLICE)
                sums["cross"] += H[part].astype(np.float64).T @ right[part]
            sums["y"] += right[:, -1] @ right[:, :-1]

        def told(piece: tuple[RowBlock, Array]) -> None:
            nonlocal done
            done += piece[0].n_rows
            if report is not None:
                report(done)

        with np.errstate(over="ignore", invalid="ignore"):  # found below, and said in words
            lanes = Lanes(make, self._lanes).run(self._blocks(self._block_rows), add, told)
        total = sum(lane["cross"] for lane in lanes)
        check_overflow(total, self.basis.precision_)
        self.cross, self.sum_h = total[:, :-1], total[:, -1]
        self.sum_y = sum(lane["y"] for lane in lanes)
        self.weight = float(sum(lane["weight"] for lane in lanes))
        self.rows = int(sum(lane["rows"] for lane in lanes))

    def _weighted(self, H: Array, piece: tuple[RowBlock, Array], sums: dict[str, Any]) -> Array:
        """Multiply values by the roots of weights, in place; return targets and ones likewise."""
        block, Y = piece
        right = np.ones((block.n_rows, Y.shape[1] + 1))
        right[:, :-1] = Y
        if block.weight is None:
            sums["weight"] += block.n_rows
            sums["rows"] += block.n_rows
            return right
        root = np.sqrt(block.weight)[:, None]
        H *= root
        sums["weight"] += float(block.weight.sum())
        sums["rows"] += int(np.count_nonzero(block.weight))
        return np.asarray(right * root)

    def _evaluate(self, block: RowBlock, buffers: dict[str, Any]) -> Array:
        """Return values of a block."""
        if self.kept is not None:
            out = self.kept[block.start : block.start + block.n_rows]
        else:
            out = buffers.get("H", np.empty((0, self.basis.size)))
            if len(out) < block.n_rows:
                shape = (block.n_rows, self.basis.size)
                out = buffers["H"] = np.empty(shape, dtype=self.basis.precision_)
            out = out[: block.n_rows]
        H: Array = self.basis.evaluate(block.X, out)
        return H

    def product(self, c: Array, exact: bool = False) -> Array:
        """Return ``S c``, of shape (M, k), in float64.

        Blocks are multiplied in their own precision, or in float64 if ``exact``; sums over blocks
        are in float64 always.
        """
        outputs = c.shape[1]
        width = padded_columns(outputs)
        padded = np.zeros((width, len(c)), dtype=np.float64 if exact else self.basis.precision_)
        padded[:outputs] = c.T

        def make() -> dict[str, Any]:
            return {"sum": np.zeros((width, len(c))), "weight": 0.0, "rows": 0}

        def add(sums: dict[str, Any], H: Array) -> None:
            for start in range(0, len(H), SLICE):
                part = H[start : start + SLICE].astype(padded.dtype, copy=False)
                sums["sum"] += (padded @ part.T) @ part

        if self.kept is not None:
            kept = self.kept
            step = SLICE * SLICES
            parts = (kept[start : start + step] for start in range(0, len(kept), step))
            lanes = Lanes(make, self._lanes).run(parts, add)
        else:

            def evaluate_and_add(sums: dict[str, Any], piece: tuple[RowBlock, Array]) -> None:
                H = self._evaluate(piece[0], sums)
                self._weighted(H, piece, sums)
                add(sums, H)

            lanes = Lanes(make, self._lanes).run(self._blocks(self._block_rows), evaluate_and_add)
        return np.asarray(sum(lane["sum"] for lane in lanes)[:outputs].T)


class QueryProducts(RowProducts):
    """Products for rows that are centered by query; see :mod:`mercer.moments.queries`.

    Parameters
    ----------
    *rows : as in :class:`RowProducts`
        What to read, and how.
    pairs : PairWeights
        What the rows of each query count.
    codes : callable
        Numbers the queries of a block.
    """

    def __init__(self, *rows: Any, pairs: PairWeights, codes: Callable[[RowBlock], Array]) -> None:
        self._pairs, self._codes = pairs, codes
        self._parts: list[QueryParts] | None = []  # of the first pass
        super().__init__(*rows)
        outputs = self.cross.shape[1]
        self._between = np.zeros((0, self.basis.size))
        if self._parts:
            self._between, Y, _ = QueryParts.stacked(self._parts).joined()
            self.cross = self.cross + self._between.T @ Y[:, :outputs]
        self._parts = None

    def _weighted(self, H: Array, piece: tuple[RowBlock, Array], sums: dict[str, Any]) -> Array:
        block, Y = piece
        found = center(H, Y, block.weight, self._codes(block), self._pairs)
        sums["weight"] += found.weight
        sums["rows"] += found.rows
        if self._parts is not None and len(found.parts.query):
            self._parts.append(found.parts)
        return np.hstack([found.right, np.zeros((len(Y), 1))])  # nothing is left of means

    def product(self, c: Array, exact: bool = False) -> Array:
        """Return ``S c``, with what lies between the parts of queries."""
        return np.asarray(super().product(c, exact) + self._between.T @ (self._between @ c))

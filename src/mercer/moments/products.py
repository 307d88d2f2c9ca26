"""The matrix-free twin of the moments: products with S, block by block, S never formed.

.. math:: S c = \\sum_b H_b' \\operatorname{diag}(w_b)\\, H_b\\, c

Blocks H_b of basis values are kept in memory where they fit, and evaluated again where not.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer.contracts import Array, RowBlock
from mercer.engines import Lanes
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
    if size < HUGE or not hasattr(mmap, "MADV_HUGEPAGE"):
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
            return {"cross": np.zeros((size, outputs + 1)), "y": np.zeros(outputs)}

        def add(sums: dict[str, Any], piece: tuple[RowBlock, Array]) -> None:
            block, Y = piece
            H = self._evaluate(block, sums)
            right = np.ones((block.n_rows, outputs + 1))
            right[:, :-1] = Y
            if block.weight is not None:
                right *= np.sqrt(block.weight)[:, None]
            for start in range(0, block.n_rows, SLICE):
                part = slice(start, start + SLICE)
                sums["cross"] += H[part].astype(np.float64).T @ right[part]
            sums["y"] += right[:, -1] @ right[:, :-1]

        def told(piece: tuple[RowBlock, Array]) -> None:
            nonlocal done
            block = piece[0]
            done += block.n_rows
            self.weight += block.n_rows if block.weight is None else float(block.weight.sum())
            present = block.n_rows if block.weight is None else np.count_nonzero(block.weight)
            self.rows += int(present)
            if report is not None:
                report(done)

        self.weight, self.rows = 0.0, 0
        with np.errstate(over="ignore", invalid="ignore"):  # found below, and said in words
            lanes = Lanes(make, self._lanes).run(self._blocks(self._block_rows), add, told)
        total = sum(lane["cross"] for lane in lanes)
        check_overflow(total, self.basis.precision_)
        self.cross, self.sum_h = total[:, :-1], total[:, -1]
        self.sum_y = sum(lane["y"] for lane in lanes)

    def _evaluate(self, block: RowBlock, buffers: dict[str, Any]) -> Array:
        """Return values of a block, times the roots of its weights."""
        if self.kept is not None:
            out = self.kept[block.start : block.start + block.n_rows]
        else:
            out = buffers.get("H", np.empty((0, self.basis.size)))
            if len(out) < block.n_rows:
                shape = (block.n_rows, self.basis.size)
                out = buffers["H"] = np.empty(shape, dtype=self.basis.precision_)
            out = out[: block.n_rows]
        H: Array = self.basis.evaluate(block.X, out)
        if block.weight is not None:
            H *= np.sqrt(block.weight)[:, None]
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
            return {"sum": np.zeros((width, len(c)))}

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
                add(sums, self._evaluate(piece[0], sums))

            lanes = Lanes(make, self._lanes).run(self._blocks(self._block_rows), evaluate_and_add)
        return np.asarray(sum(lane["sum"] for lane in lanes)[:outputs].T)

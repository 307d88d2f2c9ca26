"""Matrix-free moments: products with S, block by block, without forming S.

.. math:: S c = \\sum_b H_b' \\operatorname{diag}(w_b)\\, H_b\\, c

Blocks H_b of basis values are kept in memory if they fit, and evaluated again otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, RowBlock, RowSource, Targets
from mercer.engines import Lanes
from mercer.engines.memory import large_array
from mercer.moments.by_fold import DealtFolds
from mercer.moments.queries import QueryParts, center
from mercer.rows.labels import checked_blocks
from mercer.rows.shards import Shard
from mercer.validation import check_overflow

#: Rows of stored values per product: a few megabytes, so that they stay in cache; twice as many for
#: one column, whose products are so short that threads would wait for the interpreter.
SLICE = 256
#: The same for values that are converted to float64 first.
EXACT_SLICE = 64
#: Number of such slices that a thread takes at a time.
SLICES = 8
#: More than one column is padded to a multiple of this.
PADDED = 4


def padded_columns(outputs: int) -> int:
    """Return the number of columns, at least ``outputs``, with which BLAS is fastest."""
    return 1 if outputs == 1 else -(-outputs // PADDED) * PADDED


def slice_rows(columns: int) -> int:
    """Return the rows of stored values with which a product of so many columns is fastest."""
    return 2 * SLICE if columns == 1 else SLICE


@dataclass(frozen=True)
class VectorSums:
    """The vector sums needed besides products with S: t, and the sums of h, y, y^2 and weights.

    >>> one = VectorSums(np.ones((2, 1)), np.ones(2), np.ones(1), np.ones(1), 3.0, 3)
    >>> (one + one).weight
    6.0
    """

    cross: Array  # (M, k)
    sum_h: Array  # (M,)
    sum_y: Array  # (k,)
    sum_yy: Array  # (k,)
    weight: float
    rows: int
    parts: QueryParts | None = None  # parts of queries that may have more rows elsewhere

    def __add__(self, other: VectorSums) -> VectorSums:
        """Return the sums of both sets of rows."""
        parts = [sums.parts for sums in (self, other) if sums.parts is not None]
        return VectorSums(
            self.cross + other.cross,
            self.sum_h + other.sum_h,
            self.sum_y + other.sum_y,
            self.sum_yy + other.sum_yy,
            self.weight + other.weight,
            self.rows + other.rows,
            QueryParts.stacked(parts) if parts else None,
        )

    def joined(self) -> tuple[VectorSums, Array]:
        """Join parts of queries; return the sums, and the between-part rows of h."""
        if self.parts is None or not len(self.parts.query):
            return replace(self, parts=None), np.zeros((0, len(self.sum_h)))
        between, Y, _ = self.parts.joined()
        cross, squares = self.cross + between.T @ Y, self.sum_yy + np.sum(Y**2, axis=0)
        return replace(self, cross=cross, sum_yy=squares, parts=None), between


def _add_cross(total: Array, H: Array, right: Array) -> None:
    """Add ``right' H`` to a sum, in float64: its rounding would stay in the solution."""
    columns = np.zeros((padded_columns(right.shape[1]), len(H)))
    columns[: right.shape[1]] = right.T
    for start in range(0, len(H), EXACT_SLICE):
        part = slice(start, start + EXACT_SLICE)
        total += (columns[:, part] @ H[part].astype(np.float64, copy=False))[: right.shape[1]]


class RowProducts:
    """Products ``S c`` with the sums S of a shard's rows, without forming S.

    Parameters
    ----------
    shard : Shard
        The rows.
    targets : Targets
        Encodes y; for rankings within queries, rows are centered by query
        (:mod:`mercer.moments.queries`).
    basis : BasisTransformer
        The fitted basis; it evaluates blocks in its own precision.
    reading : Reading
        Rows evaluated at a time, and threads.
    keep : bool
        Whether to store the basis values of all rows: n M numbers.
    """

    def __init__(
        self, shard: Shard, targets: Targets, basis: BasisTransformer, reading: Reading, keep: bool
    ) -> None:
        self.shard, self.targets, self.basis, self.reading = shard, targets, basis, reading
        source = shard.source
        self.kept = large_array((source.n_rows, basis.size), basis.precision_) if keep else None
        self._n_rows = source.n_rows
        self._dealt: tuple[Any, Array] | None = None
        (self.sums,) = self._read(source)

    def _blocks(self, source: RowSource) -> Any:
        return checked_blocks(source, self.targets, self.reading.block_rows)

    def _read(self, source: RowSource, dealt: DealtFolds | None = None) -> list[VectorSums]:
        """Return the sums that are vectors, from one reading: of all rows, or of each fold.

        The reading of all rows is the first, and stores their values if they are kept.
        """
        size, outputs, done = self.basis.size, self.targets.outputs, 0
        places = None if dealt is None else self.places(dealt)
        folds = 1 if dealt is None else len(dealt.numbers)
        stored = None if dealt is None else self.kept  # centered and weighted

        def make() -> dict[str, Any]:
            return {
                "cross": np.zeros((folds * (outputs + 1), size)),
                "y": np.zeros((folds, outputs)),
                "yy": np.zeros((folds, outputs)),
                "weight": np.zeros(folds),
                "rows": np.zeros(folds, dtype=int),
                "parts": [],
            }

        def add(sums: dict[str, Any], piece: tuple[RowBlock, Array]) -> None:
            block = piece[0]
            at = slice(block.start, block.start + block.n_rows)
            H = self._evaluate(block, sums) if stored is None else np.empty((block.n_rows, 0))
            right, weight, parts = self._weighted(H, piece)
            sums["parts"] += parts
            own = np.zeros(block.n_rows, dtype=int) if places is None else places[at]
            inside = own[:, None] == np.arange(folds)
            by_fold = (inside[:, :, None] * right[:, None, :]).reshape(block.n_rows, -1)
            _add_cross(sums["cross"], H if stored is None else stored[at], by_fold)
            for fold, part in enumerate(inside.T):
                chosen = right[part]
                sums["y"][fold] += chosen[:, -1] @ chosen[:, :-1]
                sums["yy"][fold] += np.einsum("ij,ij->j", chosen[:, :-1], chosen[:, :-1])
                sums["weight"][fold] += weight[part].sum()
                sums["rows"][fold] += np.count_nonzero(weight[part])

        def report(piece: tuple[RowBlock, Array]) -> None:
            nonlocal done
            done += piece[0].n_rows
            self.shard.report("rows", done)

        # Overflow is detected and reported below.
        with np.errstate(over="ignore", invalid="ignore"), self.shard.naming():
            lanes = Lanes(make, self.reading.lanes).run(self._blocks(source), add, report)
        cross = sum(lane["cross"] for lane in lanes)
        check_overflow(cross, self.basis.precision_)
        y, yy, weight, rows = (
            sum(lane[name] for lane in lanes) for name in ("y", "yy", "weight", "rows")
        )
        found = [part for lane in lanes for part in lane["parts"]]
        parts = [QueryParts.stacked(found) if found else None] * folds
        if dealt is not None and self.sums.parts is not None:
            query_places = dealt.of_queries(self.targets)[self.sums.parts.query]
            parts = [self.sums.parts.taken(query_places == fold) for fold in range(folds)]
        return [
            VectorSums(
                vectors[:-1].T,
                vectors[-1],
                y[k],
                yy[k],
                float(weight[k]),
                int(rows[k]),
                parts[k],
            )
            for k, vectors in enumerate(cross.reshape(folds, outputs + 1, size))
        ]

    def _weighted(
        self, H: Array, piece: tuple[RowBlock, Array]
    ) -> tuple[Array, Array, list[QueryParts]]:
        """Scale values by the square roots of weights, in place.

        Return the scaled targets and ones, the weights, and parts of queries that are cut.
        """
        block, Y = piece
        if self.targets.pairs is not None:
            codes = self.targets.codes(block)
            found = center(H, Y, block.weight, codes, self.targets.pairs)
            right = np.hstack([found.right, np.zeros((len(Y), 1))])  # centered: the means are 0
            return right, found.weights, [found.parts] if len(found.parts.query) else []
        right = np.ones((block.n_rows, Y.shape[1] + 1))
        right[:, :-1] = Y
        if block.weight is None:
            return right, right[:, -1], []
        root = np.sqrt(block.weight)[:, None]
        H *= root
        return right * root, block.weight, []

    def _evaluate(self, block: RowBlock, buffers: dict[str, Any]) -> Array:
        """Return the basis values of a block."""
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

    def places(self, dealt: DealtFolds) -> Array:
        """Return for each row its place among the folds that are left out, -1 for none."""
        key = dealt.deal.seed, dealt.numbers.tolist()
        if self._dealt is None or self._dealt[0] != key:
            self._dealt = key, dealt.places(self.shard, self.targets, self._n_rows)
        return self._dealt[1]

    def fold_sums(self, dealt: DealtFolds) -> list[VectorSums]:
        """Return the vector sums of each fold, from another reading of the targets."""
        return self._read(self.shard.source, dealt)

    def product(self, c: Array, exact: bool = False, dealt: DealtFolds | None = None) -> Array:
        """Return ``S c``, of shape (M, k), in float64, without the between-part terms of queries.

        Blocks are multiplied in their own precision, or in float64 if ``exact``; sums over blocks
        are always in float64. With ``dealt`` there are as many columns for each fold, in which
        its rows do not count.
        """
        outputs = c.shape[1]
        places: Array | None = None
        if dealt is not None:
            places = self.places(dealt)
            left_out = np.repeat(np.arange(len(dealt.numbers)), outputs // len(dealt.numbers))
        width = padded_columns(outputs)
        padded = np.zeros((width, len(c)), dtype=np.float64 if exact else self.basis.precision_)
        padded[:outputs] = c.T

        def make() -> dict[str, Any]:
            return {"sum": np.zeros((width, len(c)))}

        rows = EXACT_SLICE if exact else slice_rows(width)

        def add(sums: dict[str, Any], H: Array, first: int) -> None:
            for start in range(0, len(H), rows):
                part = H[start : start + rows].astype(padded.dtype, copy=False)
                values = padded @ part.T
                if places is not None:
                    own = places[first + start : first + start + len(part)]
                    values[:outputs] *= left_out[:, None] != own
                sums["sum"] += values @ part

        if self.kept is not None:
            kept = self.kept
            step = SLICE * SLICES
            lanes = Lanes(make, self.reading.lanes).run(
                range(0, len(kept), step),
                lambda sums, start: add(sums, kept[start : start + step], start),
            )
        else:

            def evaluate_and_add(sums: dict[str, Any], piece: tuple[RowBlock, Array]) -> None:
                H = self._evaluate(piece[0], sums)
                self._weighted(H, piece)
                add(sums, H, piece[0].start)

            blocks = self._blocks(self.shard.source)
            lanes = Lanes(make, self.reading.lanes).run(blocks, evaluate_and_add)
        return np.asarray(sum(lane["sum"] for lane in lanes)[:outputs].T)


def products_of(
    shard: Shard, targets: Targets, basis: BasisTransformer, reading: Reading, keep: bool
) -> RowProducts:
    """Task: read a shard once and return its RowProducts, which stay with the shard."""
    return RowProducts(shard, targets, basis, reading, keep)


def vector_sums_of(products: RowProducts) -> VectorSums:
    """Task: return the vector sums of a shard."""
    return products.sums


def product_of(products: RowProducts, c: Array, exact: bool) -> Array:
    """Task: return ``S c`` of a shard."""
    return products.product(c, exact)


def fold_sums_of(products: RowProducts, dealt: DealtFolds) -> list[VectorSums]:
    """Task: return the vector sums of each fold of a shard."""
    return products.fold_sums(dealt)


def product_without(products: RowProducts, c: Array, dealt: DealtFolds) -> Array:
    """Task: return ``S c`` of a shard, where the columns of a fold leave out its rows."""
    return products.product(c, dealt=dealt)

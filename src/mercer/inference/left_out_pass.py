"""Rows that were left out: each is predicted by the model without its fold, which has not seen it.

.. math:: \\hat y_i = f_{-k(i)}(x_i)

with k(i) the fold of row i. These predictions are honest: they are as good as those of new rows.
Intervals and calibration are learned from them. Every shard keeps the values of a few functions at
its rows for the scale of the errors, whose sums are needed next
(:mod:`mercer.inference.error_scale`), so that rows are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, RowBlock, Rows, Targets
from mercer.engines import Lanes
from mercer.inference.novelty import Novelty
from mercer.leaving_out import FoldModels
from mercer.moments.by_fold import DealtFolds, share_functions
from mercer.rows.rowset import Placed, RowSet
from mercer.rows.shards import Shard
from mercer.storage.state import Count, Numbers, State

#: Values of functions of a block of rows, which is what a thread is given.
ENTRIES = 2**22
#: Values of functions that are evaluated at a time, so that they stay in the cache.
TILE = 2**18


@dataclass(frozen=True)
class Evaluation:
    """What a pass evaluates at each row.

    ``coefficients`` (M, (l + 1) k) and ``intercept`` are those of the model itself and then of
    those without each fold. ``functions`` are the ones whose values are kept. ``skipped`` are rows
    of each shard that do not count, and ``share`` of the others are taken.
    """

    coefficients: Array
    intercept: Array
    functions: Array | None
    novelty: Novelty | None
    skipped: dict[int, Array]
    share: float

    @classmethod
    def of(
        cls,
        model: tuple[Array, Array],
        without: FoldModels,
        functions: Array | None,
        novelty: Novelty | None,
        skipped: dict[int, Array],
        share: float,
    ) -> Evaluation:
        """Join a model and those without its folds."""
        coefficients = np.hstack([model[0], *without.coefficients])
        intercept = np.concatenate([model[1], *without.intercept])
        return cls(coefficients, intercept, functions, novelty, skipped, share)


@dataclass(frozen=True)
class LeftOutShard:
    """The left-out rows of a shard, and values of functions at them."""

    rows: LeftOutRows
    H: Array | None  # (n, functions)
    novelty: Array | None  # (n,)
    diagonal: Array | None  # (n,) K(x, x)


def left_out_shards(
    rows: RowSet,
    targets: Targets,
    basis: BasisTransformer,
    dealt: DealtFolds,
    evaluation: Evaluation,
) -> Placed:
    """Evaluate the left-out rows of all shards, and leave the results where they are."""
    functions = share_functions(rows, basis)
    return rows.hold(left_out_shard, targets, functions, dealt, rows.share(evaluation, "models"))


def left_out_shard(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    dealt: DealtFolds,
    evaluation: Evaluation,
) -> LeftOutShard:
    """Task: evaluate the left-out rows of a shard."""
    block_rows = max(64, min(4096, ENTRIES // max(1, basis.size)))
    skipped = evaluation.skipped.get(shard.number, np.zeros(0, dtype=np.intp))
    drawn = None
    if evaluation.share < 1:  # with another seed than that of the folds, to take some of each
        other = replace(dealt.deal, seed=dealt.deal.seed + 1)
        drawn = other.to_folds(shard, 2, evaluation.share)

    def pieces() -> Iterator[tuple[int, RowBlock, Array, Array, Array]]:
        number = 0
        for block, Y, places in dealt.blocks(shard, targets, block_rows):
            taken = (places >= 0) & ~np.isnan(Y).any(axis=1)
            if block.weight is not None:
                taken &= block.weight > 0
            low, high = np.searchsorted(skipped, [block.start, block.start + block.n_rows])
            taken[skipped[low:high] - block.start] = False
            if drawn is not None:
                taken &= drawn(block.start, block.n_rows) == 1
            chosen = np.flatnonzero(taken)
            for start in range(0, len(chosen), block_rows):
                number += 1
                yield number, block, Y, places, chosen[start : start + block_rows]
            shard.report("leave out", block.start + block.n_rows)

    with shard.naming():
        stream = pieces()
        first = list(islice(stream, 2))
        # A single piece is evaluated here: threads would cost more than they save.
        count = 1 if len(first) < 2 else None
        lanes = Lanes(lambda: _Evaluated(targets, basis, evaluation), count).run(
            chain(first, stream), lambda evaluated, piece: evaluated.add(*piece)
        )
    by_number = {number: part for lane in lanes for number, part in lane.parts.items()}
    parts = [_nothing(targets, evaluation), *(by_number[number] for number in sorted(by_number))]
    found = LeftOutRows.joined([part.rows for part in parts])
    H, novelty, diagonal = (
        None
        if getattr(parts[0], name) is None
        else np.concatenate([getattr(p, name) for p in parts])
        for name in ("H", "novelty", "diagonal")
    )
    return LeftOutShard(found, H, novelty, diagonal)


def _nothing(targets: Targets, evaluation: Evaluation) -> LeftOutShard:
    """Return no rows, with arrays of the right shapes."""
    none, columns = np.zeros(0), np.zeros((0, targets.outputs))
    code = None if targets.pairs is None else np.zeros(0, dtype=np.intp)
    rows = LeftOutRows(columns, columns, columns, none, np.zeros(0, dtype=np.int16), code)
    functions, new = evaluation.functions, evaluation.novelty
    H = None if functions is None else np.zeros((0, len(functions)), dtype=np.float32)
    return LeftOutShard(rows, H, None if new is None else none, None if new is None else none)


class _Evaluated:
    """The left-out rows that a thread evaluates, by piece, so that they are joined in order."""

    def __init__(self, targets: Targets, basis: BasisTransformer, evaluation: Evaluation) -> None:
        self.targets, self.basis, self.evaluation = targets, basis, evaluation
        self.parts: dict[int, LeftOutShard] = {}
        self._tile = max(64, min(4096, TILE // max(1, basis.size)))
        self._buffers: list[Array] = []

    def add(self, number: int, block: RowBlock, Y: Array, places: Array, at: Array) -> None:
        """Evaluate some rows of a block."""
        targets, new = self.targets, self.evaluation.novelty
        X = block.X[at]
        values, H = self._functions(X)
        by_model = values.reshape(len(at), -1, targets.outputs)
        own = by_model[np.arange(len(at)), 1 + places[at]]
        weight = np.ones(len(at)) if block.weight is None else block.weight[at]
        query = None if targets.pairs is None else targets.codes(block)[at]
        # A copy, or the values of all models would stay in memory.
        rows = LeftOutRows(own, by_model[:, 0].copy(), Y[at], weight, places[at], query)
        novelty = diagonal = None
        if new is not None:
            novelty = new.values(X)
            diagonal = np.asarray(self.basis.kernel_.diag(X), dtype=np.float64)
        self.parts[number] = LeftOutShard(rows, H, novelty, diagonal)

    def _functions(self, X: Rows) -> tuple[Array, Array | None]:
        """Return the values of all models, and those of the functions that are kept."""
        coefficients, functions = self.evaluation.coefficients, self.evaluation.functions
        rows, tile, precision = X.shape[0], self._tile, self.basis.precision_
        if not self._buffers:  # a thread that gets no rows needs none
            kinds = [precision] if precision == "float64" else [precision, "float64"]
            shape = (tile, self.basis.size)
            self._buffers += [np.empty(shape, dtype=kind) for kind in kinds]
        values = np.empty((rows, coefficients.shape[1]))
        kept = None
        if functions is not None:
            kept = np.empty((rows, len(functions)), dtype=precision)
        for start in range(0, rows, tile):
            part = slice(start, min(start + tile, rows))
            H = self.basis.evaluate(X[part], self._buffers[0][: part.stop - start])
            if kept is not None:
                kept[part] = H[:, functions]
            if H.dtype != np.float64:
                # Large coefficients may cancel, so the product is in float64.
                wide = self._buffers[1][: len(H)]
                wide[...] = H
                H = wide
            np.matmul(H, coefficients, out=values[part])
        values += self.evaluation.intercept
        return values, kept


def rows_of(held: LeftOutShard) -> LeftOutRows:
    """Task: return the left-out rows of a shard."""
    return held.rows


@dataclass(frozen=True)
class LeftOutRows:
    """Left-out predictions of a sample of labelled rows, for encoded targets."""

    state = State(
        weight=Numbers("n", label="weights of left-out rows"),
        values=Numbers("n k", label="values of left-out rows"),
        fitted=Numbers("n k", label="fitted of left-out rows"),
        targets=Numbers("n k", label="targets of left-out rows"),
        count=Count(label="count of left-out rows", optional=True),
        fold=Numbers("n", kind="iuf", label="folds of left-out rows"),
        query=Numbers("n", kind="iuf", label="queries of left-out rows", optional=True),
    )
    values: Array  # (n, k) f_{-k(i)}(x_i)
    fitted: Array  # (n, k) f(x_i) of the model itself
    targets: Array  # (n, k)
    weight: Array  # (n,)
    fold: Array  # (n,) the place of the left-out model among all of them
    query: Array | None = None  # (n,) codes of queries, for rankings
    count: int | None = None  # the number of rows that these stand for, if they stayed in shards

    @classmethod
    def joined(cls, parts: Sequence[LeftOutRows]) -> LeftOutRows:
        """Return the rows of several shards."""
        columns: dict[str, Any] = {}
        for field in fields(cls)[:-1]:
            values = [getattr(part, field.name) for part in parts]
            columns[field.name] = None if values[0] is None else np.concatenate(values)
        return cls(**columns)

    @property
    def errors(self) -> Array:
        """The errors ``y_i - f_{-k(i)}(x_i)``, of shape (n, k)."""
        return np.asarray(self.targets - self.values)

    @property
    def number(self) -> int:
        """How many rows were left out."""
        return len(self.weight) if self.count is None else self.count

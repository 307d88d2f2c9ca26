"""A pass over the rows that were left out: each is predicted by the model without its fold.

Every shard keeps the values of a few functions at its rows for the scale of the errors, whose sums
are needed next (:mod:`mercer.inference.error_scale`), so that rows are read once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, RowBlock, Targets
from mercer.inference.fold_models import FoldModels
from mercer.inference.left_out_rows import LeftOutRows
from mercer.inference.novelty import Novelty
from mercer.moments.by_fold import share_functions
from mercer.moments.dealt_folds import DealtFolds
from mercer.rows.rowset import Placed, RowSet
from mercer.rows.shards import Shard

#: Values of functions in memory at a time.
ENTRIES = 2**22


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
    parts = [_nothing(targets, evaluation)]
    with shard.naming():
        for block, Y, places in dealt.blocks(shard, targets, block_rows):
            taken = (places >= 0) & ~np.isnan(Y).any(axis=1)
            if block.weight is not None:
                taken &= block.weight > 0
            low, high = np.searchsorted(skipped, [block.start, block.start + block.n_rows])
            taken[skipped[low:high] - block.start] = False
            if evaluation.share < 1:
                rng = np.random.default_rng([shard.seed(dealt.seed), block.start])
                taken &= rng.random(len(taken)) < evaluation.share
            chosen = np.flatnonzero(taken)
            for start in range(0, len(chosen), block_rows):
                at = chosen[start : start + block_rows]
                parts.append(_evaluated(block, Y, places, at, targets, basis, evaluation))
            shard.report("leave out", block.start + block.n_rows)
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


def _evaluated(
    block: RowBlock,
    Y: Array,
    places: Array,
    at: Array,
    targets: Targets,
    basis: Any,
    evaluation: Evaluation,
) -> LeftOutShard:
    """Evaluate some rows of a block."""
    X, outputs = block.X[at], targets.outputs
    H = basis.evaluate(X)
    values = H.astype(np.float64, copy=False) @ evaluation.coefficients + evaluation.intercept
    by_model = values.reshape(len(at), -1, outputs)
    own = by_model[np.arange(len(at)), 1 + places[at]]
    weight = np.ones(len(at)) if block.weight is None else block.weight[at]
    query = None if targets.pairs is None else targets.codes(block)[at]
    rows = LeftOutRows(own, by_model[:, 0], Y[at], weight, places[at], query)
    kept = novelty = diagonal = None
    if evaluation.functions is not None:
        kept = H[:, evaluation.functions]
    if evaluation.novelty is not None:
        novelty = evaluation.novelty.values(X)
        diagonal = np.asarray(basis.kernel_.diag(X), dtype=np.float64)
    return LeftOutShard(rows, kept, novelty, diagonal)


def rows_of(held: LeftOutShard) -> LeftOutRows:
    """Task: return the left-out rows of a shard."""
    return held.rows


def novelty_of(held: LeftOutShard) -> tuple[Array, Array]:
    """Task: return how new the rows of a shard are, and K(x, x)."""
    assert held.novelty is not None
    assert held.diagonal is not None
    return held.novelty, held.diagonal

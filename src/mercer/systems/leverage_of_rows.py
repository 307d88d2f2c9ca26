"""Leverage scores of rows with respect to the moments of all rows.

.. math:: c_i = g_i' (\\operatorname{diag}(s) + \\alpha)^{-1} g_i, \\qquad g_i = T'h(x_i)

See :mod:`mercer.sampling.leverage` for what it approximates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, Rows
from mercer.engines import Lanes
from mercer.moments import Workspace
from mercer.moments.by_fold import share_functions
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.validation import check_finite


def leverage_of_rows(
    rows: RowSet, basis: BasisTransformer, reading: Reading, directions: Array, inverse: Array
) -> Array:
    """Return ``g_i' diag(inverse) g_i`` for every row, from a second pass.

    ``directions`` (M, r) is T, computed from the moments of all rows, and ``inverse`` (r,) is ``1 /
    (s + alpha)``.
    """
    parts = rows.map(
        leverage_of,
        share_functions(rows, basis),
        rows.reading(reading),
        rows.share(directions * np.sqrt(inverse), "directions"),
        label="scores",
        record="scores",
    )
    return np.concatenate(parts)


class _Scores:
    """Scores of blocks; the accumulator of one thread."""

    def __init__(self, basis: BasisTransformer, scaled: Array) -> None:
        precision = basis.precision_
        self.basis = basis
        self.scores: dict[int, Array] = {}
        self._directions = scaled.astype(precision)
        self._workspace = Workspace(basis.size, precision)

    def add(self, start: int, X: Rows) -> None:
        rows = X.shape[0]
        H = self.basis.orthogonalized(
            X, self._workspace.block(0, rows), self._workspace.block(1, rows)
        )
        G = H @ self._directions
        self.scores[start] = np.einsum("ij,ij->i", G, G, dtype=np.float64)


def leverage_of(shard: Shard, basis: BasisTransformer, reading: Reading, scaled: Array) -> Array:
    """Task: return the leverage scores of the rows of a shard."""
    done = 0

    def pieces() -> Iterator[tuple[int, Any]]:
        source = shard.source
        for block in source.blocks(reading.block_rows):
            check_finite(block.X, start=block.start, names=source.feature_names)
            yield block.start, block.X

    def report(piece: tuple[int, Any]) -> None:
        nonlocal done
        done += piece[1].shape[0]
        shard.report("scores", done)

    with shard.naming():
        lanes = Lanes(lambda: _Scores(basis, scaled), reading.lanes).run(
            pieces(), lambda scores, piece: scores.add(*piece), report
        )
    found = {start: part for lane in lanes for start, part in lane.scores.items()}
    return np.concatenate([found[start] for start in sorted(found)])

"""Leverage scores of rows with respect to the moments of all rows.

.. math:: c_i = g_i' (\\operatorname{diag}(s) + \\alpha)^{-1} g_i, \\qquad
          \\rho_i = K(x_i, x_i) - g_i'g_i, \\qquad g_i = T'h(x_i)

T makes the functions orthonormal, so that ``g_i'g_i`` is the squared norm of the projection of
``K(x_i, .)`` on their span, and rho what the span misses of it. See :mod:`mercer.sampling.leverage`
for what the scores approximate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class RowLeverage:
    """Scores of the projections of rows, and the residuals, which no alpha changes."""

    projected: Array  # (n,)
    residual: Array | None  # (n,), or None if the functions do not span a part of the kernel's


def leverage_of_rows(
    rows: RowSet, basis: BasisTransformer, reading: Reading, directions: Array, inverse: Array
) -> RowLeverage:
    """Return ``g_i' diag(inverse) g_i`` and the residual for every row, from a second pass.

    ``directions`` (M, r) is T, computed from the moments of all rows, and ``inverse`` (r,) is ``1 /
    (s + alpha)``, 0 for dropped directions: the residual needs all of them.
    """
    parts = rows.map(
        leverage_of,
        share_functions(rows, basis),
        rows.reading(reading),
        rows.share(directions, "directions"),
        inverse,
        label="scores",
        record="scores",
    )
    found = np.concatenate(parts)
    if not basis.projects:
        return RowLeverage(found[:, 0], None)
    return RowLeverage(found[:, 0], _residual(found[:, 1], found[:, 2]))


def _residual(explained: Array, norms: Array) -> Array:
    """Return ``norms - explained``, with 0 for what is not above rounding.

    Rounding moves a residual up as far as down, relative to the norm, so the most negative one
    measures it.
    """
    residual = norms - explained
    share = np.divide(residual, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.where(share > -2.0 * share.min(initial=0.0), residual, 0.0)


class _Scores:
    """Scores of blocks; the accumulator of one thread."""

    def __init__(self, basis: BasisTransformer, directions: Array, inverse: Array) -> None:
        precision = basis.precision_
        self.basis = basis
        self.found: dict[int, Array] = {}
        self._directions = directions.astype(precision)
        self._root = np.sqrt(inverse).astype(precision)
        self._workspace = Workspace(basis.size, precision)

    def add(self, start: int, X: Rows) -> None:
        rows = X.shape[0]
        H = self.basis.orthogonalized(X, self._workspace.block(rows))
        G = H @ self._directions
        columns = []
        if self.basis.projects:
            columns = [np.einsum("ij,ij->i", G, G, dtype=np.float64), self.basis.kernel_.diag(X)]
        G *= self._root
        scores = np.einsum("ij,ij->i", G, G, dtype=np.float64)
        self.found[start] = np.column_stack([scores, *columns])


def leverage_of(
    shard: Shard, basis: BasisTransformer, reading: Reading, directions: Array, inverse: Array
) -> Array:
    """Task: return the scores of a shard's rows; the projected and the whole squared norms too."""
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
        lanes = Lanes(lambda: _Scores(basis, directions, inverse), reading.lanes).run(
            pieces(), lambda scores, piece: scores.add(*piece), report
        )
    found = {start: part for lane in lanes for start, part in lane.found.items()}
    return np.concatenate([found[start] for start in sorted(found)])

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

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, Rows
from mercer.engines import in_order
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
    found = rows.by_number(parts)
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


def leverage_of(
    shard: Shard, basis: BasisTransformer, reading: Reading, directions: Array, inverse: Array
) -> Array:
    """Task: return the scores of a shard's rows; the projected and the whole squared norms too."""
    precision, source, done = basis.precision_, shard.source, 0
    T, root = directions.astype(precision), np.sqrt(inverse).astype(precision)

    def pieces() -> Iterator[Rows]:
        for block in source.blocks(reading.block_rows):
            check_finite(block.X, start=block.start, names=source.feature_names)
            yield block.X

    def scores(workspace: Workspace, X: Rows) -> Array:
        G = basis.orthogonalized(X, workspace.block(X.shape[0])) @ T
        columns = []
        if basis.projects:
            columns = [np.einsum("ij,ij->i", G, G, dtype=np.float64), basis.kernel_.diag(X)]
        G *= root
        return np.column_stack([np.einsum("ij,ij->i", G, G, dtype=np.float64), *columns])

    def report(X: Rows) -> None:
        nonlocal done
        done += X.shape[0]
        shard.report("scores", done)

    with shard.naming():
        parts = in_order(
            lambda: Workspace(basis.size, precision), pieces(), scores, reading.lanes, report
        )
    return np.concatenate(parts)

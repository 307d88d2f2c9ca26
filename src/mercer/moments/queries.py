"""Moments of pairs within queries: rows are centered by the mean of their query.

A query whose rows are read in parts, or lie in several shards, is centered part by part. With the
weight and the means of each part stored, parts add up exactly, as moments do:

.. math:: \\sum_{i \\in q} w_i (h_i - \\bar h_q)(h_i - \\bar h_q)'
          = \\sum_p \\Big[ \\sum_{i \\in p} w_i (h_i - \\bar h_p)(h_i - \\bar h_p)'
          + W_p (\\bar h_p - \\bar h_q)(\\bar h_p - \\bar h_q)' \\Big].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Rows
from mercer.moments.accumulate import MomentSums, Workspace
from mercer.moments.moments import Moments
from mercer.moments.pairs import PairWeights
from mercer.symmetric import triangle

#: A part with less than this share of its query's weight is incomplete.
WHOLE = 1.0 - 1e-12
#: Number of stored parts after which those of the same query are joined.
PARTS = 512
#: The most numbers that the parts of incomplete queries may take.
ROOM = 2**27


@dataclass(frozen=True)
class QueryParts:
    """Parts of queries whose other rows are elsewhere; each array has one row per part."""

    query: Array
    weight: Array  # W_p
    whole: Array  # W_q
    factor: Array  # v_q
    mean_h: Array  # (parts, M)
    mean_y: Array  # (parts, k)

    @classmethod
    def stacked(cls, parts: Sequence[QueryParts]) -> QueryParts:
        """Return all parts as one."""
        return cls(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        )

    def taken(self, at: Array) -> QueryParts:
        """Return some of the parts."""
        return QueryParts(**{f.name: getattr(self, f.name)[at] for f in fields(self)})

    def joined(self) -> tuple[Array, Array, QueryParts]:
        """Join parts of the same query.

        Return the between-part terms, as rows of h and y scaled by the square roots of their
        weights, and the parts that are still incomplete.
        """
        if not len(self.query):
            return self.mean_h, self.mean_y, self
        order = np.argsort(self.query, kind="stable")
        query, weight = self.query[order], self.weight[order]
        starts = np.flatnonzero(np.r_[True, np.diff(query) != 0])
        sizes = np.diff(np.r_[starts, len(query)])
        total = np.add.reduceat(weight, starts)
        share = (weight / np.repeat(total, sizes))[:, None]
        H, Y = self.mean_h[order], self.mean_y[order]
        mean_h, mean_y = (np.add.reduceat(part * share, starts) for part in (H, Y))
        several = np.repeat(sizes > 1, sizes)
        root = np.sqrt(weight * self.factor[order])[:, None]
        between = (
            (root * (part - np.repeat(mean, sizes, axis=0)))[several]
            for part, mean in ((H, mean_h), (Y, mean_y))
        )
        first = order[starts]
        left = total < WHOLE * self.whole[first]
        rest = QueryParts(
            query[starts][left],
            total[left],
            self.whole[first][left],
            self.factor[first][left],
            mean_h[left],
            mean_y[left],
        )
        return (*between, rest)


@dataclass(frozen=True)
class PartialMoments:
    """Moments, and the parts of queries that are still incomplete."""

    moments: Moments
    parts: QueryParts

    def packed(self) -> PartialMoments:
        """Return the moments as they are sent, with S as a triangle."""
        return replace(self, moments=self.moments.packed())

    def whole(self) -> Moments:
        """Return the moments with S as a matrix; parts of queries have no rows elsewhere."""
        return self.moments.whole()

    def __add__(self, other: PartialMoments) -> PartialMoments:
        """Return the moments of both sets of rows."""
        total = self.moments + other.moments  # new arrays, safe to modify
        H, Y, rest = QueryParts.stacked([self.parts, other.parts]).joined()
        if len(H):
            if total.gram.size:
                square = H.T @ H
                total.gram[...] += square if total.gram.ndim == 2 else triangle(square)
            total.cross[...] += H.T @ Y
            total.sum_yy[...] += np.einsum("ij,ij->j", Y, Y)
        return PartialMoments(total, rest)


@dataclass(frozen=True)
class CenteredBlock:
    """What :func:`center` returns: centered targets, weights, and parts of queries."""

    right: Array  # (rows, k)
    weights: Array  # (rows,) w_i v_q
    weight: float
    parts: QueryParts


def center(
    H: Array, Y: Array, weight: Array | None, query: Array, pairs: PairWeights
) -> CenteredBlock:
    """Center H by the mean of each run of one query and scale by root weights, in place."""
    rows = len(H)
    w = np.ones(rows) if weight is None else weight
    starts = np.flatnonzero(np.r_[True, np.diff(query) != 0])
    sizes, runs = np.diff(np.r_[starts, rows]), query[starts]
    totals = np.add.reduceat(w, starts)
    share = (w / np.repeat(totals, sizes))[:, None]
    mean_h = np.add.reduceat(H * share.astype(H.dtype), starts)
    mean_y = np.add.reduceat(Y * share, starts)
    H -= np.repeat(mean_h, sizes, axis=0)
    weights = w * pairs.factor[query]
    root = np.sqrt(weights)[:, None]
    H *= root.astype(H.dtype)
    part = totals < WHOLE * pairs.weight[runs]
    at = runs[part]
    return CenteredBlock(
        right=(Y - np.repeat(mean_y, sizes, axis=0)) * root,
        weights=weights,
        weight=float(totals @ pairs.factor[runs]),
        parts=QueryParts(
            at,
            totals[part],
            pairs.weight[at],
            pairs.factor[at],
            mean_h[part].astype(np.float64),
            mean_y[part],
        ),
    )


class QuerySums(MomentSums):
    """Running sums ``sum_i w_i v_q (h_i - hbar_q)(h_i - hbar_q)'`` over blocks of rows.

    Rows of a query should be consecutive: runs that are not a whole query are stored as parts.
    """

    def __init__(
        self,
        basis: BasisTransformer,
        outputs: int,
        pairs: PairWeights,
        workspace: Workspace | None = None,
        with_gram: bool = True,
        keep: bool = False,
    ) -> None:
        super().__init__(basis, outputs, workspace, with_gram, keep)
        self.pairs = pairs
        none = np.zeros(0)
        self.parts = QueryParts(
            np.zeros(0, dtype=int),
            none,
            none,
            none,
            np.zeros((0, basis.size)),
            np.zeros((0, outputs)),
        )

    def add(
        self, X: Rows, Y: Array, weight: Array | None = None, query: Array | None = None
    ) -> None:
        """Add the rows of a block, with the query number of each row."""
        assert query is not None
        with np.errstate(over="ignore", invalid="ignore"):  # detected in the sums
            self._add_centered(X, Y, weight, query)

    def _add_centered(self, X: Rows, Y: Array, weight: Array | None, query: Array) -> None:
        rows = X.shape[0]
        H = self.basis.orthogonalized(X, self._workspace.block(rows))
        block = center(H, Y, weight, query, self.pairs)
        self.rows += int(np.count_nonzero(block.weights))
        self.weight += block.weight
        self.sum_yy += np.einsum("ij,ij->j", block.right, block.right)
        self.cross[:, :-1] += H.T @ block.right.astype(H.dtype, copy=False)
        self._add_products(H)
        if len(block.parts.query):
            self._keep(block.parts)

    def _keep(self, parts: QueryParts) -> None:
        self.parts = QueryParts.stacked([self.parts, parts])
        if len(self.parts.query) > PARTS:
            self._join()
        if self.parts.mean_h.size > ROOM:
            raise ValueError(
                f"the rows of {len(self.parts.query)} queries are scattered, which needs a mean "
                f"of {self.basis.size} functions for each: sort the rows by query"
            )

    def _join(self) -> None:
        H, Y, self.parts = self.parts.joined()
        if self.with_gram:
            self.gram += H.T @ H
        if self.kept is not None:
            self.kept.append(H)
        self.cross[:, :-1] += H.T @ Y
        self.sum_yy += np.einsum("ij,ij->j", Y, Y)

    def absorb(self, other: MomentSums) -> None:
        """Add the sums of another thread."""
        super().absorb(other)
        assert isinstance(other, QuerySums)
        self._keep(other.parts)

    def part(self) -> PartialMoments:
        """Return the moments, with the parts needed to add other rows of the same queries."""
        if len(self.parts.query):
            self._join()
        return PartialMoments(super().total(), self.parts)

    def total(self) -> Moments:
        """Return the moments of all rows added so far."""
        return self.part().moments

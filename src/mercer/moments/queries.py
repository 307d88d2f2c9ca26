"""Moments of pairs within queries: rows are centered on the mean of their query.

.. math:: \\sum_{i,k \\in q} w_i w_k\\, (r_i - r_k)^2
          = 2\\, W_q \\sum_{i \\in q} w_i (r_i - \\bar r_q)^2

So the squared loss of all pairs is that of single rows, centered by query, with ``w_i v_q`` for a
weight: ``v_q`` is proportional to W_q where every pair counts the same, and to 1 / W_q where every
query does. It is scaled so that all rows together keep their weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer.contracts import Array, Rows
from mercer.moments.accumulate import MomentSums, Workspace
from mercer.moments.moments import Moments

PairWeighting = Literal["pair", "query"]

#: A run of rows that has less than this share of its query's weight is not all of it.
WHOLE = 1.0 - 1e-12


@dataclass(frozen=True)
class PairWeights:
    """What a row of each query counts: queries are numbers from 0."""

    weight: Array  # W_q, of shape (queries,)
    factor: Array  # v_q

    @classmethod
    def of(cls, query: Array, weight: Array | None, weighting: PairWeighting) -> PairWeights:
        """Return the weights of queries, from the query and the weight of every row.

        Queries of a single row have no pairs, and no part in the loss.

        >>> PairWeights.of(np.array([0, 0, 0, 1, 1]), None, "query").factor.round(3).tolist()
        [0.833, 1.25]
        """
        total = np.bincount(query, weight)
        pairs = np.bincount(query) > 1
        share = np.where(pairs, total if weighting == "pair" else 1.0 / total, 0.0)
        whole = float(share @ total)
        factor = share * (total[pairs].sum() / whole) if whole > 0 else share
        return cls(total.astype(np.float64), np.asarray(factor))


class QuerySums(MomentSums):
    """Running sums over blocks of rows that are centered by query.

    Rows of a query must follow each other. One that goes on in the next block is centered piece by
    piece, and what lies between the pieces is added at the end.
    """

    def __init__(
        self, basis: Any, outputs: int, pairs: PairWeights, workspace: Workspace | None = None
    ) -> None:
        super().__init__(basis, outputs, workspace)
        self.pairs = pairs
        self.pieces: list[tuple[int, float, Array, Array]] = []  # query, weight, means of h and y

    def add(
        self, X: Rows, Y: Array, weight: Array | None = None, query: Array | None = None
    ) -> None:
        """Add the rows of a block, with the query of each."""
        assert query is not None
        with np.errstate(over="ignore", invalid="ignore"):  # found in the sums, said in words
            self._add_centered(X, Y, weight, query)

    def _add_centered(self, X: Rows, Y: Array, weight: Array | None, query: Array) -> None:
        rows = X.shape[0]
        H = self.basis.graded(X, self._workspace.block(0, rows), self._workspace.block(1, rows))
        w = np.ones(rows) if weight is None else weight
        starts = np.flatnonzero(np.r_[True, np.diff(query) != 0])
        sizes, runs = np.diff(np.r_[starts, rows]), query[starts]
        weights = np.add.reduceat(w, starts)
        share = (w / np.repeat(weights, sizes))[:, None]
        mean_h = np.add.reduceat(H * share.astype(H.dtype), starts)
        mean_y = np.add.reduceat(Y * share, starts)
        H -= np.repeat(mean_h, sizes, axis=0)
        right = Y - np.repeat(mean_y, sizes, axis=0)
        root = np.sqrt(w * self.pairs.factor[query])[:, None]
        H *= root.astype(H.dtype)
        right = right * root
        self.rows += int(np.count_nonzero(root))
        self.weight += float(weights @ self.pairs.factor[runs])
        self.sum_yy += np.einsum("ij,ij->j", right, right)
        self.cross[:, :-1] += H.T @ right.astype(H.dtype, copy=False)
        self.gram += np.matmul(H.T, H, out=self._workspace.product)
        for run in np.flatnonzero(weights < WHOLE * self.pairs.weight[runs]):
            self.pieces.append(
                (int(runs[run]), float(weights[run]), mean_h[run].astype(float), mean_y[run])
            )

    def absorb(self, other: MomentSums) -> None:
        """Add the sums of another lane."""
        super().absorb(other)
        assert isinstance(other, QuerySums)
        self.pieces += other.pieces

    def total(self) -> Moments:
        """Return the moments of all rows added so far, with what lies between pieces."""
        if self.pieces:
            query = np.array([piece[0] for piece in self.pieces])
            weight = np.array([piece[1] for piece in self.pieces])
            H, Y = (np.array([piece[at] for piece in self.pieces]) for at in (2, 3))
            codes = np.unique(query, return_inverse=True)[1].ravel()
            share = (weight / np.bincount(codes, weight)[codes])[:, None]
            root = np.sqrt(weight * self.pairs.factor[query])[:, None]
            H, Y = (root * (part - _means(codes, part * share)) for part in (H, Y))
            self.gram += H.T @ H
            self.cross[:, :-1] += H.T @ Y
            self.sum_yy += np.einsum("ij,ij->j", Y, Y)
            self.pieces = []
        return super().total()


def _means(codes: Array, parts: Array) -> Array:
    """Return, for every row, the sum of the rows with its code."""
    totals = np.zeros((int(codes.max()) + 1, parts.shape[1]))
    np.add.at(totals, codes, parts)
    return totals[codes]

"""Rounds in function space: shards exchange their points and function values at them.

With the exact kernel, the only functions shared by all shards are those at all points. Shard j acts
on a function through its values at the shard's own points,

.. math:: H_j f = \\frac1{W_j} \\sum_{i \\in j} w_i (f(x_i) - \\bar f) K(x_i, \\cdot) + \\lambda f,
          \\qquad b_j = \\frac1{W_j} \\sum_{i \\in j} w_i (y_i - \\bar y) K(x_i, \\cdot),

where the means are per query in rankings (over all rows of the shard, if only pairs within shards
count and there are no queries), and 0 otherwise. A function is represented by its
coefficients at the points of all shards, so every shard holds all points. This is the scheme of
Chen et al. (2021) for rankings (DRank-C), and of Lin, Wang and Zhou (2020) for regression. A round
costs ``n_j n`` kernel values in each shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.contracts import Array, BlockKernel, Targets
from mercer.kernels import Kernel
from mercer.kernels.kernel import dense
from mercer.rows.labels import checked_blocks
from mercer.rows.rowset import Placed
from mercer.rows.shards import Shard
from mercer.systems.mean_of_shards import MeanOfShards, ShardSide
from mercer.validation import check_finite

#: Rows of kernel values held in memory at a time.
BLOCK = 1024


@dataclass(frozen=True)
class _Groups:
    """The rows of each query, which need not be next to each other."""

    order: Array  # (n,) rows by query
    starts: Array  # (queries,) where each query begins among these
    code: Array  # (n,) the query of each row, numbered from 0
    weight: Array  # (queries, 1)

    @classmethod
    def of(cls, query: Array, weight: Array) -> _Groups:
        """Return the groups of rows by query."""
        order = np.argsort(query, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(query[order]) != 0])
        code = np.unique(query, return_inverse=True)[1]
        total = np.maximum(np.bincount(code, weight), np.finfo(float).tiny)
        return cls(order, starts, code, total[:, None])

    def means(self, weighted: Array) -> Array:
        """Return the mean over its query for each row, from values times weights.

        >>> groups = _Groups.of(np.array([7, 3, 7]), np.ones(3))
        >>> groups.means(np.array([[1.0], [5.0], [3.0]])).ravel()
        array([2., 5., 2.])
        """
        sums = np.add.reduceat(weighted[self.order], self.starts)
        return np.asarray((sums / self.weight)[self.code])


class FunctionShard:
    """``H_j`` and ``b_j`` in function space: what a shard stores between rounds.

    Parameters
    ----------
    kernel : Kernel
        A kernel with numeric parameters.
    points : array of shape (n, d)
        The points of all shards, concatenated.
    own : slice
        The position of this shard's points.
    Y : array of shape (n_j, k)
        Targets of the shard, NaN for rows without a label.
    weight : array of shape (n_j,)
        Weights of the shard's rows.
    query : array of shape (n_j,) or None
        Query numbers; values are centered by query, whose rows may be in any order. None means no
        centering.
    alpha : float
        The penalty, above 0.
    mass : float or None
        The weight of its pairs, if those between shards do not count.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Array,
        own: slice,
        Y: Array,
        weight: Array,
        query: Array | None,
        alpha: float,
        mass: float | None = None,
    ) -> None:
        self.mass = mass
        self._kernel, self._points, self._own = kernel, points, own
        self._root = np.sqrt(weight)[:, None]
        self._groups = None if query is None else _Groups.of(query, weight)
        self.weight = float(weight.sum())
        rows = self._scaled(kernel(points[own]) * self._root.T)
        G = self._centered(rows.T)  # centered on both sides
        G = (G + G.T) / 2
        self._scale = scale = self.weight or 1.0  # a shard without pairs to rank has no weight
        np.einsum("ii->i", G)[...] += alpha * scale
        self._factor = cho_factor(G, lower=True)
        # Rows without a label do not contribute to the right-hand side.
        present = np.asarray(~np.isnan(Y).any(axis=1))
        self.label_weight = self.weight if present.all() else float(weight @ present)
        right = self._scaled(np.where(present[:, None], Y, 0.0))
        self.b = self._root * right / (self.label_weight or 1.0)
        share = scale / (self.label_weight or 1.0) if not present.all() else 1.0
        self.model = share * (self._root * cho_solve(self._factor, right))

    def _scaled(self, values: Array) -> Array:
        """Return centered values times the square roots of weights."""
        return self._centered(self._root * values)

    def _centered(self, values: Array) -> Array:
        """Subtract the weighted mean of each query from values scaled by root weights."""
        if self._groups is None:
            return values
        return np.asarray(values - self._root * self._groups.means(self._root * values))

    def _values(self, V: Array) -> Array:
        """Return the function with coefficients V at the points of this shard."""
        block = self._kernel.against(self._points)
        return values_at(block, self._points[self._own], V)

    def product(self, V: Array) -> Array:
        """Return ``(H_j - lambda) f`` and the values of f, both at the shard's points."""
        values = self._values(V)
        return np.stack([self._root * self._scaled(values) / self._scale, values])

    def solve(self, V: Array) -> Array:
        """Return d at the shard's points: ``H_j^-1 h`` is ``(h - sum d K) / lambda``."""
        return np.asarray(self._root * cho_solve(self._factor, self._scaled(self._values(V))))


class FunctionSystem(MeanOfShards):
    """``H = sum_j share_j H_j`` for functions given by their coefficients at all points.

    Parameters
    ----------
    held : Placed
        One :class:`FunctionShard` per shard, held by that shard.
    sides : sequence of ShardSide
        What each shard has sent.
    shares : tuple of arrays
        The weight of each shard in H and in b; each sums to 1.
    alpha : float
        The penalty.
    """

    def __init__(
        self,
        held: Placed,
        sides: Sequence[ShardSide],
        shares: tuple[Array, Array],
        alpha: float,
    ) -> None:
        self._alpha = alpha
        self._known: tuple[Array, Array] | None = None  # a function, and its values at all points
        self.weight = float(sum(side.weight for side in sides))
        super().__init__(held, sides, shares)

    def _combined(self, parts: Sequence[Array], shares: Array) -> Array:
        """Return coefficients at all points from those of each shard, times its share."""
        return np.vstack([share * part for share, part in zip(shares, parts, strict=True)])

    def product(self, V: Array, exact: bool = True) -> Array:
        """Return the mean of ``H_j f``."""
        answers = self._ask("product", V)
        self._known = V, np.vstack([values for _, values in answers])
        return self._combined([image for image, _ in answers], self._shares) + self._alpha * V

    def precondition(self, R: Array) -> Array:
        """Return the mean of ``H_j^-1 h``."""
        return (R - self._combined(self._ask("solve", R), self._shares)) / self._alpha

    def objective(self, g: Array, gradient: Array) -> float:
        """Return ``<g, Hg> / 2 - <b, g>`` in the kernel's inner product, from the gradient."""
        if self._known is None or self._known[0] is not g:
            if not np.any(g):
                return 0.0
            self.product(g)
        assert self._known is not None
        return float(np.sum(self._known[1] * (gradient - self.b))) / 2


def values_at(block: BlockKernel, X: Array, V: Array) -> Array:
    """Return ``K(X, Z) V`` in float64, block by block."""
    parts = [
        np.asarray(block(X[start : start + BLOCK]) @ V, dtype=np.float64)
        for start in range(0, len(X), BLOCK)
    ]
    return np.vstack(parts)


def function_shard_of(
    shard: Shard,
    targets: Targets,
    kernel: Kernel,
    points: Array,
    slices: dict[int, slice],
    alpha: float,
    within: bool = False,
) -> FunctionShard:
    """Task: return what a shard stores between rounds in function space.

    ``within`` only counts pairs of its own rows.
    """
    source = shard.source
    with shard.naming():
        if within:
            targets = targets.pairs_within(source)
        ((block, Y),) = checked_blocks(source, targets, max(1, source.n_rows), partial=True)
    weight = np.ones(len(Y)) if block.weight is None else block.weight
    query: Array | None = None
    if targets.pairs is not None:
        query = targets.codes(block)
        weight = weight * targets.pairs.factor[query]
    mass = targets.share(float(weight.sum())) if within else None
    return FunctionShard(kernel, points, slices[shard.number], Y, weight, query, alpha, mass)


def points_of(shard: Shard) -> Array:
    """Return all rows of a shard: a task of rounds in function space, which exchange them."""
    with shard.naming():
        source = shard.source
        rows = source.take(np.arange(source.n_rows))
        check_finite(rows, names=source.feature_names)
        return dense(rows)

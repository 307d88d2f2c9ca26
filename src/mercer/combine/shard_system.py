"""The ridge system of one shard, and the mean of those of all shards.

With ``phi`` the whitened functions, followed by a constant where an intercept is fitted,

.. math:: H_j = \\frac1{W_j} \\sum_{i \\in j} w_i \\varphi_i \\varphi_i' + \\lambda
          \\begin{pmatrix} I & \\\\ & 0 \\end{pmatrix}, \\qquad
          b_j = \\frac1{W_j} \\sum_{i \\in j} w_i \\varphi_i y_i'.

The system of all rows is their mean, ``sum_j (W_j / W) H_j``: the constant is a coordinate like the
others here, because shards are not centered on the mean of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import blas, lapack

from mercer.bases.whitening import Whitener
from mercer.contracts import Array
from mercer.moments import Moments

#: Eigenvalues below this, relative to the largest, are rounding where H has no Cholesky factor.
ROUNDING = 1e-13

#: Asks every shard for its product ("product") or its solve ("solve") with V, in shard order.
Ask = Callable[[str, Array], Sequence[Array]]


class ShardSystem:
    """``H_j`` as its Cholesky factor, and ``b_j``; what a shard keeps between rounds.

    Parameters
    ----------
    moments : Moments
        Of the rows of the shard.
    whitener : Whitener
        Of the basis that all shards share.
    alpha : float
        The penalty.
    intercept : bool
        Whether a constant is fitted.
    """

    def __init__(self, moments: Moments, whitener: Whitener, alpha: float, intercept: bool) -> None:
        if moments.target_rows != moments.rows:
            raise ValueError(
                "rounds need a label for every row: use combine='sum' or 'average', or leave out "
                "rows without one"
            )
        self.weight = moments.weight
        A = whitener.matrix(moments.gram)
        b = whitener.vectors(moments.cross)
        if intercept:
            edge = whitener.vectors(moments.sum_h)
            A = np.block([[A, edge[:, None]], [edge[None, :], np.full((1, 1), self.weight)]])
            b = np.vstack([b, moments.sum_y[None, :]])
        scale = self.weight or 1.0  # a shard without pairs to rank counts nothing
        A /= scale
        size = len(A) - intercept
        A[np.arange(size), np.arange(size)] += alpha
        self.b = b / scale
        factor, info = lapack.dpotrf(np.asfortranarray(A), lower=1, clean=1)
        self._factor: Array | None = factor if info == 0 else None
        if (
            info != 0
        ):  # alpha is 0, or nearly: directions that the shard does not see stay as they are
            self._matrix = A
            values, vectors = np.linalg.eigh(A)
            kept = values > ROUNDING * max(values[-1], 0.0)
            self._root = vectors[:, kept] / np.sqrt(values[kept])

    def product(self, V: Array) -> Array:
        """Return ``H_j V``."""
        if self._factor is None:
            return np.asarray(self._matrix @ V)
        half = blas.dtrmm(1.0, self._factor, V, lower=1, trans_a=1)
        return np.asarray(blas.dtrmm(1.0, self._factor, half, lower=1))

    def solve(self, R: Array) -> Array:
        """Return ``H_j^-1 R``."""
        if self._factor is None:
            return np.asarray(self._root @ (self._root.T @ R))
        return np.asarray(lapack.dpotrs(self._factor, R, lower=1)[0])


class MeanSystem:
    """``sum_j (W_j / W) H_j``, known by products, and by the mean of the inverses.

    Parameters
    ----------
    weights : array
        W_j.
    right : sequence of arrays
        b_j.
    ask : callable
        Asks all shards; see :data:`Ask`.
    models : sequence of arrays or None
        ``H_j^-1 b_j``, whose mean is where rounds start; None starts at zero.

    Attributes
    ----------
    gradients : list of float
        The norm of every gradient that was preconditioned, relative to that of b: one a round.
    """

    mixed = False

    def __init__(
        self,
        weights: Array,
        right: Sequence[Array],
        ask: Ask,
        models: Sequence[Array] | None = None,
    ) -> None:
        self._shares = weights / weights.sum()
        self._ask = ask
        self.b = self._mean(right)
        self.start = np.zeros_like(self.b) if models is None else self._mean(models)
        self.gradients: list[float] = []

    def _mean(self, parts: Sequence[Array]) -> Array:
        total = np.zeros_like(parts[0])
        for share, part in zip(self._shares, parts, strict=True):
            total += share * part
        return total

    def product(self, V: Array, exact: bool = True) -> Array:
        """Return the mean of ``H_j V``."""
        return self._mean(self._ask("product", V))

    def precondition(self, R: Array) -> Array:
        """Return the mean of ``H_j^-1 R``, for a gradient R."""
        self.gradients.append(self.relative(R))
        return self._mean(self._ask("solve", R))

    def start_gradient(self) -> Array:
        """Return the gradient where rounds start."""
        return self.product(self.start) - self.b if np.any(self.start) else -self.b

    def objective(self, g: Array, gradient: Array) -> float:
        """Return ``g'Hg / 2 - b'g``, from the gradient ``Hg - b``."""
        return float(np.sum(g * (gradient - self.b))) / 2

    def relative(self, gradient: Array) -> float:
        """Return the norm of a gradient, relative to that at zero."""
        scale = float(np.linalg.norm(self.b))
        return float(np.linalg.norm(gradient)) / scale if scale else 0.0

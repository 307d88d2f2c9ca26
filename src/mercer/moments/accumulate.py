"""Moments from blocks of rows: float32 speed at the accuracy of float64.

Summing ``H'H`` in float32 costs half the time of float64 but errs by about 1e-7 of the largest
entries of S, and whitening divides that error by the smallest eigenvalues of Gamma. What hurts is
the *accumulation*: rounding the entries of H is harmless, because S is then the exact moment of
slightly perturbed functions, the very ones that predict later. Almost all of the mass that drowns
the small directions lies along a few leading ones. So a block is split as

.. math:: H = G U' + \\tilde H, \\qquad G = H U,

with U (M x q, q = 16) an approximate leading subspace, and

.. math:: H'H = \\tilde H'\\tilde H + U G'\\tilde H + \\tilde H'G U' + U G'G U'.

The identity is exact for any U. The first term is the only large product, and the mass that is left
in it is small and of mixed sign: its float32 sum is as good as one in float64 for our purpose, at
4q/M more operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.contracts import Array, Precision, Rows
from mercer.moments.moments import Moments

#: q, the dimension that is summed apart in float32.
DEFLATED = 16


def leading_subspace(H: Array, rng: np.random.Generator, dimension: int = DEFLATED) -> Array:
    """Return an orthonormal (M, q) basis of about the leading right singular vectors of H.

    Two power steps on a random start; any subspace is correct, a good one is more accurate.
    """
    H = np.asarray(H, dtype=np.float64)
    dimension = min(dimension, *H.shape)
    Q = rng.standard_normal((H.shape[1], dimension))
    for _ in range(3):
        Q = np.linalg.qr(H.T @ (H @ Q))[0]
    return np.asarray(Q)


class Workspace:
    """Buffers for one block at a time, shared by the sums of one lane.

    Fresh memory is touched page by page, which would cost as much as some of the arithmetic.
    """

    def __init__(self, size: int, precision: Precision) -> None:
        self.size = size
        self.precision = precision
        self.product = np.empty((size, size), dtype=precision)
        self._blocks: list[Array] = []

    def block(self, number: int, rows: int) -> Array:
        """Return buffer ``number`` for a block of (rows, M)."""
        while len(self._blocks) <= number:
            self._blocks.append(np.empty((0, self.size), dtype=self.precision))
        if len(self._blocks[number]) < rows:
            self._blocks[number] = np.empty((rows, self.size), dtype=self.precision)
        return self._blocks[number][:rows]


class MomentSums:
    """Running sums over blocks: products in the compute precision, sums in float64.

    Parameters
    ----------
    basis : Basis
        Evaluates blocks.
    outputs : int
        k, the columns of y.
    precision : "float32" or "float64"
        Of the blocks and their products.
    subspace : array of shape (M, q) or None
        U above; used in float32 only.
    workspace : Workspace or None
        Buffers to share with other sums that are filled in turn.
    """

    def __init__(
        self,
        basis: Any,
        outputs: int,
        precision: Precision,
        subspace: Array | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        size = basis.size
        self.basis = basis
        self.precision = precision
        self.rows = 0
        self.weight = 0.0
        self.gram = np.zeros((size, size))
        self.cross = np.zeros((size, outputs + 1))  # the last column is the sum of h
        self.sum_y = np.zeros(outputs)
        self.sum_yy = np.zeros(outputs)
        self._workspace = workspace or Workspace(size, precision)
        self._subspace: Array | None = None
        if precision == "float32" and subspace is not None:
            q = subspace.shape[1]
            self._subspace = subspace.astype(np.float32)
            self._leading_gram = np.zeros((q, q))
            self._leading_rest = np.zeros((q, size))
            self._leading_cross = np.zeros((q, outputs + 1))

    def add(self, X: Rows, Y: Array, weight: Array | None = None) -> None:
        """Add the rows of a block: X (rows, d), Y (rows, k), weight (rows,) or None."""
        H = self.basis.evaluate(X, self._workspace.block(0, X.shape[0]))
        right = np.ones((len(Y), Y.shape[1] + 1))
        right[:, :-1] = Y
        if weight is None:
            self.weight += len(Y)
        else:
            root = np.sqrt(weight)[:, None]
            H *= root
            right *= root
            self.weight += float(weight.sum())
        self.rows += len(Y)
        self.sum_y += right[:, -1] @ right[:, :-1]
        self.sum_yy += np.einsum("ij,ij->j", right[:, :-1], right[:, :-1])
        right = right.astype(self.precision, copy=False)
        if self._subspace is not None:
            U = self._subspace
            G = H @ U
            H -= np.matmul(G, U.T, out=self._workspace.block(1, len(H)))
            self._leading_gram += G.T @ G
            self._leading_rest += G.T @ H
            self._leading_cross += G.T @ right
        self.cross += H.T @ right
        # NumPy turns H'H into one SYRK and mirrors it.
        self.gram += np.matmul(H.T, H, out=self._workspace.product)

    def absorb(self, other: MomentSums) -> None:
        """Add the sums of another lane, which share this one's functions and subspace."""
        self.rows += other.rows
        self.weight += other.weight
        names = ["gram", "cross", "sum_y", "sum_yy"]
        if self._subspace is not None:
            names += ["_leading_gram", "_leading_rest", "_leading_cross"]
        for name in names:
            mine = getattr(self, name)
            mine += getattr(other, name)

    def total(self) -> Moments:
        """Return the moments of all rows added so far; the sums are used up."""
        gram, cross = self.gram, self.cross
        if self._subspace is not None:
            U = self._subspace.astype(np.float64)
            # U C + C'U' + U G U' = U(C + G U'/2) + its transpose
            half = U @ (self._leading_rest + 0.5 * self._leading_gram @ U.T)
            gram += half
            gram += half.T
            cross += U @ self._leading_cross
            self._subspace = None
        if not np.isfinite(gram[0] if len(gram) else 0.0).all() or not np.isfinite(cross).all():
            raise ValueError(
                f"values of the basis overflow {self.precision}: scale the columns of X "
                f"(sklearn.preprocessing.StandardScaler), or use dtype='float64'"
            )
        return Moments(
            rows=self.rows,
            weight=self.weight,
            sum_h=cross[:, -1].copy(),
            gram=gram,
            target_rows=self.rows,
            target_weight=self.weight,
            target_sum_h=cross[:, -1].copy(),
            cross=cross[:, :-1].copy(),
            sum_y=self.sum_y,
            sum_yy=self.sum_yy,
        )

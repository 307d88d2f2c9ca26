"""Moments from blocks of rows: block products in the block dtype, running sums in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Precision, Rows
from mercer.moments.moments import Moments
from mercer.validation import check_overflow


class Workspace:
    """Buffers for one block at a time, shared by all sums of one thread.

    Newly allocated memory is paged in on first use, which would cost as much as some of the
    arithmetic.
    """

    def __init__(self, size: int, precision: Precision) -> None:
        self.size = size
        self.precision = precision
        self._product: Array | None = None
        self._block = np.empty(0, dtype=precision)

    @property
    def product(self) -> Array:
        """The buffer for a product of (M, M)."""
        if self._product is None:
            self._product = np.empty((self.size, self.size), dtype=self.precision)
        return self._product

    def block(self, rows: int) -> Array:
        """Return the buffer for a block of (rows, M), in column-major order.

        The values of a function are contiguous, which suits orthogonalization.
        """
        if len(self._block) < self.size * rows:
            self._block = np.empty(self.size * rows, dtype=self.precision)
        return self._block[: self.size * rows].reshape(self.size, rows).T


class MomentSums:
    """Running sums ``S = sum_i w_i h_i h_i'`` and ``t = sum_i w_i h_i y_i'`` over blocks of rows.

    Parameters
    ----------
    basis : BasisTransformer
        The fitted basis; its orthogonalized functions are summed.
    outputs : int
        k, the columns of y.
    workspace : Workspace or None
        Buffers to share with other sums of the same thread.
    with_gram : bool
        Whether to compute S; otherwise ``gram`` is empty.
    keep : bool
        Whether to keep the rows whose products S is the sum of, instead of or beside it.
    """

    def __init__(
        self,
        basis: BasisTransformer,
        outputs: int,
        workspace: Workspace | None = None,
        with_gram: bool = True,
        keep: bool = False,
    ) -> None:
        size = basis.size
        self.with_gram = with_gram
        self.kept: list[Array] | None = [] if keep else None
        self.basis = basis
        self.rows = 0
        self.weight = 0.0
        self.gram = np.zeros((size, size) if with_gram else (0, 0))
        self.cross = np.zeros((size, outputs + 1))  # the last column is the sum of h
        self.sum_y = np.zeros(outputs)
        self.sum_yy = np.zeros(outputs)
        self.missing_rows = 0  # rows without a label, excluded from sums with y
        self.missing_weight = 0.0
        self.missing_h = np.zeros(size)
        self._workspace = workspace or Workspace(size, basis.precision_)

    def add(self, X: Rows, Y: Array, weight: Array | None = None) -> None:
        """Add the rows of a block: X (rows, d), Y (rows, k), weight (rows,) or None.

        Rows of Y that are NaN are unlabeled.
        """
        # Overflow is detected in the sums and reported there.
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(X, Y, weight)

    def _add(self, X: Rows, Y: Array, weight: Array | None) -> None:
        rows = X.shape[0]
        H = self.basis.orthogonalized(X, self._workspace.block(rows))
        right = np.ones((rows, Y.shape[1] + 1))
        absent = np.isnan(Y[:, 0])
        right[:, :-1] = np.where(absent[:, None], 0.0, Y) if absent.any() else Y
        if weight is None:
            self.weight += rows
            self.rows += rows
        else:
            root = np.sqrt(weight)[:, None]
            H *= root
            right *= root
            self.weight += float(weight.sum())
            self.rows += int(np.count_nonzero(weight))
        self.sum_y += right[:, -1] @ right[:, :-1]
        self.sum_yy += np.einsum("ij,ij->j", right[:, :-1], right[:, :-1])
        self.cross += H.T @ right.astype(H.dtype, copy=False)
        if absent.any():
            ones = right[absent, -1]  # square roots of weights
            self.missing_rows += int(np.count_nonzero(ones))
            self.missing_weight += float(ones @ ones)
            self.missing_h += ones @ H[absent].astype(np.float64)
        self._add_products(H)

    def _add_products(self, H: Array) -> None:
        if self.with_gram:  # NumPy turns H'H into one SYRK and mirrors it.
            self.gram += np.matmul(H.T, H, out=self._workspace.product)
        if self.kept is not None:
            self.kept.append(np.array(H, order="C"))

    def rows_kept(self) -> Array:
        """Return the rows that are kept, one below the other."""
        none = np.zeros((0, self.basis.size), dtype=self.basis.precision_)
        return np.concatenate([none, *(self.kept or [])], dtype=none.dtype)

    def absorb(self, other: MomentSums) -> None:
        """Add the sums of another thread."""
        self.rows += other.rows
        self.weight += other.weight
        self.missing_rows += other.missing_rows
        self.missing_weight += other.missing_weight
        for name in ("gram", "cross", "sum_y", "sum_yy", "missing_h"):
            mine = getattr(self, name)
            mine += getattr(other, name)

    def part(self) -> Any:
        """Return the sums that a shard sends, to be added to those of other shards."""
        return self.total()

    def total(self) -> Moments:
        """Return the moments of all rows added so far; the buffers are reused."""
        check_overflow(np.diagonal(self.gram), self.basis.precision_)
        check_overflow(self.cross, self.basis.precision_)
        sum_h = self.cross[:, -1].copy()
        return Moments(
            rows=self.rows,
            weight=self.weight,
            sum_h=sum_h,
            gram=self.gram,
            target_rows=self.rows - self.missing_rows,
            target_weight=self.weight - self.missing_weight if self.missing_rows else self.weight,
            target_sum_h=sum_h - self.missing_h,
            cross=self.cross[:, :-1].copy(),
            sum_y=self.sum_y,
            sum_yy=self.sum_yy,
        )

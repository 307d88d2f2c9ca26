"""Sparse rows with the same row added to each: what centered columns are, without being dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.contracts import Array


@dataclass(frozen=True)
class ShiftedRows:
    """``x_i + s`` for sparse rows x_i; products are ``(X + 1s') W = XW + 1 (s'W)``.

    NumPy reads it as the dense array, for whatever needs the values themselves.

    Examples
    --------
    >>> from scipy import sparse
    >>> rows = ShiftedRows(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]]), np.array([-1.0, 0.5]))
    >>> np.asarray(rows)
    array([[-1. ,  2.5],
           [ 0. ,  0.5]])
    >>> rows[1:] @ np.array([[1.0], [2.0]])
    array([[1.]])
    """

    values: Any  # sparse, (n, d)
    shift: Array  # (d,)
    ndim: ClassVar[int] = 2

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        n_rows, columns = self.values.shape
        return n_rows, columns

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> ShiftedRows:
        return ShiftedRows(self.values[rows], self.shift)

    def __matmul__(self, matrix: Array) -> Array:
        return np.asarray(self.values @ matrix + self.shift @ matrix)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.values.toarray() + self.shift, dtype=dtype)

    def weighted(self, columns: Array, weights: Array) -> ShiftedRows:
        """Return some of the columns, multiplied by a weight each."""
        values = self.values[:, columns].multiply(weights).tocsr()
        return ShiftedRows(values, self.shift[columns] * weights)

"""Symmetric matrices as triangles: half the numbers to send, and sums add as before.

.. math:: (S_{11},\\; S_{21}, S_{22},\\; S_{31}, S_{32}, S_{33},\\; \\dots)
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array
from mercer.symmetric import mirror_lower


def triangle(S: Array) -> Array:
    """Return the lower triangle of a symmetric matrix (M, M), row by row: M (M + 1) / 2 numbers.

    >>> triangle(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    size = len(S)
    packed = np.empty(size * (size + 1) // 2, dtype=S.dtype)
    end = 0
    for row in range(size):
        start, end = end, end + row + 1
        packed[start:end] = S[row, : row + 1]
    return packed


def symmetric(packed: Array) -> Array:
    """Return the symmetric matrix of a triangle.

    >>> symmetric(np.array([1.0, 2.0, 3.0]))
    array([[1., 2.],
           [2., 3.]])
    """
    size = (int(np.sqrt(8 * len(packed) + 1)) - 1) // 2
    S = np.empty((size, size), dtype=packed.dtype)
    end = 0
    for row in range(size):
        start, end = end, end + row + 1
        S[row, : row + 1] = packed[start:end]
    mirror_lower(S)
    return S

"""Symmetric matrices, of which one triangle is computed: both are filled tile by tile.

A transposed pass over a large matrix would miss the cache at every step. A triangle is half the
numbers to send, and sums add as before.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.contracts import Array

TILE = 512


def symmetrize(matrix: Array) -> None:
    """Replace a square matrix by the mean of itself and its transpose, in place."""
    for rows, columns in _tiles(len(matrix)):
        mean = 0.5 * (matrix[rows, columns] + matrix[columns, rows].T)
        matrix[rows, columns] = mean
        matrix[columns, rows] = mean.T


def mirror_lower(matrix: Array) -> None:
    """Copy the lower triangle of a square matrix onto the upper one, in place.

    >>> matrix = np.array([[1.0, 0.0], [2.0, 3.0]])
    >>> mirror_lower(matrix)
    >>> matrix
    array([[1., 2.],
           [2., 3.]])
    """
    for rows, columns in _tiles(len(matrix)):
        lower = matrix[rows, columns]
        if rows == columns:
            lower = np.tril(lower) + np.tril(lower, -1).T
        matrix[columns, rows] = lower.T


def _tiles(size: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows and columns of the tiles on and below the diagonal."""
    for row in range(0, size, TILE):
        for column in range(0, row + 1, TILE):
            yield slice(row, row + TILE), slice(column, column + TILE)


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

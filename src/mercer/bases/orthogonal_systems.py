"""Randomized orthogonal systems (ROS): random signs, a fast transform, a choice of rows.

.. math:: G = \\sqrt{N / M}\\; P\\, Q\\, E\\, \\operatorname{diag}(s)

with random signs s, E the padding with zeros from n to N, Q orthogonal of (N, N), and P the choice
of M rows, drawn without replacement: ``E[G'G] = I``. A product with G' costs n log n per row.

- Hadamard: N is n rounded up to a power of two, ``Q_rl = (-1)^<r, l> / sqrt(N)`` with <r, l> the
  number of positions where r and l both have the binary digit 1.
- Discrete cosines (DCT-II): N = n, ``Q_rl = sqrt(2 / n) cos(pi r (2 l + 1) / (2 n))``, and
  ``Q_0l = sqrt(1 / n)``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.fft import dct, idct
from scipy.linalg import hadamard

from mercer.bases.projections import Project, Projection
from mercer.contracts import Array, Precision
from mercer.sampling import uniform_indices
from mercer.validation import check_array, check_count

#: A Walsh-Hadamard transform is composed of small ones of this size, each a matrix product: several
#: times faster in NumPy than sums and differences of pairs.
RADIX = 16


def walsh_hadamard(X: Array) -> Array:
    """Return ``X H`` for X of shape (rows, N), N a power of two, H of +1 and -1. X is overwritten.

    >>> walsh_hadamard(np.array([[1.0, 2.0, 3.0, 4.0]]))
    array([[10., -2., -4.,  0.]])
    """
    size, done = X.shape[1], 1
    spare = np.empty_like(X)
    while done < size:
        radix = min(RADIX, size // done)
        H = hadamard(radix).astype(X.dtype)
        if done == 1:  # one large product instead of many small ones
            np.matmul(X.reshape(-1, radix), H, out=spare.reshape(-1, radix))
        else:
            shape = (-1, radix, done)
            np.matmul(H, X.reshape(shape), out=spare.reshape(shape))
        X, spare = spare, X
        done *= radix
    return X


@dataclass(frozen=True)
class OrthogonalSystem(Projection):
    """``G = sqrt(N / M) P Q E diag(s)``: random signs, then some rows of an orthogonal matrix.

    Parameters
    ----------
    signs : array of shape (n,)
        +1 or -1, one per column.
    rows : array of shape (M,)
        Indices of the rows of the orthogonal matrix.
    drawn : int
        How many rows were drawn originally: rows dropped later still count in the scale.
    """

    signs: Array
    rows: Array
    drawn: int

    @classmethod
    def draw(cls, n_rows: int, size: int, rng: np.random.Generator) -> Self:
        """Draw signs and rows."""
        signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=n_rows)
        if size >= n_rows:
            # The first n rows span everything: all leading minors of H are nonzero (H_2 = L U with
            # nonzero pivots, and so do its Kronecker powers). Other choices of n rows may not.
            return cls(signs, np.arange(n_rows), n_rows)
        return cls(signs, uniform_indices(cls.width(n_rows), size, rng), size)

    @staticmethod
    def resident_bytes(n_rows: int, size: int) -> int:
        """Return the bytes of the signs, as integers and in floating point."""
        return 9 * n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """(M, n)."""
        return len(self.rows), len(self.signs)

    @property
    def _scale(self) -> float:
        return float(np.sqrt(len(self.signs) / self.drawn))

    def check_state(self, n_rows: int) -> None:
        """Raise ValueError if a sign is not +1 or -1, or a row is out of range."""
        check_array(self.signs, "signs", (n_rows,), "iu")
        check_array(self.rows, "rows of the projection", (None,), "iu")
        if np.any(np.abs(self.signs) != 1):
            raise ValueError("signs must be +1 or -1")
        if np.any(self.rows < 0) or np.any(self.rows >= self.width(n_rows)):
            raise ValueError("rows of the projection must be row indices of its transform")
        check_count(self.drawn, "drawn", minimum=max(1, len(self.rows)))

    def bound(self, precision: Precision) -> Project:
        """Return the product with G': signs, transform, choice of rows."""
        signs, scale = self.signs.astype(precision), self._scale

        def project(K: Array, out: Array) -> Array:
            K *= signs
            np.take(self._transform(K), self.rows, axis=1, out=out, mode="clip")
            out *= scale
            return out

        return project

    def columns(self, at: Array) -> Array:
        """Return some columns, entry by entry."""
        return np.asarray(self._entries(at) * (self._scale * self.signs[at]))

    def transposed(self, c: Array) -> Array:
        """Return ``G'c`` by the inverse transform."""
        wide = np.zeros((c.shape[1], self.width(len(self.signs))))
        wide[:, self.rows] = c.T
        back = self._inverse(wide)[:, : len(self.signs)]
        return np.ascontiguousarray((back * (self._scale * self.signs)).T)

    def chosen(self, order: Array) -> Self:
        """Return some rows."""
        return replace(self, rows=self.rows[order])

    @abstractmethod
    def _transform(self, K: Array) -> Array:
        """Return ``K E'Q'``, up to a factor that is part of the scale. K is overwritten."""

    @abstractmethod
    def _inverse(self, wide: Array) -> Array:
        """Return ``wide Q``, up to the same factor. ``wide`` is overwritten."""

    @abstractmethod
    def _entries(self, columns: Array) -> Array:
        """Return some columns of ``P Q``, up to the same factor."""


class HadamardProjection(OrthogonalSystem):
    """Random signs, then some rows of a Hadamard matrix."""

    @staticmethod
    def width(n_rows: int) -> int:
        """N, n rounded up to a power of two."""
        return 1 << (n_rows - 1).bit_length()

    @property
    def _scale(self) -> float:
        # The transform leaves out the factor 1 / sqrt(N) of Q.
        return 1.0 / float(np.sqrt(self.drawn))

    def _transform(self, K: Array) -> Array:
        padded = np.zeros((len(K), self.width(K.shape[1])), dtype=K.dtype)
        padded[:, : K.shape[1]] = K
        return walsh_hadamard(padded)

    def _inverse(self, wide: Array) -> Array:
        return walsh_hadamard(wide)  # H is symmetric

    def _entries(self, columns: Array) -> Array:
        odd = np.bitwise_count(self.rows[:, None] & columns) & 1
        return np.asarray(1.0 - 2.0 * odd)


class CosineProjection(OrthogonalSystem):
    """Random signs, then some rows of the matrix of discrete cosines."""

    def _transform(self, K: Array) -> Array:
        return np.asarray(dct(K, norm="ortho", axis=1, overwrite_x=True))

    def _inverse(self, wide: Array) -> Array:
        return np.asarray(idct(wide, norm="ortho", axis=1, overwrite_x=True))

    def _entries(self, columns: Array) -> Array:
        n_rows = len(self.signs)
        # All angles are multiples of pi / (2 n): a table is faster than cosines, and exact.
        table = np.cos(np.arange(4 * n_rows) * (np.pi / (2 * n_rows))) * np.sqrt(2 / n_rows)
        entries = table[self.rows[:, None] * (2 * columns + 1) % (4 * n_rows)]
        entries[self.rows == 0] = np.sqrt(1 / n_rows)
        return np.asarray(entries)

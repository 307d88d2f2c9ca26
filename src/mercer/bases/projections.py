"""Random matrices G of shape (M, n) with ``E[G'G] = I``.

With independent entries, a product with one of these costs n M per row:

- Gaussian: ``G_jl ~ N(0, 1/M)``
- Rademacher: ``G_jl = +-1 / sqrt(M)``

Randomized orthogonal systems (ROS) are random signs, a fast transform and a choice of rows,

.. math:: G = \\sqrt{N / M}\\; P\\, Q\\, E\\, \\operatorname{diag}(s)

with random signs s, E the padding with zeros from n to N, Q orthogonal of (N, N), and P the choice
of M rows, drawn without replacement. A product with G' costs n log n per row.

- Hadamard: N is n rounded up to a power of two, ``Q_rl = (-1)^<r, l> / sqrt(N)`` with <r, l> the
  number of positions where r and l both have the binary digit 1.
- Discrete cosines (DCT-II): N = n, ``Q_rl = sqrt(2 / n) cos(pi r (2 l + 1) / (2 n))``, and
  ``Q_0l = sqrt(1 / n)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from scipy.fft import dct, idct
from scipy.linalg import hadamard

from mercer.contracts import Array, Precision
from mercer.sampling import uniform_indices
from mercer.storage.state import Numbers, Sizes, State
from mercer.validation import check_count

#: ``project(K, out)`` writes K G' to ``out`` and returns it; K is overwritten.
Project: TypeAlias = Callable[[Array, Array], Array]


class Projection(ABC):
    """A random matrix G of shape (M, n) with ``E[G'G] = I``."""

    @classmethod
    @abstractmethod
    def draw(cls, n_rows: int, size: int, rng: np.random.Generator) -> Self:
        """Draw M = ``size`` rows of length n = ``n_rows``."""

    @staticmethod
    def width(n_rows: int) -> int:
        """Return the length to which a row of n values is padded while G' is applied."""
        return n_rows

    @staticmethod
    @abstractmethod
    def resident_bytes(n_rows: int, size: int) -> int:
        """Return the bytes of all stored forms of G."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(M, n)."""

    @abstractmethod
    @abstractmethod
    def bound(self, precision: Precision) -> Project:
        """Return the product with G' in this precision, with the work on G done once."""

    @abstractmethod
    def columns(self, at: Array) -> Array:
        """Return G[:, at] in float64."""

    @abstractmethod
    def transposed(self, c: Array) -> Array:
        """Return ``G'c``, of shape (n, k), for c of shape (M, k)."""

    @abstractmethod
    def chosen(self, order: Array) -> Self:
        """Return G[order]: some rows, the same scale."""


@dataclass(frozen=True)
class DenseProjection(Projection):
    """A matrix G stored as an array."""

    state = State(matrix=Numbers("m n", label="the projection"))
    matrix: Array

    @staticmethod
    def resident_bytes(n_rows: int, size: int) -> int:
        """Return the bytes of the matrix in float64 and in float32."""
        return 12 * n_rows * size

    @property
    def shape(self) -> tuple[int, int]:
        """(M, n)."""
        size, n_rows = self.matrix.shape
        return size, n_rows

    def bound(self, precision: Precision) -> Project:
        """Return the product with the matrix in this precision."""
        right = self.matrix.astype(precision, copy=False).T

        def project(K: Array, out: Array) -> Array:
            return np.matmul(K, right, out=out)

        return project

    def columns(self, at: Array) -> Array:
        """Return some columns."""
        return np.asarray(self.matrix[:, at])

    def transposed(self, c: Array) -> Array:
        """Return ``G'c``."""
        return np.asarray(self.matrix.T @ c)

    def chosen(self, order: Array) -> Self:
        """Return some rows."""
        return replace(self, matrix=self.matrix[order])


class GaussianProjection(DenseProjection):
    """Independent normal entries ``G_jl ~ N(0, 1/M)``."""

    @classmethod
    def draw(cls, n_rows: int, size: int, rng: np.random.Generator) -> Self:
        """Draw normal entries of variance 1/M."""
        return cls(rng.standard_normal((size, n_rows)) / np.sqrt(size))


class RademacherProjection(DenseProjection):
    """Independent random signs ``G_jl = +-1 / sqrt(M)``."""

    @classmethod
    def draw(cls, n_rows: int, size: int, rng: np.random.Generator) -> Self:
        """Draw signs, divided by sqrt(M)."""
        return cls(rng.choice([-1.0, 1.0], size=(size, n_rows)) / np.sqrt(size))


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

    state = State(
        signs=Numbers("n", kind="iu"),
        rows=Numbers("m", kind="iu", label="rows of the projection"),
    )
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

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if a sign is not +1 or -1, or a row is out of range."""
        if np.any(np.abs(self.signs) != 1):
            raise ValueError("signs must be +1 or -1")
        if np.any(self.rows < 0) or np.any(self.rows >= self.width(sizes["n"])):
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

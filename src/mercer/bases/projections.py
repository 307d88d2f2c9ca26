"""Random matrices G of shape (M, n) with ``E[G'G] = I``, here with independent entries:

- Gaussian: ``G_jl ~ N(0, 1/M)``
- Rademacher: ``G_jl = +-1 / sqrt(M)``

A product with one of these costs n M per row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from mercer.contracts import Array, Precision
from mercer.validation import check_array

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
    def check_state(self, n_rows: int) -> None:
        """Raise ValueError if the arrays do not define a matrix with ``n_rows`` columns."""

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

    def check_state(self, n_rows: int) -> None:
        """Raise ValueError if the matrix does not have ``n_rows`` columns."""
        check_array(self.matrix, "the projection", (None, n_rows))

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

"""The map from rows to the coordinates that a kernel sees: ``x -> P's(x)``.

Columns are scaled, then weighted or combined, so a kernel of the distance sees ``||P'(x - z)||``:
columns that matter are stretched, others shrink, and directions that are no columns can matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.columns.scaling import Scaling, ShiftedRows, StandardScaling
from mercer.contracts import Array, Rows
from mercer.storage.state import Numbers, Part, State


@dataclass(frozen=True)
class Metric:
    """The map ``x -> P's(x)`` of rows to coordinates: columns scaled, then weighted or combined.

    Parameters
    ----------
    scaling : Scaling or None
        The map s of single columns.
    matrix : array of shape (d,) or (d, r), or None
        P: a weight per column (a diagonal matrix, without the columns of weight 0), or a matrix.

    Examples
    --------
    >>> Metric(None, np.array([2.0, 0.0]))(np.array([[1.0, 5.0]]))
    array([[2.]])
    """

    state = State(
        scaling=Part(Scaling, "d", optional=True),
        matrix=Numbers("d | d r", label="matrix of the metric", optional=True),
    )
    scaling: Scaling | None = None
    matrix: Array | None = None

    @cached_property
    def _kept(self) -> Array:
        """The columns of a diagonal P with a weight other than 0."""
        assert self.matrix is not None
        return np.flatnonzero(self.matrix)

    @property
    def diagonal(self) -> bool:
        """Whether no two columns are combined."""
        return self.matrix is None or self.matrix.ndim == 1

    def size(self, n_features: int) -> int:
        """Return r, the number of coordinates."""
        if self.matrix is None:
            return n_features
        return len(self._kept) if self.diagonal else int(self.matrix.shape[1])

    @property
    def accepts_sparse(self) -> bool:
        """Whether sparse rows stay sparse, up to a shift."""
        return self.diagonal and isinstance(self.scaling, (StandardScaling, type(None)))

    @cached_property
    def uncentered(self) -> Metric:
        """The map without the shift of a standard scaling, which differences do not see."""
        if not isinstance(self.scaling, StandardScaling):
            return self
        return replace(self, scaling=self.scaling.uncentered())

    def __call__(self, X: Rows) -> Rows:
        """Return the coordinates of rows, of shape (rows, r)."""
        U = X if self.scaling is None else self.scaling(X)
        if self.matrix is None:
            return U
        if not self.diagonal:
            return np.asarray(U @ self.matrix)
        if isinstance(U, ShiftedRows):
            return U.weighted(self._kept, self.matrix[self._kept])
        if hasattr(U, "tocsr"):
            return U[:, self._kept].multiply(self.matrix[self._kept]).tocsr()
        if len(self._kept) < len(self.matrix):
            U = U[:, self._kept]
        return np.asarray(U * self.matrix[self._kept])

    def pull_back(self, X: Rows, gradients: Array) -> Array:
        """Return gradients in x, of shape (k, rows, d), from those in the coordinates.

        ``grad_x = s'(x) * (P grad_u)``.
        """
        if self.matrix is None:
            found = gradients
        elif self.diagonal:
            found = np.zeros((*gradients.shape[:2], len(self.matrix)), dtype=gradients.dtype)
            found[..., self._kept] = gradients * self.matrix[self._kept].astype(gradients.dtype)
        else:
            found = gradients @ self.matrix.T.astype(gradients.dtype)
        if self.scaling is not None:
            found = found * self.scaling.slope(X).astype(gradients.dtype)
        return found

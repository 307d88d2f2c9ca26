"""The variance of a fit whose outputs have penalties of their own: one for each penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.contracts import Array, Rows


class VarianceByOutput:
    """``v_j(x) / sigma_j^2`` of every output j, each with its alpha; of shape (rows, k).

    Parameters
    ----------
    variances : sequence of RelativeVariance
        One for each distinct alpha.
    place : array of shape (k,)
        Which of them is that of an output.
    """

    def __init__(self, variances: Sequence[Any], place: Array) -> None:
        self._variances, self._place = variances, place
        self.weight: float = variances[0].weight
        self.width: int = variances[0].width
        self.shape = place.shape

    @property
    def effective_dimension(self) -> Array:
        """``trace(A (A + alpha)^-1)`` of every output."""
        return np.array([one.effective_dimension for one in self._variances])[self._place]

    def of_rows(self, X: Rows) -> Array:
        """Return ``v_j(x) / sigma_j^2`` for every row of a block."""
        return np.stack([one.of_rows(X) for one in self._variances], axis=1)[:, self._place]

    def leverage(self, X: Rows) -> Array:
        """Return by how much every output follows the target of a fitted row x of weight 1."""
        return np.stack([one.leverage(X) for one in self._variances], axis=1)[:, self._place]

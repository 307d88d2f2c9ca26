"""Draws from a pool by leverage scores, and what every way to draw has in common.

.. math:: q_j = \\frac{c_j + \\bar c}{2 \\sum_k c_k}, \\qquad w_j = \\frac{1}{N q_j}

(Murata and Suzuki, 2021, algorithm 1, step 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from mercer.contracts import Array
from mercer.estimators.pool_scores import PoolScores
from mercer.rows.rowset import RowSet


@dataclass(frozen=True)
class Wanted:
    """What is asked of the draws of a pool."""

    labels: int  # of the first round, with those that there are already
    labelled: Array  # rows with a label from the beginning
    candidates: int | str | None
    memory_limit: Any


class Draws(Protocol):
    """Rows drawn from a pool, and how to go on; a round gives new draws and leaves the old."""

    @property
    def probability(self) -> Array | None:
        """The probability of each row of the pool, or None if draws are not independent."""

    def drawn(self, number: int, rng: np.random.Generator) -> tuple[Array, Self]:
        """Draw a round: return row numbers, of which some may be equal, and the state after it."""

    def weights(self, indices: Array, counts: Array) -> Array:
        """Return the weight of each drawn row in a fit."""

    def variances(self, indices: Array) -> Array | None:
        """Return the variance that each drawn row had before its label, if it was drawn by it."""


@dataclass(frozen=True)
class LeverageDraws:
    """Independent draws with probabilities q, and weights ``count / (N q)``.

    >>> LeverageDraws(np.array([0.5, 0.25, 0.25])).weights(np.array([0, 2]), np.array([3, 1]))
    array([2.        , 1.33333333])
    """

    probability: Array

    @classmethod
    def of_pool(
        cls, found: PoolScores, rows: RowSet, wanted: Wanted, rng: np.random.Generator
    ) -> Self:
        """Return draws by the scores of a pool."""
        return cls(probabilities(check_scores(found).scores))

    def drawn(self, number: int, rng: np.random.Generator) -> tuple[Array, Self]:
        """Draw rows independently."""
        chosen = np.searchsorted(np.cumsum(self.probability), rng.random(number))
        return np.minimum(chosen, len(self.probability) - 1), self

    def weights(self, indices: Array, counts: Array) -> Array:
        """Return ``count / (N q)``."""
        return np.asarray(counts / (len(self.probability) * self.probability[indices]))

    def variances(self, indices: Array) -> None:
        """Return None."""


def check_scores(found: PoolScores) -> PoolScores:
    """Raise ValueError if no row has a positive score."""
    if not found.scores.sum() > 0:
        raise ValueError(
            "no row has a positive score: the basis is 0 at all rows; check the kernel "
            "and the scale of the columns"
        )
    return found


def probabilities(scores: Array) -> Array:
    """Return q, half of it uniform and half in proportion to the scores.

    >>> probabilities(np.array([3.0, 1.0]))
    array([0.625, 0.375])
    """
    total = float(scores.sum())
    found = (scores + total / len(scores)) / (2 * total)
    return np.asarray(found / found.sum())

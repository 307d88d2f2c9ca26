"""Rows to label: by importance, in rounds of a labeller, and uniformly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.scaffold import Array
from mercer import ImportanceLabeller, RandomFeatures


@dataclass(frozen=True)
class Drawn:
    """Rows of the pool, and what each counts."""

    rows: Array
    weight: Array


def labeller(alpha: float, budget: int, seed: int) -> ImportanceLabeller:
    """Return a labeller whose functions are the columns themselves."""
    return ImportanceLabeller(
        "linear", RandomFeatures(), alpha, budget, dtype="float64", random_state=seed
    )


class Rounds:
    """Draw from a labeller time and again, each time as if it were the first.

    A labeller adds the draws of all its rounds up. They are independent, so that the difference of
    two sums is a draw of its own, and the scores of a large pool are needed only once.
    """

    def __init__(self, fitted: ImportanceLabeller) -> None:
        self.labeller = fitted
        self._before = np.zeros(len(fitted.probability_), dtype=np.int64)
        self._unused = fitted.n_draws_  # those that the fit itself has made

    def draw(self, sizes: Sequence[int]) -> list[Drawn]:
        """Return draws of these increasing sizes, each with those before in it."""
        found, made = [], 0
        for size in sizes:
            wanted = size - made
            if self._unused and self._unused != wanted:
                raise ValueError(f"the first round has {self._unused} draws, not {wanted}")
            if not self._unused:
                self.labeller.select(wanted)
            self._unused, made = 0, size
            found.append(self._since())
        self._before = self._counts()
        return found

    def _counts(self) -> Array:
        counts = np.zeros_like(self._before)
        counts[self.labeller.indices_] = self.labeller.count_
        return counts

    def _since(self) -> Drawn:
        counts = self._counts() - self._before
        rows = np.flatnonzero(counts)
        chance = self.labeller.probability_[rows]
        return Drawn(rows, counts[rows] / (len(counts) * chance))


def uniform(pool: int, sizes: Sequence[int], rng: np.random.Generator) -> list[Drawn]:
    """Return rows drawn without replacement, in random order, each size with those before in it."""
    order = rng.permutation(pool)
    return [Drawn(order[:size], np.ones(size)) for size in sizes]

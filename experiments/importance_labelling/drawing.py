"""Rows to label: by importance, in rounds of a labeller or by exact scores, and uniformly."""

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


def probabilities(Z: Array, values: Array, alphas: Sequence[float]) -> Array:
    """Return the chance of each row of the pool (step 1 of algorithm 1), a line for each penalty.

    In the coordinates of the pool, where its covariance is 1, the score of a row is ``sum_k z_k^2
    l_k / (l_k + alpha)``: one product serves all penalties, where a labeller solves a system for
    each. A test compares them.
    """
    scores = (Z**2 @ (values[:, None] / (values[:, None] + np.asarray(alphas)))).T
    total = scores.sum(axis=1, keepdims=True)
    return np.asarray((scores + total / len(Z)) / (2 * total))


def important(chance: Array, sizes: Sequence[int], rng: np.random.Generator) -> list[Drawn]:
    """Return independent draws, with weights 1/(N q), each size with those before in it."""
    order = rng.choice(len(chance), size=sizes[-1], p=chance / chance.sum())
    found = []
    for size in sizes:
        rows, counts = np.unique(order[:size], return_counts=True)
        found.append(Drawn(rows, counts / (len(chance) * chance[rows])))
    return found


def uniform(pool: int, sizes: Sequence[int], rng: np.random.Generator) -> list[Drawn]:
    """Return rows drawn without replacement, in random order, each size with those before in it."""
    order = rng.permutation(pool)
    return [Drawn(order[:size], np.ones(size)) for size in sizes]

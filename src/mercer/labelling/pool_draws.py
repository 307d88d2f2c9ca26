"""Draws from a pool: by leverage scores, or by variance.

.. math:: q_j = \\frac{c_j + \\bar c}{2 \\sum_k c_k}, \\qquad w_j = \\frac{1}{N q_j}

(Murata and Suzuki, 2021, algorithm 1, step 1). Draws by variance are the rows whose predictions are
least certain, one by one,

.. math:: j_{t+1} = \\arg\\max_j \\; K(x_j, x_j) - k_t(x_j)' (K_t + n \\alpha I)^{-1} k_t(x_j)

with the kernel matrix K_t of the t rows that have a label by then (see
:mod:`mercer.sampling.posterior_variance`). A large pool is represented by candidates that are drawn
by leverage scores, which keep rows that stand alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array
from mercer.kernels import Linear
from mercer.labelling.pool_scores import PoolScores
from mercer.plan import human_bytes, parse_memory
from mercer.rows.checks import check_indices
from mercer.rows.rowset import RowSet
from mercer.sampling import drawn_by_weight, pool_size
from mercer.sampling.posterior_variance import Choose, PosteriorVariance, in_proportion, largest
from mercer.validation import check_count


@dataclass(frozen=True)
class Wanted:
    """What is asked of the draws of a pool."""

    labels: int  # of the first round, with those that there are already
    labelled: Array  # rows with a label from the beginning
    candidates: int | str | None
    memory_limit: int | float | str


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


#: Rows whose functions are evaluated at a time.
BLOCK = 2048


def by_largest(rng: np.random.Generator) -> Choose:
    """Return the rule that takes the largest variance; nothing is random."""
    return largest


@dataclass(frozen=True)
class VarianceDraws:
    """Rows drawn by their variance given all rows drawn before; each has weight 1."""

    posterior: PosteriorVariance
    rows: Array  # of the pool, that the posterior is about, in increasing order
    n_rows: int  # of the pool
    started_with: int  # rows with a label from the beginning
    before: Array  # variances of the drawn rows when they were drawn, in that order
    rule: Callable[[np.random.Generator], Choose]

    #: There are no probabilities: a draw depends on the ones before.
    probability = None

    @classmethod
    def of_pool(
        cls,
        found: PoolScores,
        rows: RowSet,
        wanted: Wanted,
        rng: np.random.Generator,
        rule: Callable[[np.random.Generator], Choose] = by_largest,
    ) -> Self:
        """Take the candidates of a pool, given rows that are labelled already.

        Landmarks project the kernel, and what they miss of a row adds to its variance: the sum is
        that of the kernel itself. Random features make a kernel of their own.
        """
        basis = check_scores(found).basis
        probe = rows.take(np.zeros(1, dtype=np.intp))
        width = (1 if hasattr(probe, "tocsr") else probe.shape[1]) if basis.projects else basis.size
        size = candidate_count(rows.n_rows, wanted, width)
        at = np.arange(rows.n_rows)
        if size < rows.n_rows:
            at = drawn_by_weight(found.scores, size, rng, wanted.labelled)
        points, kernel = rows.take(at), basis.kernel_
        if rows.sent is not None:
            rows.sent.record("candidates", 0, -(-points.size // rows.sent.shards))
        if not basis.projects:
            blocks = [basis.evaluate(points[i : i + BLOCK]) for i in range(0, len(at), BLOCK)]
            points, kernel = np.concatenate(blocks).astype(np.float64), Linear()
        noise = wanted.labels * found.alpha
        posterior = PosteriorVariance.prior(kernel, points, noise)
        if len(wanted.labelled):
            posterior = posterior.given(np.searchsorted(at, wanted.labelled))
        return cls(posterior, at, rows.n_rows, len(wanted.labelled), np.zeros(0), rule)

    def drawn(self, number: int, rng: np.random.Generator) -> tuple[Array, Self]:
        """Draw rows one by one."""
        left = len(self.rows) - len(self.posterior.labelled)
        if number > left:
            whole = len(self.rows) == self.n_rows
            raise ValueError(
                f"budget must be at most the {left} {'rows' if whole else 'candidates'} of the "
                f"pool that have no label yet, got {number}"
                + ("" if whole else ": set more candidates, and fit again")
            )
        posterior, chosen, before = self.posterior.chosen(number, self.rule(rng))
        after = replace(self, posterior=posterior, before=np.concatenate([self.before, before]))
        return self.rows[chosen], after

    def weights(self, indices: Array, counts: Array) -> Array:
        """Return ones."""
        return np.ones(len(indices))

    def variances(self, indices: Array) -> Array:
        """Return the variance that each row had when it was drawn."""
        order = self.rows[self.posterior.labelled[self.started_with :]]
        by_row = np.argsort(order)
        return np.asarray(self.before[by_row[np.searchsorted(order[by_row], indices)]])


#: The same with rows drawn at random, in proportion to their variances.
random_draws_of_pool = partial(VarianceDraws.of_pool, rule=in_proportion)


def candidate_count(n_rows: int, wanted: Wanted, width: int) -> int:
    """Return how many rows of a pool to look at: as asked, but no more than memory allows.

    >>> none = np.zeros(0, dtype=int)
    >>> candidate_count(10**6, Wanted(1000, none, None, "1GB"), 10)
    20000
    >>> candidate_count(10**6, Wanted(1000, none, "all", "1GB"), 10)
    122549
    """
    labels = wanted.labels
    size = n_rows if wanted.candidates == "all" else pool_size(labels, wanted.candidates)
    size = min(n_rows, size)
    each = 8 * (labels + 2 * width)  # a row of the factor, and the row itself in two forms
    limit = parse_memory(wanted.memory_limit)
    if size * each > limit:
        size = limit // each
        if size < 2 * labels:
            raise ValueError(
                f"draws by variance need about {human_bytes(2 * labels * each)} for two candidates "
                f"per label, over the memory_limit of {human_bytes(limit)}: lower budget, or raise "
                f"memory_limit"
            )
    return size


def check_candidates(candidates: int | str | None, sampling: str) -> None:
    """Raise ValueError unless this is a number of candidates per label, "all" or None."""
    if candidates is not None and sampling == "leverage":
        raise ValueError(
            f"candidates are for sampling='variance' and 'random_variance', got candidates="
            f"{candidates!r} with sampling='leverage', which looks at all rows"
        )
    if isinstance(candidates, str):
        if candidates != "all":
            raise ValueError(
                f"candidates must be a number of rows per label, 'all' or None, got {candidates!r}"
            )
    elif candidates is not None:
        check_count(candidates, "candidates")


def check_labelled(sampling: str, budget: int, labelled: ArrayLike | None, n_rows: int) -> Array:
    """Return the numbers of rows that are labelled already, in increasing order."""
    if labelled is None:
        return np.zeros(0, dtype=np.intp)
    if sampling == "leverage":
        raise ValueError(
            "labelled rows are for sampling='variance' and 'random_variance', got "
            "sampling='leverage', which draws each row independently of others"
        )
    rows = check_indices(labelled, n_rows, "labelled")
    if len(np.unique(rows)) < len(rows):
        raise ValueError("labelled must be different rows of the pool, got some of them twice")
    if budget > n_rows - len(rows):
        raise ValueError(
            f"budget must be at most the {n_rows - len(rows)} rows of the pool that have no label "
            f"yet, got {budget}"
        )
    return np.sort(rows)

"""Bandwidth and lambda for each system of tables 2 to 4, by 5-fold cross-validation.

Every system is tuned as it is: with its shards, its random features and its rounds. In a fold its
shards have four fifths of their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from experiments.distributed_ranking.paths import features_path, kernel_path
from experiments.distributed_ranking.rows import deal
from experiments.distributed_ranking.selection import BANDWIDTHS, DECIMALS, FOLDS, LAMBDAS, Choice
from experiments.distributed_ranking.systems import (
    CONJUGATE,
    EXACT_RF,
    LITERAL,
    LOCAL,
    MEAN,
    WITHIN,
    Cell,
)
from experiments.scaffold import Array
from mercer import Gaussian, RandomFeatures

#: Bandwidth and lambda by system.
Choices = dict[Cell, Choice]


@dataclass(frozen=True)
class Fold:
    """Rows to fit, rows that are held out, and their pairs: the first has the larger y."""

    train: Array
    out: Array
    y: Array
    first: Array
    second: Array

    @classmethod
    def of(cls, y: Array, out: Array) -> Fold:
        """Hold some rows out."""
        first, second = np.nonzero(y[out][:, None] > y[out])
        return cls(np.flatnonzero(~out), np.flatnonzero(out), y[~out], first, second)

    def errors(self, scores: Array) -> Array:
        """Return the pairwise error of each column.

        Rounding is no order, and what has run off is none either.
        """
        scores = np.round(np.nan_to_num(scores / np.std(self.y)), DECIMALS)
        return np.asarray(np.mean(scores[self.first] <= scores[self.second], axis=0))


def tuned_as(cell: Cell) -> Cell:
    """Return the system whose choice a cell has.

    MPRank has the bandwidth of LSRank, and chooses lambda itself. What one processor does for a
    distributed system has the choice of the system. Rounds that are stopped have that of rounds
    that are not, and conjugate rounds that of what they lead to.
    """
    if cell.system in ("LSRank", "MPRank", MEAN):  # the last has no parameters
        return Cell("LSRank")
    if cell.system in (CONJUGATE, EXACT_RF):
        return Cell(EXACT_RF, cell.components)
    if cell.system in LOCAL:
        return replace(cell, system=cell.system.removesuffix(", one shard"))
    if cell.system == "DRank-RF-C":
        return replace(cell, system=LITERAL, pairs=WITHIN)
    return cell


def tuned(cells: Iterable[Cell]) -> list[Cell]:
    """Return the systems that are tuned, each once.

    >>> tuned([Cell("LSRank"), Cell("MPRank"), Cell("DRank, one shard", 0, 2)])[1].system
    'DRank'
    """
    return list(dict.fromkeys(map(tuned_as, cells)))


def choice_for(cell: Cell, chosen: Choice | Choices) -> Choice:
    """Return the bandwidth and lambda of a system: its own, or those that all share."""
    return chosen if isinstance(chosen, Choice) else chosen[tuned_as(cell)]


@threadpool_limits.wrap(limits=1)  # the same bits on any number of cores
def choose_each(
    X: Array,
    y: Array,
    cells: Sequence[Cell],
    bandwidths: Sequence[float] = BANDWIDTHS,
    lambdas: Sequence[float] = LAMBDAS,
) -> Choices:
    """Return for each system the bandwidth and lambda with the least mean error over folds."""
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    folds = [Fold.of(y, fold == k) for k in range(FOLDS)]
    errors = {cell: np.zeros((len(bandwidths), len(lambdas))) for cell in cells}
    squares = cdist(X, X, "sqeuclidean") if any(not cell.components for cell in cells) else None
    for place, bandwidth in enumerate(bandwidths):
        for m in sorted({cell.components for cell in cells}):
            ours = [cell for cell in cells if cell.components == m]
            if m:
                basis = RandomFeatures(m, kernel=Gaussian(bandwidth), random_state=0)
                seen = basis.fit(X).transform(X)
            else:
                assert squares is not None
                seen = np.exp(-squares / (2 * bandwidth**2))
            for one in folds:
                for cell, scores in _scores(ours, seen, one, lambdas):
                    errors[cell][place] += one.errors(scores)
    return {cell: _least(found, bandwidths, lambdas) for cell, found in errors.items()}


def _scores(
    cells: Sequence[Cell], seen: Array, fold: Fold, lambdas: Sequence[float]
) -> Iterable[tuple[Cell, Array]]:
    """Yield scores of the rows held out by each system, which share what they can."""
    for p in sorted({cell.shards for cell in cells}):
        ours = [cell for cell in cells if cell.shards == p]
        labels, rounds = deal(len(fold.y), p), [cell.rounds for cell in ours if cell.rounds]
        if ours[0].components:
            rows = seen[fold.train], fold.y, seen[fold.out]
            found = features_path(*rows, labels, lambdas, rounds)
        else:
            K, K_new = (seen[np.ix_(at, fold.train)] for at in (fold.train, fold.out))
            found = kernel_path(K, fold.y, K_new, labels, lambdas, rounds)
        for cell in ours:
            yield cell, found[cell.rounds]


def _least(errors: Array, bandwidths: Sequence[float], lambdas: Sequence[float]) -> Choice:
    row, column = np.unravel_index(np.argmin(errors), errors.shape)
    return Choice(float(bandwidths[row]), float(lambdas[column]), float(errors.min() / FOLDS))

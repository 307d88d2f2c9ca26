"""Sums over left-out rows, which is all that shards send of them.

.. math:: n_b = \\sum_i w_i\\, 1\\{ r_i \\in b \\}

Counts of scaled errors in fixed bins add up over shards; quantiles are read from them. No row, no
target and no error leaves its shard.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from mercer.contracts import Array
from mercer.inference.left_out_pass import LeftOutRows, LeftOutShard

#: Edges of bins: about 2 percent apart far from 0, and that share of a unit near it.
EDGES = np.sinh(np.linspace(-12.0, 12.0, 1201))
#: Errors of equal weight that stand for the rows of a fold.
STAND_INS = 400


@dataclass(frozen=True)
class LeftOutSums:
    """Sums over left-out rows, of encoded targets; they can be added."""

    rows: int
    weight: float
    roots: Array  # (k,) of the roots of the sizes of errors
    y: Array  # (k,)
    yy: Array  # (k,)
    diagonal: float  # of K(x, x)
    novelty: Array  # (bins,) weights of rows by novelty

    def __add__(self, other: LeftOutSums) -> LeftOutSums:
        """Return the sums of both sets of rows."""
        names = [field.name for field in fields(self)]
        return LeftOutSums(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def mean(self) -> Array:
        """The mean of y."""
        return np.asarray(self.y / self.weight)

    @property
    def spread(self) -> Array:
        """The standard deviation of y."""
        return np.asarray(np.sqrt(np.maximum(self.yy / self.weight - self.mean**2, 0.0)))

    def novelty_at(self, share: float) -> float:
        """Return the novelty that a share of the rows does not exceed."""
        reached = np.cumsum(self.novelty) >= share * self.novelty.sum()
        return float(np.append(EDGES, np.inf)[np.argmax(reached)])


def sums_of(held: LeftOutShard) -> LeftOutSums:
    """Task: return the sums over the left-out rows of a shard."""
    rows = held.rows
    weight, Y = rows.weight, rows.targets
    novelty: Array = np.zeros(len(EDGES) + 1)
    diagonal = 0.0
    if held.novelty is not None and held.diagonal is not None:
        novelty = np.bincount(np.searchsorted(EDGES, held.novelty), weight, len(EDGES) + 1)
        diagonal = float(weight @ held.diagonal)
    return LeftOutSums(
        len(weight),
        float(weight.sum()),
        weight @ np.sqrt(np.abs(rows.errors)),
        weight @ Y,
        weight @ Y**2,
        diagonal,
        novelty,
    )


def counts_of(errors: Array, weight: Array, fold: Array, folds: int) -> Array:
    """Return weights of scaled errors by fold, bin and output."""
    bins, fold = len(EDGES) + 1, fold.astype(np.intp)
    counts = np.zeros((folds, bins, errors.shape[1]))
    for output in range(errors.shape[1]):
        cell = fold * bins + np.searchsorted(EDGES, errors[:, output])
        counts[:, :, output] = np.bincount(cell, weight, folds * bins).reshape(folds, bins)
    return counts


def stand_ins(counts: Array, rows: int) -> LeftOutRows:
    """Return errors of equal weight with the distribution of the counts, of shape (., k).

    >>> errors = np.random.default_rng(0).normal(size=(5000, 1))
    >>> counts = counts_of(errors, np.ones(5000), np.zeros(5000, dtype=int), 1)
    >>> found = stand_ins(counts, 5000)
    >>> float(np.quantile(found.targets, 0.9).round(1)), found.count
    (1.3, 5000)
    """
    levels = (np.arange(STAND_INS) + 0.5) / STAND_INS
    inner = np.concatenate([[EDGES[0]], EDGES, [EDGES[-1]]])
    errors, weights, folds = [], [], []
    for fold, by_bin in enumerate(counts):
        total = by_bin.sum(axis=0)
        if not total.max() > 0:
            continue
        reached = np.vstack([np.zeros(by_bin.shape[1]), np.cumsum(by_bin, axis=0)]) / total
        columns = [np.interp(levels, share, inner) for share in reached.T]
        errors.append(np.column_stack(columns))
        weights.append(np.full(STAND_INS, total[0] / STAND_INS))
        folds.append(np.full(STAND_INS, fold))
    stacked, zero = np.vstack(errors), np.zeros((len(errors) * STAND_INS, counts.shape[2]))
    fold_of = np.concatenate(folds).astype(np.int16)
    return LeftOutRows(zero, zero, stacked, np.concatenate(weights), fold_of, count=rows)

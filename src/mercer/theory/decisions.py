"""Error rates of many classifiers on held-out folds: a count over rows.

.. math:: \\text{wrong}_{qk} = \\sum_{i \\in \\text{fold } k} w_i
          \\big[\\arg\\max_o f_{qo}(x_i) \\ne \\arg\\max_o y_{io}\\big]

for models q of the same functions. Squared errors come from moments alone; decisions need another
pass, whose counts add over blocks and shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, Targets
from mercer.moments.by_fold import pieces_of, share_functions
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.theory.sub_sums import HELD, Measured


@dataclass(frozen=True)
class Wrong:
    """Weight of wrong decisions (models, folds), and of all rows (folds,)."""

    wrong: Array
    weight: Array

    def __add__(self, other: Wrong) -> Wrong:
        return Wrong(self.wrong + other.wrong, self.weight + other.weight)


def error_rates(
    rows: RowSet,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    seed: int,
    models: Sequence[Measured],
    held: Sequence[Sequence[int]] | None = None,
) -> list[float]:
    """Return the error rate of each model on the folds of the test, or on those in ``held``.

    ``reading`` and ``seed`` are those of the pass that summed the moments: they say which fold a
    row is in.
    """
    C = np.hstack([model.coefficients for model in models])
    constants = np.concatenate([model.intercept for model in models])
    total: Wrong = rows.sum(
        wrong_of,
        add_counts,
        targets,
        share_functions(rows, basis),
        rows.reading(reading),
        seed,
        rows.share(C, "models"),
        constants,
        label="error rates",
        record="error rates",
    )
    tests = [list(HELD)] * len(models) if held is None else [list(folds) for folds in held]
    return [
        float(wrong[test].sum() / total.weight[test].sum())
        for wrong, test in zip(total.wrong, tests, strict=True)
    ]


def add_counts(first: Wrong, second: Wrong) -> Wrong:
    """Add the counts of two sets of rows."""
    return first + second


def wrong_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    seed: int,
    C: Array,
    constants: Array,
) -> Wrong:
    """Task: count the wrong decisions of every model in every fold of a shard."""
    outputs = targets.outputs
    wrong = np.zeros((len(constants) // outputs, reading.folds))
    weight = np.zeros(reading.folds)
    with shard.naming():
        for fold, (X, Y, w), _ in pieces_of(shard, targets, reading, shard.seed(seed)):
            known = ~np.isnan(Y).any(axis=1)
            if not known.any():
                continue
            scores = basis.orthogonalized(X[known]) @ C + constants
            truth = decided(Y[known])
            given = np.ones(len(truth)) if w is None else w[known]
            for at in range(len(wrong)):
                said = decided(scores[:, at * outputs : (at + 1) * outputs])
                wrong[at, fold] += given @ (said != truth)
            weight[fold] += given.sum()
    return Wrong(wrong, weight)


def decided(scores: Array) -> Array:
    """Return the class of each row: the largest column, or the sign of a single one."""
    return scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)

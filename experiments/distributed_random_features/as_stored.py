"""Figures 12 to 14 in the setting of code that an author published, for its stored curves.

The code (github.com/superlj666/Distributed-Learning-with-Random-Features) has 250,000 rows, five of
six to train on; classes 0 and 1, told apart at 1/2; a constant beside the features, penalized as
they are; lambda against the sum of the squared errors of a shard; and one draw of features for all
repeats. Its curves against M have 500 shards, not the 20 of the text: at M = 500 they have the
errors that its curves against m have at m = 500.

Where fewer rows are at hand, fewer shards have as many rows each as the authors' have.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.distributed_random_features import real
from experiments.distributed_random_features.measured import Measured, measured
from experiments.distributed_random_features.real import FEATURES, FIXED_COMPONENTS, SEED, RealSet
from experiments.scaffold import Array
from experiments.scaffold.data import Split
from experiments.scaffold.local_ridge import averaged
from experiments.scaffold.runner import Job
from mercer import Gaussian, RandomFeatures

#: Where the authors' curves come from.
SOURCE = "github.com/superlj666/Distributed-Learning-with-Random-Features, folder results/Exp1"
#: What the names of these parts end on, and what is varied beside M.
STORED, SHARDS = "_stored", "shards"
#: The authors' rows to train and to test on, and their shards where M is varied.
AUTHORS_ROWS, AUTHORS_TEST, AUTHORS_SHARDS = 208_333, 41_667, 500
#: A group, M and m.
Cell = tuple[str, int, int]


def same_rows(rows: int, shards: int) -> int:
    """Return how many shards of these rows have as many each as the authors' have.

    >>> same_rows(25_000, 500)
    60
    """
    return max(1, round(shards * rows / AUTHORS_ROWS))


def cells(job: Job, chosen: RealSet) -> list[Cell]:
    """Return the points of both curves."""
    few = same_rows(chosen.train, AUTHORS_SHARDS)
    by_m = sorted({same_rows(chosen.train, m) for m in job.size.stored_partitions})
    return [
        *((FEATURES, M, few) for M in job.size.stored_components),
        *((SHARDS, FIXED_COMPONENTS, m) for m in by_m),
    ]


def run(job: Job) -> list[Measured]:
    """Measure both curves on the same rows; keep each repeat at once."""
    chosen = job.size.cut(real.SETS[job.part.removesuffix(STORED)])
    train, test = min(chosen.train, AUTHORS_ROWS), min(chosen.test, AUTHORS_TEST)
    chosen = replace(chosen, train=train, test=test)
    X, y = real.load(chosen)
    errors: dict[Cell, list[float]] = defaultdict(list)
    found: list[Measured] = []
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for trial in range(chosen.stored_trials):
            rows = real.split(chosen, X, y, trial)
            for cell in cells(job, chosen):
                errors[cell].append(error(chosen, rows, *cell[1:]))
            found = [
                measured(group, "DKRR-RF", (chosen.train, M, m, chosen.alpha(m)), values, [0.0])
                for (group, M, m), values in errors.items()
            ]
            job.keep(found)
            job.progress.count(f"{job.part}, repeats", trial + 1, chosen.stored_trials)
    return found


def error(chosen: RealSet, rows: Split, components: int, shards: int) -> float:
    """Return the share of test rows in the wrong class; shards are of every ``shards``-th row."""
    rng = np.random.default_rng([SEED, components])  # the same features in every repeat
    kernel = Gaussian(chosen.bandwidth)
    basis = RandomFeatures(components, kernel=kernel, random_state=rng).fit(rows.X[:1])

    def functions(X: Array) -> Array:
        values = np.ones((len(X), components + 1))
        values[:, :-1] = basis.transform(X)
        return values

    w = np.zeros(components + 1)
    for j in range(shards):
        own, ones = rows.X[j::shards], (rows.y[j::shards, None] == 1).astype(float)
        w += averaged(functions(own), ones, [chosen.penalty / len(own)], 1)[0][0, :, 0] / shards
    return float(np.mean((functions(rows.X_test) @ w > 0.5) != (rows.y_test == 1)))

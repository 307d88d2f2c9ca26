"""Figures 9 to 11 with the paper's equations as printed, by what its lambda may mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.data_dependent_features import eeg
from experiments.data_dependent_features.eeg import ALPHA, LITERAL, NONE, PLAIN, Split
from experiments.data_dependent_features.measured import Reading
from experiments.scaffold import Array
from experiments.scaffold.local_ridge import averaged
from experiments.scaffold.runner import Job
from mercer import Gaussian

#: The paper's lambda.
PENALTY = 2.0**-4
#: What it may count against, and the alpha of the other parts of this experiment.
OF_MEAN, OF_SHARD, OF_ALL, OURS = "mean", "sum of a shard", "sum of all rows", "2^-10"
READINGS = (OF_MEAN, OF_SHARD, OF_ALL, OURS)
WAYS = (LITERAL, NONE, PLAIN)
#: What is varied: M, rows without labels, or shards.
COMPONENTS, UNLABELED, PARTITIONS = "figure 9", "figure 10", "figure 11"


@dataclass(frozen=True)
class Cell:
    """One point of a curve."""

    figure: str
    method: str
    labeled: int
    components: int
    shards: int
    unlabeled: int


def alphas(rows: int, shards: int) -> list[float]:
    """Return alpha, which counts against the mean of squares in a shard, for each reading.

    >>> [float(alpha / 2**-4) for alpha in alphas(rows=1000, shards=10)[:3]]
    [1.0, 0.01, 0.001]
    """
    return [PENALTY, PENALTY * shards / rows, PENALTY / rows, ALPHA]


def run(job: Job) -> list[Reading]:
    """Measure every cell at every reading, on the same rows and features; keep each split."""
    found: dict[Cell, list[Array]] = defaultdict(list)
    kept: list[Reading] = []
    X, y = eeg.load()
    with threadpool_limits(limits=1):
        for done, trial in enumerate(job.size.reading_splits, start=1):
            for cells in (components, semi_supervised):
                for cell, accuracies in cells(job.size, X, y, trial):
                    found[cell].append(accuracies)
            kept = [row for cell in found for row in summarized(cell, found[cell])]
            job.keep(kept)
            job.progress.count("readings, splits", done, len(job.size.reading_splits))
    return kept


def components(size: Any, X: Array, y: Array, trial: int) -> Iterator[tuple[Cell, Array]]:
    """Vary M, without other rows (figure 9)."""
    rows = eeg.split(X, y, len(X) // 2, 0, trial)
    for M in size.components:
        for method, (chosen, _) in eeg.choose(rows, M, trial, WAYS).items():
            values = evaluated(chosen, rows)
            for m in size.at_partitions:
                yield Cell(COMPONENTS, method, len(rows.X), M, m, 0), accuracy(rows, *values, m)


def semi_supervised(size: Any, X: Array, y: Array, trial: int) -> Iterator[tuple[Cell, Array]]:
    """Vary the rows without labels (figure 10) and the shards (figure 11)."""
    M, counts, most = size.semi_components, size.unlabeled, max(size.unlabeled)
    rows = eeg.split(X, y, size.labeled, most, trial)
    for method, (chosen, _) in eeg.choose(rows, M, trial, WAYS).items():
        H, H_test = evaluated(chosen, rows)
        cells = [Cell(UNLABELED, method, size.labeled, M, size.shards, count) for count in counts]
        cells += [
            Cell(PARTITIONS, method, size.labeled, M, m, count)
            for m in size.reading_partitions
            for count in (0, most)
        ]
        for cell in cells:
            fewer = H[: len(rows.X) + cell.unlabeled]
            yield cell, accuracy(rows, fewer, H_test, cell.shards)


def evaluated(features: Any, rows: Split) -> tuple[Array, Array]:
    """Return the values of features at rows to train on, labeled ones first, and to test on."""
    basis = eeg.GivenFeatures(features, kernel=Gaussian(eeg.BANDWIDTH)).fit(rows.X[:1])
    H, H_test = (
        np.asarray(basis.transform(part), dtype=float)
        for part in (np.vstack([rows.X, rows.X_unlabeled]), rows.X_test)
    )
    return H, H_test


def accuracy(rows: Split, H: Array, H_test: Array, shards: int) -> Array:
    """Return the share of test rows in the right class at each reading, without an intercept."""
    sign = np.where(rows.y[:, None] == 1, 1.0, -1.0)
    w, _ = averaged(H, sign, alphas(len(H), shards), shards)
    return np.asarray(np.mean((H_test @ w[:, :, 0].T > 0) == (rows.y_test[:, None] == 1), axis=0))


def summarized(cell: Cell, found: Sequence[Array]) -> Iterator[Reading]:
    """Return a cell at each reading."""
    at_each = alphas(cell.labeled + cell.unlabeled, cell.shards)
    for reading, alpha, accuracies in zip(READINGS, at_each, np.transpose(found), strict=True):
        setting = (cell.components, cell.shards, cell.unlabeled, alpha)
        yield Reading(cell.figure, cell.method, reading, *setting, tuple(accuracies.tolist()))


def at(found: Sequence[Reading], **wanted: Any) -> list[Reading]:
    """Return records in the order of what their figure varies."""
    rows = [row for row in found if all(getattr(row, k) == v for k, v in wanted.items())]
    return sorted(rows, key=lambda row: (row.components, row.shards, row.unlabeled))

"""Figures 9 to 11 in the setting of code that an author published, which the text does not tell.

The code (github.com/superlj666/Agnostic-RF) standardizes rows, not columns; has M frequencies with
a cosine and a sine each; draws none of them again, but weighs all by ``sqrt(1 / q)``, with
``q_j = s_j / (s_1 + ... + s_2M)`` and ``s_j = (sum_i y_i psi_j(x_i))^2``; and has lambda = 2^-4
against the sum of the squared errors of a shard.

As ``1 / q`` is of the order of the number of functions, weights also make lambda smaller by so
much. ``plain, smaller lambda`` has the same functions without weights and lambda divided by the
median of ``1 / q``, which tells the two apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.data_dependent_features import eeg
from experiments.data_dependent_features.eeg import PLAIN, SEED
from experiments.data_dependent_features.measured import Reading
from experiments.data_dependent_features.readings import COMPONENTS, PARTITIONS, PENALTY, UNLABELED
from experiments.scaffold import Array
from experiments.scaffold.local_ridge import averaged
from experiments.scaffold.runner import Job

WEIGHED, SMALLER = "weighed by sqrt(1/q)", "plain, smaller lambda"
#: What lambda counts against.
AS_PUBLISHED = "as published"
#: A figure, a method, M, m and rows without labels.
Cell = tuple[str, str, int, int, int]


def standardized(X: Array) -> Array:
    """Return rows with mean 0 and standard deviation 1 over their own columns.

    >>> standardized(np.array([[1.0, 2.0, 3.0]]))
    array([[-1.,  0.,  1.]])
    """
    deviations = X.std(axis=1, ddof=1, keepdims=True)
    return np.asarray((X - X.mean(axis=1, keepdims=True)) / deviations)


def pairs(X: Array, M: int, rng: np.random.Generator) -> Array:
    """Return cosines and sines of M frequencies of the Gaussian kernel, divided by sqrt(M)."""
    frequencies = rng.standard_normal((X.shape[1], M)) / eeg.BANDWIDTH
    waves = X @ frequencies + rng.uniform(0, 2 * np.pi, M)
    return np.hstack([np.cos(waves), np.sin(waves)]) / np.sqrt(M)


def weights(H: Array, sign: Array) -> Array:
    """Return ``sqrt(1 / q)`` of every function, from rows with labels.

    >>> weights(np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([1.0, -1.0])).round(3)
    array([1.054, 3.162])
    """
    scores = (H.T @ sign) ** 2
    return np.asarray(np.sqrt(scores.sum() / scores))


def run(job: Job) -> list[Reading]:
    """Measure every cell on the same rows and frequencies; keep each split."""
    found: dict[Cell, list[float]] = defaultdict(list)
    kept: list[Reading] = []
    X, y = eeg.load()
    X, sign = standardized(X), np.where(y == 1, 1.0, -1.0)
    with threadpool_limits(limits=1):
        for done in range(job.size.published_splits):
            for cell, accuracy in split(job.size, X, sign, done):
                found[cell].append(accuracy)
            kept = [
                Reading(*cell[:2], AS_PUBLISHED, *cell[2:], PENALTY, tuple(values))
                for cell, values in found.items()
            ]
            job.keep(kept)
            job.progress.count("published, splits", done + 1, job.size.published_splits)
    return kept


def split(size: Any, X: Array, sign: Array, trial: int) -> Iterator[tuple[Cell, float]]:
    """Measure all three figures on one order of the rows."""
    rng = np.random.default_rng([SEED, trial])
    order = rng.permutation(len(X))
    X, sign = X[order], sign[order]
    half, known, most = len(X) // 2, size.labeled, max(size.unlabeled)
    for M in size.published_components:
        for method, H, penalty in ways(pairs(X, M, rng), sign, half):
            for m in size.at_partitions:
                cell = (COMPONENTS, method, M, m, 0)
                yield cell, accuracy(H, sign, half, half, m, penalty)
    M = size.semi_components
    for method, H, penalty in ways(pairs(X, M, rng), sign, known):
        counts = [(UNLABELED, size.shards, count) for count in size.unlabeled]
        counts += [(PARTITIONS, m, count) for m in size.partitions for count in (0, most)]
        for figure, m, count in counts:
            rows = np.r_[: known + count, known + most : len(H)]
            found = accuracy(H[rows], sign[rows], known, known + count, m, penalty)
            yield (figure, method, M, m, count), found


def ways(H: Array, sign: Array, known: int) -> Iterator[tuple[str, Array, float]]:
    """Return functions and the penalty of each method."""
    w = weights(H[:known], sign[:known])
    yield PLAIN, H, PENALTY
    yield SMALLER, H, PENALTY / float(np.median(w**2))
    yield WEIGHED, H * w, PENALTY


def accuracy(H: Array, sign: Array, known: int, train: int, m: int, penalty: float) -> float:
    """Return the share of rows after ``train`` in the right class; ``known`` rows have labels."""
    w, _ = averaged(H[:train], sign[:known, None], [penalty * m / train], m)
    return float(np.mean((H[train:] @ w[0, :, 0] > 0) == (sign[train:] > 0)))

"""Kernel parameters estimated from data in shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.contracts import Array
from mercer.kernels import Kernel
from mercer.kernels.bandwidth import SAMPLE
from mercer.kernels.kernel import ESTIMATED
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling.landmark_rows import uniform_indices

#: Fewer rows say little about distances: not the median of a shard, nor a model of its own.
FEW = 10


def kernel_of_rows(rows: RowSet, kernel: Kernel, drawn: int, seed: Callable[[], int]) -> Kernel:
    """Return a kernel with numeric parameters, or one to be fitted to a sample of all rows.

    With a single shard, or if a basis draws enough rows at random (``drawn``), that sample is used;
    otherwise each shard estimates the parameters from its own rows. If most rows are in shards of
    fewer than ``FEW`` rows, the shards send a sample of their rows instead: the sums of so few rows
    would tell as much about them.
    """
    enough = drawn >= min(SAMPLE, rows.n_rows)
    if rows.one_place or enough or not kernel.needs_rows:
        return kernel
    counts = np.array([fact.rows for fact in rows.facts])
    if counts[counts < FEW].sum() > rows.n_rows / 2:
        rng = np.random.default_rng(seed())
        sample = rows.take(uniform_indices(rows.n_rows, SAMPLE, rng))
        if rows.sent is not None:
            rows.sent.record("bandwidth", 0, -(-sample.size // rows.sent.shards))
        return kernel.fitted(sample)
    parts = rows.map(spread_of, kernel, seed(), label="bandwidth", record="bandwidth")
    return pooled_kernel(kernel, parts)


def spread_of(shard: Shard, kernel: Kernel, seed: int) -> tuple[int, dict[str, Any], Array, Array]:
    """Task: return the row count, the fitted parameters, the means and standard deviations."""
    source = shard.source
    rng = np.random.default_rng([seed, shard.number])
    with shard.naming():
        sample = source.take(uniform_indices(source.n_rows, SAMPLE, rng))
        dense = np.asarray(sample.toarray() if hasattr(sample, "toarray") else sample, float)
        found = kernel.fitted(dense).get_params()
    numbers = {k: v for k, v in found.items() if isinstance(v, (int, float, np.ndarray))}
    # In a unit near the largest value, a power of two, squares neither overflow nor vanish.
    unit = 2.0 ** min(np.frexp(np.abs(dense).max())[1], 1023)
    return source.n_rows, numbers, dense.mean(axis=0), unit * (dense / unit).std(axis=0)


def pooled_kernel(
    kernel: Kernel, parts: Sequence[tuple[int, dict[str, Any], Array, Array]]
) -> Kernel:
    """Return a kernel whose estimated parameters are pooled over the shards.

    When shards lie far apart, distances within a shard are shorter than distances between shards.
    The mean of the medians is therefore multiplied by the ratio of the total spread to the spread
    within shards. Shards of fewer than ``FEW`` rows have no say in the mean of the medians.
    """
    counts = np.array([rows for rows, *_ in parts], dtype=float)
    shares = counts / counts.sum()
    means = np.array([mean for *_, mean, _ in parts])
    spreads = np.array([spread for *_, spread in parts])
    unit = max(float(spreads.max()), np.finfo(float).tiny)
    within = float(shares @ ((spreads / unit) ** 2).sum(axis=1))
    center = shares @ means
    between = float(shares @ (((means - center) / unit) ** 2).sum(axis=1))
    widened = np.sqrt(1.0 + between / within) if within > 0 else 1.0
    told = np.where(counts < FEW, 0.0, counts) if counts.max() >= FEW else counts
    told /= told.sum()
    found = {
        name: float(widened * (told @ np.array([numbers[name] for _, numbers, *_ in parts])))
        for name in kernel.parameters_with(*ESTIMATED)
    }
    pooled: Kernel = clone(kernel).set_params(**found)
    return pooled

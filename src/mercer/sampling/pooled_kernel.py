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
from mercer.sampling.uniform import uniform_indices


def kernel_of_rows(rows: RowSet, kernel: Kernel, drawn: int, seed: Callable[[], int]) -> Kernel:
    """Return a kernel with numeric parameters, or one to be fitted to a sample of all rows.

    With a single shard, or if a basis draws enough rows at random (``drawn``), that sample is used;
    otherwise each shard estimates the parameters from its own rows.
    """
    enough = drawn >= min(SAMPLE, rows.n_rows)
    if rows.one_place or enough or not kernel.needs_rows:
        return kernel
    parts = rows.map(spread_of, kernel, seed(), label="bandwidth", record="bandwidth")
    return pooled_kernel(kernel, parts)


def spread_of(shard: Shard, kernel: Kernel, seed: int) -> tuple[int, dict[str, Any], Array, Array]:
    """Task: return the row count, the fitted kernel parameters, the mean and the variance."""
    source = shard.source
    rng = np.random.default_rng([seed, shard.number])
    with shard.naming():
        sample = source.take(uniform_indices(source.n_rows, SAMPLE, rng))
        dense = np.asarray(sample.toarray() if hasattr(sample, "toarray") else sample, float)
        found = kernel.fitted(dense).get_params()
    numbers = {k: v for k, v in found.items() if isinstance(v, (int, float, np.ndarray))}
    return source.n_rows, numbers, dense.mean(axis=0), dense.var(axis=0)


def pooled_kernel(
    kernel: Kernel, parts: Sequence[tuple[int, dict[str, Any], Array, Array]]
) -> Kernel:
    """Return a kernel whose estimated parameters are pooled over the shards.

    When shards lie far apart, distances within a shard are shorter than distances between shards.
    The mean of the medians is therefore multiplied by the ratio of the total spread to the spread
    within shards.
    """
    counts = np.array([rows for rows, *_ in parts], dtype=float)
    shares = counts / counts.sum()
    means = np.array([mean for *_, mean, _ in parts])
    within = float(shares @ np.array([variance.sum() for *_, variance in parts]))
    center = shares @ means
    between = float(shares @ ((means - center) ** 2).sum(axis=1))
    widened = np.sqrt(1.0 + between / within) if within > 0 else 1.0
    found = {
        name: float(widened * (shares @ np.array([numbers[name] for _, numbers, *_ in parts])))
        for name in kernel.parameters_with(*ESTIMATED)
    }
    pooled: Kernel = clone(kernel).set_params(**found)
    return pooled

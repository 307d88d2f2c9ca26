"""Seconds and bytes of a fit over shards, from its sizes and the speeds of a machine.

A pass over rows is shared by the workers; what follows it depends on how shards are combined:

========  ================================================  =============================
          after the pass                                    sent by each shard
========  ================================================  =============================
sum       one solve of M functions                          M ((M + 1) / 2 + k + 2) numbers
average   a solve in every shard, then a mean               M k numbers
rounds    a factor in every shard, then two products each   2 M k numbers a round
products  a solve by passes over rows                       M k numbers a step
========  ================================================  =============================

The speeds of this machine are measured, in about half a second.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from scipy.linalg import eigh

from mercer.contracts import Rows
from mercer.engines import available_cores, blas_threads
from mercer.kernels import Kernel
from mercer.plan.cost import (
    PILOT,
    STEPS,
    Speeds,
    direct_seconds,
    full_direct_seconds,
    full_product_seconds,
    pilot_of_shards,
    product_seconds,
)
from mercer.plan.moments_or_products import RANK

#: Bytes of a number.
WIDTH = 8
#: Seconds that a task takes to start and its result to be collected, and a fit to be set up.
TASK, START = 0.02, 0.2
#: The passes over rows of a fit that chooses alpha by leave-one-out on some of them, in fits with
#: one alpha (measured in ``experiments/alpha_choice``).
CHOOSING = 1.33
#: Rows, functions and repetitions of the measurement of speeds; the fastest repetition counts,
#: because other programs only slow it down.
ROWS, FUNCTIONS, REPEATS = 4096, 512, 3


@dataclass(frozen=True)
class Cluster:
    """Workers as fast as this machine, and the bytes per second between them."""

    workers: int = 1
    network: float = 125e6


@dataclass(frozen=True)
class Sizes:
    """n rows of d columns and k outputs, M functions, m shards, rounds."""

    n_rows: float
    n_features: int
    outputs: int
    functions: int
    shards: int = 1
    rounds: int = 0
    full: bool = False  # one function per row, in every shard

    @property
    def rows_each(self) -> float:
        """The rows of a shard."""
        return self.n_rows / self.shards

    @property
    def basis_bytes(self) -> float:
        """Bytes of the functions that a shard receives: their points."""
        return 0.0 if self.full else WIDTH * float(self.functions) * self.n_features

    @property
    def model_bytes(self) -> float:
        """Bytes of the coefficients that a shard sends; with the full kernel, its rows too."""
        if self.full:
            return WIDTH * self.rows_each * (self.n_features + self.outputs)
        return WIDTH * float(self.functions) * self.outputs


def sum_cost(sizes: Sizes, speeds: Speeds, cluster: Cluster) -> tuple[float, float]:
    """Return seconds and bytes sent by a shard for an exact sum of moments."""
    sent = WIDTH * float(sizes.functions) * ((sizes.functions + 1) / 2 + sizes.outputs + 2)
    rows = sizes.n_rows / cluster.workers
    pass_seconds = CHOOSING * speeds.sums(rows, sizes.functions, sizes.n_features)
    seconds = START + pass_seconds + speeds.solve(sizes.functions, open_alpha=True)
    if cluster.workers > 1:  # sums travel up a tree
        seconds += ceil(log2(cluster.workers)) * (sent / cluster.network + TASK)
        seconds += sizes.basis_bytes / cluster.network
    return seconds, sent


def products_cost(sizes: Sizes, speeds: Speeds, cluster: Cluster) -> tuple[float, float]:
    """Return seconds and bytes sent by a shard for a solve by products."""
    rows = sizes.n_rows / cluster.workers
    common = (sizes.functions, sizes.n_features, sizes.outputs)
    seconds = START + product_seconds(rows, *common, keep=True, open_alpha=False, speeds=speeds)
    seconds += _pilot(sizes, speeds, cluster, min(PILOT, sizes.functions))
    sent = STEPS * sizes.model_bytes
    if cluster.workers > 1:
        seconds += STEPS * (sizes.model_bytes / cluster.network + TASK)
        seconds += sizes.basis_bytes / cluster.network
    return seconds, sent


def average_cost(sizes: Sizes, speeds: Speeds, cluster: Cluster) -> tuple[float, float]:
    """Return seconds and bytes sent by a shard for an average, with the pilot fit for alpha."""
    waves = ceil(sizes.shards / cluster.workers)
    if sizes.full:
        one = full_direct_seconds(sizes.rows_each, sizes.n_features, False, speeds)
    else:
        one = direct_seconds(
            sizes.rows_each, sizes.functions, sizes.n_features, False, False, speeds
        )
    seconds = waves * (one + TASK)
    if sizes.shards > 1 or not sizes.full:
        functions = PILOT if sizes.full else pilot_of_shards(sizes.functions)
        seconds += _pilot(sizes, speeds, cluster, functions)
    if cluster.workers > 1:
        seconds += sizes.basis_bytes / cluster.network
        seconds += sizes.shards * sizes.model_bytes / cluster.network  # all to one place
    return seconds, sizes.model_bytes


def rounds_cost(sizes: Sizes, speeds: Speeds, cluster: Cluster) -> tuple[float, float]:
    """Return seconds and bytes sent by a shard for rounds."""
    waves = ceil(sizes.shards / cluster.workers)
    one = direct_seconds(sizes.rows_each, sizes.functions, sizes.n_features, False, False, speeds)
    round_seconds = 4 * waves * float(sizes.functions) ** 2 * sizes.outputs / speeds.narrow
    if cluster.workers > 1:
        round_seconds += 2 * (sizes.shards * sizes.model_bytes / cluster.network + TASK)
    seconds = waves * (one + TASK) + sizes.rounds * round_seconds
    seconds += _pilot(sizes, speeds, cluster, pilot_of_shards(sizes.functions))
    return seconds, 2 * sizes.rounds * sizes.model_bytes


def full_cost(sizes: Sizes, speeds: Speeds, cluster: Cluster) -> tuple[float, float]:
    """Return seconds of the exact kernel on one machine, which sends nothing."""
    return START + full_direct_seconds(sizes.n_rows, sizes.n_features, True, speeds), 0.0


def full_products_cost(sizes: Sizes, speeds: Speeds, cluster: Cluster) -> tuple[float, float]:
    """Return seconds of the exact kernel by products on one machine, which sends nothing."""
    rank = min(RANK, max(100, int(sizes.n_rows ** (2 / 3))))
    return full_product_seconds(sizes.n_rows, sizes.n_features, rank, True, speeds), 0.0


def _pilot(sizes: Sizes, speeds: Speeds, cluster: Cluster, size: int) -> float:
    """Return the seconds of the fit of ``size`` functions that chooses alpha for all shards."""
    rows = sizes.n_rows / cluster.workers
    sums = CHOOSING * speeds.sums(rows, size, sizes.n_features)
    return START + sums + speeds.solve(size, open_alpha=True)


Cost = Callable[[Sizes, Speeds, Cluster], tuple[float, float]]

#: How shards are combined, and what it costs.
COSTS: dict[str, Cost] = {
    "full": full_cost,
    "full products": full_products_cost,
    "sum": sum_cost,
    "products": products_cost,
    "average": average_cost,
    "rounds": rounds_cost,
}


# -- the speeds of this machine ----------------------------------------------------------------


def measured_speeds(kernel: Kernel, sample: Rows) -> Speeds:
    """Return the speeds of this machine for a kernel, on rows like those of ``sample``.

    The seconds for a kernel value include its columns, so ``column`` is 0.
    """
    rng = np.random.default_rng(0)
    X = sample[rng.integers(sample.shape[0], size=ROWS)]
    block = kernel.fitted(sample).against(X[:FUNCTIONS], "float32")
    H = np.empty((ROWS, FUNCTIONS), dtype=np.float32)
    c = rng.standard_normal((FUNCTIONS, 1)).astype(np.float32)
    total = np.zeros((FUNCTIONS, FUNCTIONS))
    A = np.cov(rng.standard_normal((FUNCTIONS, 2 * FUNCTIONS)))

    def add_outer() -> None:
        np.add(total, H.T @ H, out=total)

    with blas_threads(available_cores()):
        evaluate = _fastest(lambda: block(X, H))
        outer = _fastest(add_outer)
        narrow = _fastest(lambda: H.T @ (H @ c))
        factor = _fastest(lambda: eigh(A, driver="evd", check_finite=False))
    work = ROWS * FUNCTIONS
    return Speeds(
        outer=work * FUNCTIONS / outer,
        factor=6.0 * FUNCTIONS**3 / factor,
        narrow=2 * work / narrow,
        value=evaluate / work,
        column=0.0,
    )


def _fastest(call: Callable[[], object]) -> float:
    """Return the seconds of the fastest of a few calls, after one to warm up."""
    call()
    return max(min(timeit.repeat(call, number=1, repeat=REPEATS)), 1e-9)

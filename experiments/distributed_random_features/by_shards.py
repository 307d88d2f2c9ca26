"""Figures 12 to 14, right: error on real data against m, by what the paper's lambda may mean."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.distributed_random_features import real
from experiments.distributed_random_features.measured import Measured, measured
from experiments.distributed_random_features.real import FIXED_COMPONENTS, SEED, RealSet
from experiments.scaffold import Array
from experiments.scaffold.data import Split
from experiments.scaffold.local_ridge import averaged
from experiments.scaffold.runner import Job
from mercer import Gaussian, RandomFeatures

#: What the names of these parts end on.
BY_SHARDS = "_shards"
#: What the paper's lambda may count against: the sum of squares of a shard, as in code that the
#: authors published, so that alpha grows with m; the sum of all rows; or the mean, as in its
#: equation (5). The last two are the same alpha for every m.
OF_SHARD, OF_ALL, OF_MEAN = "sum of a shard", "sum of all rows", "mean"
READINGS = (OF_SHARD, OF_ALL, OF_MEAN)


def alphas(chosen: RealSet, shards: int) -> list[float]:
    """Return alpha, which counts against the mean of squares in a shard, for each reading.

    >>> [round(alpha * 2**6 * 250_000) for alpha in alphas(real.SETS["covtype"], 50)]
    [50, 1, 250000]
    """
    return [chosen.alpha(shards), chosen.alpha(1), chosen.penalty]


def run(job: Job) -> list[Measured]:
    """Measure the error against m at each reading; m = 1 is KRR-RF."""
    chosen = job.size.cut(real.SETS[job.part.removesuffix(BY_SHARDS)])
    X, y = real.load(chosen)
    partitions, trials = job.size.partitions, chosen.shard_trials
    errors = np.zeros((len(partitions), len(READINGS), trials))
    seconds = np.zeros((len(partitions), trials))
    found: list[Measured] = []
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for trial in range(trials):
            rows = real.split(chosen, X, y, trial)
            H, H_test = features(chosen, rows, trial)
            for i, m in enumerate(partitions):
                start = time.perf_counter()
                errors[i, :, trial] = curve(chosen, rows, H, H_test, m)
                seconds[i, trial] = time.perf_counter() - start
            found = []
            for j, reading in enumerate(READINGS):
                for i, m in enumerate(partitions):
                    done = slice(trial + 1)
                    setting = (chosen.train, FIXED_COMPONENTS, m, alphas(chosen, m)[j])
                    method = "DKRR-RF" if m > 1 else "KRR-RF"
                    both = errors[i, j, done].tolist(), seconds[i, done].tolist()
                    found.append(measured(reading, method, setting, *both))
            job.keep(found)
            job.progress.count(f"{job.part}, trials", trial + 1, trials)
    return found


def features(chosen: RealSet, rows: Split, trial: int) -> tuple[Array, Array]:
    """Return random features of the rows to train on, and of those to test on."""
    rng = np.random.default_rng([SEED, trial])
    kernel = Gaussian(chosen.bandwidth)
    basis = RandomFeatures(FIXED_COMPONENTS, kernel=kernel, random_state=rng).fit(rows.X[:1])
    return tuple(np.asarray(basis.transform(part), dtype=float) for part in (rows.X, rows.X_test))


def curve(chosen: RealSet, rows: Split, H: Array, H_test: Array, m: int) -> Array:
    """Return the share of test rows in the wrong class for each reading, with m shards."""
    sign = np.where(rows.y[:, None] == 1, 1.0, -1.0)
    w, constants = averaged(H, sign, alphas(chosen, m), m, intercept=True)
    positive = H_test @ w[:, :, 0].T + constants[:, 0] > 0
    return np.asarray(np.mean(positive != (rows.y_test[:, None] == 1), axis=0))

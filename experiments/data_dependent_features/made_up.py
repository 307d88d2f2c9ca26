"""A made-up regression: at which noise rows without labels begin to help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.data_dependent_features.measured import Excess
from experiments.scaffold import Array
from experiments.scaffold.local_ridge import averaged
from experiments.scaffold.records import deviation, select
from experiments.scaffold.runner import QUIET, Progress
from mercer import Gaussian, RandomFeatures

SEED = 11
LABELED, UNLABELED, TEST, COMPONENTS = 600, 2400, 1000, 100
BANDWIDTH = 0.5
NOISES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
PARTITIONS = (1, 10, 30)
ALPHAS = tuple(float(alpha) for alpha in 10.0 ** np.arange(-8, 1))
#: The penalty where both methods have the same.
SHARED_ALPHA = 1e-3
TRIALS = 20


def target(X: Array) -> Array:
    """Return the function to learn, of standard deviation 0.75."""
    return np.asarray(np.sin(4 * X[:, 0]) + 0.5 * np.cos(3 * X[:, 1]))


def errors(trial: int, shards: int, labeled: int = LABELED, unlabeled: int = UNLABELED) -> Array:
    """Return the excess risk (methods, alphas, noises) of one draw of rows and noise."""
    rng = np.random.default_rng([SEED, trial])
    X = rng.uniform(-1, 1, (labeled + unlabeled + TEST, 2))
    basis = RandomFeatures(COMPONENTS, kernel=Gaussian(BANDWIDTH), random_state=rng)
    H, f = basis.fit_transform(X), target(X)
    train, test = H[: labeled + unlabeled], H[labeled + unlabeled :]
    unit = rng.standard_normal(labeled)
    Y = f[:labeled, None] + np.outer(unit, NOISES)  # every noise at once: fits are linear in y
    found = []
    for rows in (train[:labeled], train):
        fitted = test @ averaged(rows, Y, ALPHAS, shards)[0]
        found.append(np.mean((fitted - f[labeled + unlabeled :, None]) ** 2, axis=1))
    return np.array(found)


def run(
    partitions: tuple[int, ...] = PARTITIONS, trials: int = TRIALS, progress: Progress = QUIET
) -> list[Excess]:
    """Measure both methods at one penalty, and each at the best one for it (alpha 0 there)."""
    found = []
    with threadpool_limits(limits=1):
        for m in partitions:
            all_errors = np.array([errors(trial, m) for trial in range(trials)])
            mean = all_errors.mean(axis=0)  # (methods, alphas, noises)
            shared = ALPHAS.index(SHARED_ALPHA)
            for k, noise in enumerate(NOISES):
                for alpha in (SHARED_ALPHA, 0.0):
                    i, j = (shared, shared) if alpha else mean[:, :, k].argmin(axis=1)
                    difference = all_errors[:, 1, j, k] - all_errors[:, 0, i, k]
                    means = float(mean[0, i, k]), float(mean[1, j, k])
                    error = deviation(difference) / np.sqrt(trials)
                    row = (alpha, m, noise, trials, *means, float(error), ALPHAS[i], ALPHAS[j])
                    found.append(Excess(*row))
            progress(f"made up: m = {m}")
    return found


def break_even(found: Sequence[Excess], shards: int, alpha: float) -> float | None:
    """Return the lowest noise measured at which rows without labels clearly help, or None."""
    rows = select(found, shards=shards, alpha=alpha)
    return min((row.noise for row in rows if row.clear < 0), default=None)

"""Bandwidth and lambda by 5-fold cross-validation over the paper's grids.

Every candidate is least-squares ranking on all training rows of a fold, with random features, or
with the exact kernel where there are few rows; one eigendecomposition serves all lambdas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.scaffold import Array
from mercer import Gaussian, RandomFeatures
from mercer.metrics import pairwise_error

BANDWIDTHS = tuple(2.0 ** np.arange(-2, 5.5, 0.5))
LAMBDAS = tuple(2.0 ** np.arange(-13, -2, 2))
FOLDS = 5
#: Decimals of a score, in deviations of y, that count: where the kernel is too narrow to see any
#: other row, scores differ by rounding alone, and such an order must not be chosen by luck.
DECIMALS = 9


@dataclass(frozen=True)
class Choice:
    """What cross-validation has chosen."""

    bandwidth: float
    alpha: float  # the paper's lambda, against the mean over pairs
    error: float  # mean pairwise error over folds


def ranked(features: Array, y: Array, new: Array, lambdas: Sequence[float]) -> Array:
    """Return scores of new rows, a column for each lambda.

    With centered features the problem of pairs is ridge regression at half of lambda.
    """
    n = len(y)
    centered = features - features.mean(axis=0)
    values, V = np.linalg.eigh(centered.T @ centered / n)
    target = V.T @ (centered.T @ (y - y.mean()) / n)
    shrunk = target / (np.maximum(values, 0.0) + np.asarray(lambdas)[:, None] / 2)
    return np.asarray(new @ V @ shrunk.T)


def kernel_features(X: Array, bandwidth: float) -> Array:
    """Return features whose products are the exact kernel of all rows."""
    values, U = np.linalg.eigh(Gaussian(bandwidth)(X))
    return np.asarray(U * np.sqrt(np.maximum(values, 0.0)))


@threadpool_limits.wrap(limits=1)  # the same bits on any number of cores
def choose(
    X: Array,
    y: Array,
    components: int,
    bandwidths: Sequence[float] = BANDWIDTHS,
    lambdas: Sequence[float] = LAMBDAS,
) -> Choice:
    """Return the bandwidth and lambda with the least mean error over folds.

    With random features, or with the exact kernel where rows are no more than those.
    """
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    errors = np.zeros((len(bandwidths), len(lambdas)))
    for row, bandwidth in enumerate(bandwidths):
        if len(y) > components:
            basis = RandomFeatures(components, kernel=Gaussian(bandwidth), random_state=0)
            features = basis.fit(X).transform(X)
        else:
            features = kernel_features(X, bandwidth)
        for k in range(FOLDS):
            out = fold == k
            scores = ranked(features[~out], y[~out], features[out], lambdas)
            scores = np.round(scores / np.std(y), DECIMALS)
            errors[row] += [pairwise_error(y[out], column) for column in scores.T]
    row, column = np.unravel_index(np.argmin(errors), errors.shape)
    return Choice(float(bandwidths[row]), float(lambdas[column]), float(errors.min() / FOLDS))

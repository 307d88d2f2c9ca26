"""The pools of figure 3: pixels of two sets, as they are or seen through a random network."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from experiments.scaffold import Array
from experiments.scaffold.data import load as load_set

SETS = ("mnist", "fashion_mnist")
TASKS = ("linear", "nonlinear")
POOL, TEST = 60_000, 10_000
WIDTH, LAYERS = 500, 3
#: Eigenvalues below this part of the largest are rounding: pixels that are 0 in the whole pool.
ROUNDING = 1e-13
SEED = 2


@dataclass(frozen=True)
class Features:
    """What a fit sees of the rows of a pool and of test rows."""

    pool: Array
    test: Array


@dataclass(frozen=True)
class Whitened:
    """The same in the coordinates where the pool has covariance 1, the widest direction first.

    With eigenvalues l and eigenvectors e of the covariance, coordinate j is ``e_j' phi /
    sqrt(l_j)``, so that coefficients ``sum_j a_j e_j / sqrt(l_j)`` are just a, and a penalty
    on them is ``sum_j a_j^2 / l_j``.
    """

    pool: Array
    test: Array
    brief: Array  # a few rows that measure as the test rows do: the same mean of products
    values: Array
    back: Array  # from these coordinates to coefficients of the features


def load(name: str, pool: int = POOL, test: int = TEST, repeat: int = 0) -> tuple[Array, Array]:
    """Return pixels between 0 and 1, dealt at random to the pool and to test rows."""
    found = load_set(name)
    X = found.X if "X" in found else np.concatenate([found.X_train, found.X_test])
    order = np.random.default_rng([SEED, SETS.index(name), repeat]).permutation(len(X))
    return X[order[:pool]] / 255.0, X[order[pool : pool + test]] / 255.0


def features(task: str, pool: Array, test: Array, width: int = WIDTH, repeat: int = 0) -> Features:
    """Return inputs with a constant column, or the last layer of a random network."""
    if task == "linear":
        return Features(with_bias(pool), with_bias(test))
    weights = network(pool.shape[1], width, repeat=repeat)
    return Features(through(weights, pool), through(weights, test))


def with_bias(X: Array) -> Array:
    """Add a column of ones."""
    return np.column_stack([X, np.ones(len(X))])


def network(inputs: int, width: int = WIDTH, layers: int = LAYERS, repeat: int = 0) -> list[Array]:
    """Draw standard normal weights, over ``sqrt(width / 2)`` so that layers keep lengths.

    Without biases, the factor only multiplies all features by one number, and penalties by its
    square: it puts the penalties of the paper where they matter.
    """
    rng = np.random.default_rng([SEED, repeat])
    sizes = [inputs] + [width] * layers
    return [rng.standard_normal(shape) / np.sqrt(width / 2) for shape in pairwise(sizes)]


def through(weights: list[Array], X: Array) -> Array:
    """Return the activations of the last hidden layer."""
    for layer in weights:
        X = np.maximum(X @ layer, 0.0)
    return X


def whiten(seen: Features) -> Whitened:
    """Rotate and scale the features by the eigenvectors and eigenvalues of the pool."""
    values, vectors = np.linalg.eigh(seen.pool.T @ seen.pool / len(seen.pool))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > ROUNDING * values[0]
    values = values[kept]
    back = vectors[:, kept] / np.sqrt(values)
    test = seen.test @ back
    return Whitened(seen.pool @ back, test, shortened(test), values, back)


def shortened(rows: Array) -> Array:
    """Return at most as many rows as columns, with the same mean of products.

    >>> rows = np.arange(8.0).reshape(4, 2)
    >>> brief = shortened(rows)
    >>> brief.shape, bool(np.allclose(brief.T @ brief / 2, rows.T @ rows / 4))
    ((2, 2), True)
    """
    brief = np.linalg.qr(rows, mode="r")
    return np.asarray(brief * np.sqrt(len(brief) / len(rows)))

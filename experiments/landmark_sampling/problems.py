"""The sets of data, and how each is cut into rows to fit to and rows to test on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.scaffold import Array
from experiments.scaffold.data import load as load_set
from mercer import load_letter

#: Rows to fit to, and to test on, where a set has as many.
TRAIN, TEST = 10_000, 4000
#: Share of test rows that count as lonely.
LONELY = 0.05
#: The made-up set: how many islands, and the share of rows on all of them together.
ISLANDS, OFFSHORE = 40, 0.05


@dataclass(frozen=True)
class Split:
    """Rows to fit to and to test on; columns are scaled, and targets have unit variance."""

    X: Array
    Y: Array  # (n, k): one column, or one a class
    X_test: Array
    Y_test: Array
    classes: bool

    def error(self, predicted: Array, rows: Array | slice = slice(None)) -> float:
        """Return the share of the variance of test targets that is left unexplained."""
        truth = self.Y_test[rows]
        left = np.sum((truth - predicted[rows]) ** 2)
        return float(left / np.sum((truth - self.Y.mean(axis=0)) ** 2))

    def wrong(self, predicted: Array) -> float:
        """Return the share of test rows in the wrong class."""
        if predicted.shape[1] == 1:
            return float(np.mean(np.sign(predicted) != np.sign(self.Y_test)))
        return float(np.mean(predicted.argmax(axis=1) != self.Y_test.argmax(axis=1)))


@dataclass(frozen=True)
class Problem:
    """A set of data: what it is, and all its rows."""

    label: str
    classes: bool
    load: Callable[[], tuple[Array, Array]]
    made_up: bool = False

    def rows(self) -> tuple[Array, Array]:
        """Return all rows as numbers, with targets of shape (n, k)."""
        X, y = self.load()
        return np.asarray(X, dtype=float), as_targets(y) if self.classes else y.reshape(-1, 1)


def as_targets(y: Array) -> Array:
    """Return classes as -1 and +1: one column for two of them, else one a class.

    >>> as_targets(np.array([3, 5, 5])).ravel().tolist()
    [-1.0, 1.0, 1.0]
    """
    values = np.unique(y)
    return np.where(y[:, None] == (values[1:] if len(values) == 2 else values), 1.0, -1.0)


def split(X: Array, Y: Array, seed: int, train: int = TRAIN, test: int = TEST) -> Split:
    """Draw rows without replacement and scale columns and numbers by the rows to fit to."""
    order = np.random.default_rng(seed).permutation(len(X))[: train + test]
    at, held_out = order[:train], order[train:]
    scale = StandardScaler().fit(X[at])
    Y = np.asarray(Y, dtype=float)
    classes = len(np.unique(Y)) == 2
    if not classes:
        Y = (Y - Y[at].mean()) / Y[at].std()
    X_train, X_test = scale.transform(X[at]), scale.transform(X[held_out])
    return Split(X_train, Y[at], X_test, Y[held_out], classes)


def islands(n: int = 20_000, seed: int = 7) -> tuple[Array, Array]:
    """Make rows of which 95 % are one cloud in three columns, and 5 % lie on 40 far islands.

    The target is smooth on the cloud and has a level of its own on every island.
    """
    rng = np.random.default_rng(seed)
    centers, levels = rng.normal(0.0, 20.0, (ISLANDS, 3)), rng.normal(0.0, 2.0, ISLANDS)
    X = rng.standard_normal((n, 3))
    y = np.sin(2 * X[:, 0]) + np.cos(X[:, 1])
    away = rng.random(n) < OFFSHORE
    which = rng.integers(ISLANDS, size=n)[away]
    X[away] = centers[which] + 0.3 * X[away]
    y[away] = levels[which]
    return X, y + 0.2 * rng.standard_normal(n)


def real(name: str) -> Callable[[], tuple[Array, Array]]:
    """Return what loads a set from ``MERCER_DATA``, or from the network where it has a home."""

    def load() -> tuple[Array, Array]:
        data = load_set(name)
        return data.X, data.y

    return load


def covtype() -> tuple[Array, Array]:
    """Return covtype with two classes: lodgepole pine, and all others."""
    data = load_set("covtype")
    return data.X, data.y == 2


def letter() -> tuple[Array, Array]:
    """Return all letters, which come with the library."""
    data = load_letter()
    return np.r_[data.X_train, data.X_test], np.r_[data.y_train, data.y_test]


PROBLEMS: dict[str, Problem] = {
    "california": Problem("California housing", False, real("california_housing")),
    "kin40k": Problem("kin40k", False, real("kin40k")),
    "elevators": Problem("elevators", False, real("elevators")),
    "kegg": Problem("KEGG undirected", False, real("keggundirected")),
    "covtype": Problem("covtype, class 2", True, covtype),
    "letter": Problem("letter, 26 classes", True, letter),
    "higgs": Problem("HIGGS subset", True, real("higgs_subset")),
    "eeg": Problem("EEG eye state", True, real("eeg_eye_state")),
    "islands": Problem("islands (made up)", False, islands, made_up=True),
}

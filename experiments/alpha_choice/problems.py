"""The sets of data, and how rows to fit to and to test on are drawn from each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.scaffold import Array
from experiments.scaffold.data import Split, load
from mercer import load_letter

#: Columns of bike whose sum is the target.
LEAKS = 2


@dataclass(frozen=True)
class Problem:
    """A set of data: whether its targets are classes, and all its rows."""

    classes: bool
    load: Callable[[], tuple[Array, Array]]


def real(name: str) -> Callable[[], tuple[Array, Array]]:
    """Return a function that loads all rows of a set."""

    def rows() -> tuple[Array, Array]:
        data = load(name)
        if "X" in data:
            return data.X, data.y
        return np.concatenate([data.X_train, data.X_test]), np.r_[data.y_train, data.y_test]

    return rows


def bike() -> tuple[Array, Array]:
    """Return bike without the two counts whose sum is the target."""
    data = load("bike")
    return data.X[:, :-LEAKS], data.y


def letter() -> tuple[Array, Array]:
    """Return all letters, which come with the library."""
    data = load_letter()
    return np.r_[data.X_train, data.X_test], np.r_[data.y_train, data.y_test]


PROBLEMS: dict[str, Problem] = {
    "california_housing": Problem(False, real("california_housing")),
    "elevators": Problem(False, real("elevators")),
    "kin40k": Problem(False, real("kin40k")),
    "bike": Problem(False, bike),
    "keggundirected": Problem(False, real("keggundirected")),
    "us_flights_2001": Problem(False, real("us_flights_2001")),
    "letor_mq2008": Problem(False, real("letor_mq2008")),
    "lightgbm_lambdarank_demo": Problem(False, real("lightgbm_lambdarank_demo")),
    "letter": Problem(True, letter),
    "pendigits": Problem(True, real("pendigits")),
    "usps": Problem(True, real("usps")),
    "eeg_eye_state": Problem(True, real("eeg_eye_state")),
    "covtype": Problem(True, real("covtype")),
    "higgs_subset": Problem(True, real("higgs_subset")),
    "mnist": Problem(True, real("mnist")),
    "fashion_mnist": Problem(True, real("fashion_mnist")),
}


def split(
    X: Array, y: Array, seed: int, train: int, test: int, scaled: bool, classes: bool
) -> Split:
    """Draw rows without replacement; scale columns by the rows to fit to if asked for.

    Test rows of a class that no row to fit to has are left out.
    """
    order = np.random.default_rng(seed).permutation(len(X))[: train + test]
    at, held_out = order[:train], order[train:]
    if classes:
        held_out = held_out[np.isin(y[held_out], y[at])]
    X_train, X_test = X[at].astype(float), X[held_out].astype(float)
    if scaled:
        scale = StandardScaler().fit(X_train)
        X_train, X_test = scale.transform(X_train), scale.transform(X_test)
    return Split(X_train, y[at], X_test, y[held_out])

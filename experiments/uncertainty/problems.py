"""The sets, their rows to train and to test on, and rows that are far from those trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from benchmarks.table_sets import (
    CLASSIFICATION,
    REGRESSION,
    Rows,
    bike,
    drawn,
    flights,
    made_up,
    prepared,
)

from experiments.scaffold import Array
from experiments.scaffold.data import load

#: Jester's jokes that everyone was shown first: the rating of the next is learned from these.
SHOWN_FIRST = (5, 7, 8, 13, 15, 16, 17, 18, 19, 20)
NEXT_JOKE = 50
#: The share of rows that are tested on, where there are not too many.
TEST_SHARE = 0.25
#: Columns from which on fewer rows are trained on.
WIDE = 200
#: The share of rows that are left out as far away.
FAR_SHARE = 0.1
Table = Callable[[], tuple[Array, Array]]


@dataclass(frozen=True)
class Size:
    """Sets, the most rows to train and to test on, and how many splits."""

    regression: tuple[str, ...]
    classification: tuple[str, ...]
    train: int
    test: int
    classes_train: int
    wide_train: int  # of images, whose fits take longest
    repeats: int
    shifted_repeats: int
    classes_repeats: int
    gp_rows: int


def stored(name: str) -> tuple[Array, Array]:
    """Return a set as it is stored, the parts of an official split one after the other."""
    data = load(name)
    if hasattr(data, "X"):
        return data.X, data.y
    X = np.concatenate([data.X_train, data.X_test])
    return X, np.concatenate([data.y_train, data.y_test])


def jester() -> tuple[Array, Array]:
    """Return the rating of a joke, from those of ten jokes that everyone was shown before."""
    data = load("jester_1")
    ratings = np.full((int(data.user.max()) + 1, int(data.item.max()) + 1), np.nan)
    ratings[data.user, data.item] = data.rating
    table = ratings[:, [*SHOWN_FIRST, NEXT_JOKE]]
    table = table[~np.isnan(table).any(axis=1)]
    return table[:, :-1], table[:, -1]


def movielens() -> tuple[Array, Array]:
    """Return ratings; columns are the number, mean and deviation of others by user and of item.

    The others are half of all ratings, drawn at random, and the rows are the other half.
    """
    data = load("movielens_1m")
    rating = data.rating.astype(float)
    others = np.random.default_rng(0).random(len(rating)) < 0.5
    columns = []
    for who in (data.user, data.item):
        count, total, squares = (
            np.bincount(who[others], rating[others] ** power, int(who.max()) + 1)
            for power in (0, 1, 2)
        )
        mean = (total + rating.mean()) / (count + 1)  # as if everyone had one more, of the mean
        spread = np.sqrt(np.maximum((squares + rating.mean() ** 2) / (count + 1) - mean**2, 0))
        columns += [np.log1p(count), mean, spread]
    rows = ~others
    X = np.column_stack([c[w[rows]] for c, w in zip(columns, _thrice(data), strict=True)])
    return X, rating[rows]


def diabetes() -> tuple[Array, Array]:
    """Return scikit-learn's set of 442 patients: few rows."""
    from sklearn.datasets import load_diabetes

    found: tuple[Array, Array] = load_diabetes(return_X_y=True)
    return found


def made_up_table(kind: str) -> tuple[Array, Array]:
    """Return few rows of a known function, for a miniature that needs no data."""
    rows = made_up(kind, 0)
    return np.vstack([rows.X, rows.X_test]), np.concatenate([rows.y, rows.y_test])


REGRESSIONS: dict[str, Table] = {
    "diabetes": diabetes,
    "elevators": partial(stored, "elevators"),
    "bike": bike,
    "california_housing": partial(stored, "california_housing"),
    "kin40k": partial(stored, "kin40k"),
    "keggundirected": partial(stored, "keggundirected"),
    "us_flights_2001": flights,
    "jester": jester,
    "movielens": movielens,
}
CLASSES: dict[str, Table] = {
    name: partial(stored, name)
    for name in (
        "eeg_eye_state",
        "higgs_subset",
        "pendigits",
        "letter",
        "covtype",
        "usps",
        "mnist",
        "fashion_mnist",
    )
}
MADE_UP: dict[str, Table] = {
    f"small {kind}": partial(made_up_table, kind) for kind in (REGRESSION, CLASSIFICATION)
}
TABLES = REGRESSIONS | CLASSES | MADE_UP
FULL = Size(tuple(REGRESSIONS), tuple(CLASSES), 20_000, 10_000, 10_000, 5000, 5, 2, 3, 1500)
SMALL = Size(("small regression",), ("small classification",), 150, 60, 150, 150, 2, 1, 2, 60)


def sizes(n: int, train: int, test: int) -> tuple[int, int]:
    """Return how many rows are trained on and tested on, of n.

    >>> sizes(1000, 20_000, 10_000), sizes(100_000, 20_000, 10_000)
    ((750, 250), (20000, 10000))
    """
    test = min(test, round(TEST_SHARE * n))
    return min(train, n - test), test


def regression_rows(name: str, split: int, size: Size) -> Rows:
    """Return a random split of a regression."""
    X, y = TABLES[name]()
    return drawn(REGRESSION, X, y, split, sizes(len(X), size.train, size.test))


def class_rows(name: str, split: int, size: Size) -> Rows:
    """Return a random split of a classification."""
    X, y = TABLES[name]()
    most = size.wide_train if X.shape[1] >= WIDE else size.classes_train
    return drawn(CLASSIFICATION, X, y, split, sizes(len(X), most, size.test))


def shifted_rows(name: str, split: int, size: Size) -> tuple[Rows, Rows]:
    """Return a split of the near rows, and the same training rows with far ones to test on.

    Far rows are the tenth whose standardized columns have the largest norm.
    """
    X, y = TABLES[name]()
    X = np.asarray(X, dtype=float)
    scale = X.std(axis=0)
    norm = np.linalg.norm((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0), axis=1)
    order = np.argsort(norm, kind="stable")
    number = round(FAR_SHARE * len(X))
    near, far = order[:-number], order[-number:]
    inside = drawn(REGRESSION, X[near], y[near], split, sizes(len(near), size.train, size.test))
    tested = np.random.default_rng(split).permutation(far)[: size.test]
    outside = prepared(REGRESSION, inside.X, inside.y, X[tested], y[tested])
    return inside, outside


def _thrice(data: object) -> list[Array]:
    user, item = data.user, data.item  # type: ignore[attr-defined]
    return [user] * 3 + [item] * 3

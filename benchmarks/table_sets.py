"""Tables with raw columns, and how their rows are split: the same rows for every method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from experiments.learning_to_rank import data as mq2008
from experiments.scaffold.data import load

Array = np.ndarray

#: Random splits of a set without an official one.
SPLITS = 5
#: The share of rows that is held out for testing, where nothing else is said.
TEST_SHARE = 0.2
FLIGHTS = (100_000, 25_000)  # training and test rows
COVTYPE = (100_000, 50_000)
MNIST_TRAIN = 10_000
#: Columns of bike that hold the casual and the registered count: their sum is the target.
BIKE_LEAKS = (15, 16)
REGRESSION, CLASSIFICATION, RANKING = KINDS = ("regression", "classification", "ranking")


@dataclass(frozen=True)
class Rows:
    """Rows to train on and rows to test on, with their queries in a ranking."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    qid: Array | None = None
    qid_test: Array | None = None


@dataclass(frozen=True)
class TableSet:
    """What is learned, how many splits there are, and the rows of each."""

    kind: str
    rows: Callable[[int], Rows]
    splits: int = SPLITS


def prepared(kind: str, X: Array, y: Array, X_test: Array, y_test: Array) -> Rows:
    """Return columns as float64; targets as numbers, classes as 0, 1, ..."""
    if kind == CLASSIFICATION:
        codes = np.unique(np.concatenate([y, y_test]), return_inverse=True)[1]
        y, y_test = codes[: len(y)], codes[len(y) :]
    else:
        y, y_test = y.astype(float), y_test.astype(float)
    return Rows(np.asarray(X, dtype=float), y, np.asarray(X_test, dtype=float), y_test)


def drawn(kind: str, X: Array, y: Array, split: int, sizes: tuple[int, int] | None = None) -> Rows:
    """Return a random split: of all rows, or of as many as the sizes of both parts say."""
    test = round(TEST_SHARE * len(X))
    train, test = sizes or (len(X) - test, test)
    order = np.random.default_rng(split).permutation(len(X))[: train + test]
    first, last = order[:train], order[train:]
    return prepared(kind, X[first], y[first], X[last], y[last])


def plain(kind: str, name: str, split: int, sizes: tuple[int, int] | None = None) -> Rows:
    """Return a random split of a set that has no official one."""
    data = load(name)
    return drawn(kind, data.X, data.y, split, sizes)


def official(name: str, split: int) -> Rows:
    """Return the official split of a classification set, then random ones of the same sizes."""
    data = load(name)
    if split == 0:
        return prepared(CLASSIFICATION, data.X_train, data.y_train, data.X_test, data.y_test)
    X = np.concatenate([data.X_train, data.X_test])
    y = np.concatenate([data.y_train, data.y_test])
    return drawn(CLASSIFICATION, X, y, split, (len(data.X_train), len(data.X_test)))


def bike() -> tuple[Array, Array]:
    """Return the hourly counts of rented bikes, without the two columns that leak."""
    data = load("bike")
    return np.delete(data.X, BIKE_LEAKS, axis=1), data.y


def flights() -> tuple[Array, Array]:
    """Return flights; each airport is its latitude and longitude."""
    data = load("us_flights_2001")
    places = np.column_stack([data.airport_lat, data.airport_lon])
    return np.hstack([data.X, places[data.origin], places[data.destination]]), data.y


def changed(
    columns: Callable[[], tuple[Array, Array]], split: int, sizes: tuple[int, int] | None = None
) -> Rows:
    """Return a random split of a regression whose columns are not those of its file."""
    return drawn(REGRESSION, *columns(), split, sizes)


def mnist(split: int) -> Rows:
    """Return some of the training rows, and all test rows."""
    data = load("mnist")
    some = np.random.default_rng(split).permutation(len(data.X_train))[:MNIST_TRAIN]
    train = data.X_train[some], data.y_train[some]
    return prepared(CLASSIFICATION, *train, data.X_test, data.y_test)


def letor(split: int) -> Rows:
    """Return an official fold of MQ2008: its training parts, and its test part."""
    fold = mq2008.fold(mq2008.load(), split + 1)
    train, test = fold.train, fold.test
    return Rows(train.X, train.y, test.X, test.y, train.qid, test.qid)


def lambdarank_demo(split: int) -> Rows:
    """Return the split of LightGBM's example of a ranking."""
    data = load("lightgbm_lambdarank_demo")
    parts = []
    for part in ("train", "test"):
        X, y, qid = (data[f"{name}_{part}"] for name in ("X", "y", "qid"))
        order = np.argsort(qid, kind="stable")
        parts.append((X[order].astype(float), y[order].astype(int), qid[order]))
    (X, y, qid), (X_test, y_test, qid_test) = parts
    return Rows(X, y, X_test, y_test, qid, qid_test)


def _plain(kind: str, name: str, **settings: Any) -> TableSet:
    return TableSet(kind, partial(plain, kind, name, **settings))


def _official(name: str) -> TableSet:
    return TableSet(CLASSIFICATION, partial(official, name))


#: Roughly in the order of what they cost, so that an interrupted run has most of them.
SETS = {
    "elevators": _plain(REGRESSION, "elevators"),
    "bike": TableSet(REGRESSION, partial(changed, bike)),
    "california_housing": _plain(REGRESSION, "california_housing"),
    "kin40k": _plain(REGRESSION, "kin40k"),
    "keggundirected": _plain(REGRESSION, "keggundirected"),
    "us_flights_2001": TableSet(REGRESSION, partial(changed, flights, sizes=FLIGHTS)),
    "lightgbm_lambdarank_demo": TableSet(RANKING, lambdarank_demo, 1),
    "letor_mq2008": TableSet(RANKING, letor, mq2008.PARTS),
    "eeg_eye_state": _plain(CLASSIFICATION, "eeg_eye_state"),
    "higgs_subset": _plain(CLASSIFICATION, "higgs_subset"),
    "pendigits": _official("pendigits"),
    "letter": _official("letter"),
    "usps": _official("usps"),
    "covtype": _plain(CLASSIFICATION, "covtype", sizes=COVTYPE),
    "mnist": TableSet(CLASSIFICATION, mnist, 1),
}


def made_up(kind: str, split: int) -> Rows:
    """Return few rows of a known function, for a miniature that needs no data."""
    rng = np.random.default_rng(split)
    X = rng.standard_normal((240, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    if kind == REGRESSION:
        return drawn(kind, X, y, split)
    grades = np.digitize(y, [-0.7, 0.7])
    if kind == CLASSIFICATION:
        return drawn(kind, X, grades, split)
    qid = np.repeat(np.arange(24), 10)
    return Rows(X[:160], grades[:160], X[160:], grades[160:], qid[:160], qid[160:])


#: A set of every kind that is made up.
SMALL = {f"small {kind}": TableSet(kind, partial(made_up, kind), 2) for kind in KINDS}

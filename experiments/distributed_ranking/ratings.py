"""MovieLens and Jester: rank what one reviewer rated by the ratings of others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from experiments.distributed_ranking.rows import Split, split
from experiments.scaffold import Array
from experiments.scaffold.data import load as load_set

SEED = 63


@dataclass(frozen=True)
class Ratings:
    """A set of ratings, and how the rows of a test reviewer are made of it."""

    name: str
    band: tuple[int, int]  # how many ratings a reference reviewer has, both ends included
    reference: int  # how many are drawn
    fill: str  # whose median stands for a missing rating: of the "item", or of the "reviewer"
    reviewers: int  # test reviewers
    heaviest: bool  # those with most ratings; else drawn among those who rated everything


SETS = {
    "movielens": Ratings("movielens_1m", (200, 500), 500, "item", 5, heaviest=True),
    "jester": Ratings("jester_1", (40, 60), 300, "reviewer", 50, heaviest=False),
}


def load(name: str) -> Array:
    """Return the ratings as items by reviewers, nan where there is none."""
    data = load_set(name)
    items, item = np.unique(data.item, return_inverse=True)
    users, user = np.unique(data.user, return_inverse=True)
    table = np.full((len(items), len(users)), np.nan, dtype=np.float32)
    table[item, user] = data.rating
    return table


def test_reviewers(table: Array, chosen: Ratings) -> Array:
    """Return the columns of test reviewers."""
    counts = np.sum(~np.isnan(table), axis=0)
    if chosen.heaviest:
        return np.argsort(-counts, kind="stable")[: chosen.reviewers]
    rng = np.random.default_rng(SEED)
    complete = np.flatnonzero(counts == len(table))
    return rng.choice(complete, chosen.reviewers, replace=False)


def in_band(table: Array, band: tuple[int, int]) -> Array:
    """Return the columns of those with so many ratings."""
    counts = np.sum(~np.isnan(table), axis=0)
    return np.flatnonzero((counts >= band[0]) & (counts <= band[1]))


def reviewer_rows(table: Array, reviewer: int, chosen: Ratings) -> Split:
    """Return the rows of a test reviewer: x the ratings of reference reviewers, y the own ones."""
    rng = np.random.default_rng([SEED, int(reviewer)])
    others = np.setdiff1d(in_band(table, chosen.band), [reviewer])
    reference = rng.choice(others, chosen.reference, replace=False)
    rated = ~np.isnan(table[:, reviewer])
    X, y = table[rated][:, reference].astype(np.float64), table[rated, reviewer].astype(np.float64)
    known = ~np.all(np.isnan(X), axis=1)
    X, y = filled(X[known], chosen.fill), y[known]
    return split(X, y, rng)


def filled(X: Array, fill: str) -> Array:
    """Put medians where ratings are missing; columns without any rating are left out.

    >>> filled(np.array([[1.0, np.nan], [5.0, 3.0], [np.nan, 3.0]]), "item")
    array([[1., 1.],
           [5., 3.],
           [3., 3.]])
    >>> filled(np.array([[1.0, np.nan], [5.0, 3.0], [np.nan, 3.0]]), "reviewer")
    array([[1., 3.],
           [5., 3.],
           [3., 3.]])
    """
    X = X[:, ~np.all(np.isnan(X), axis=0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of rows that are all missing
        median = np.nanmedian(X, axis=1 if fill == "item" else 0, keepdims=True)
    return np.where(np.isnan(X), median, X)

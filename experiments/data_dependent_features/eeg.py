"""EEG eye state: its rows, features chosen in several ways, and one fit."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from experiments.data_dependent_features.measured import Trial
from experiments.scaffold import Array
from experiments.scaffold.data import load as load_set
from mercer import Gaussian, KernelClassifier, RandomFeatures

SEED = 9
BANDWIDTH = 1.0
ALPHA = 2.0**-10
#: Drawn for each feature that is chosen: L = 5 M.
CANDIDATES = 5
#: What turns the interquartile range of a normal column into its standard deviation.
NORMAL = 1.349

#: Functions that were chosen, as a basis has them: ``basis.features_``.
Features: TypeAlias = Any

PLAIN, LEVERAGE = "plain", "leverage"
NONE, UNBIASED, LITERAL = "labels, none", "labels, unbiased", "labels, literal p/q"
#: How the library calls them: sampling and weighting.
DRAWN = {
    PLAIN: ("plain", "none"),
    LEVERAGE: ("leverage", "none"),
    NONE: ("labels", "none"),
    UNBIASED: ("labels", "unbiased"),
    LITERAL: ("labels", "paper"),
}
#: Two more that take the weights apart: the draw of "unbiased" with no weights, and with q/p.
REPEATED, INVERSE = "labels, none, with replacement", "labels, q/p"


class GivenFeatures(RandomFeatures):
    """Functions that were chosen before, as a basis: times of choosing and fitting stay apart."""

    sampling = "plain"

    def __init__(self, features: Any = None, kernel: Any = None, random_state: Any = None) -> None:
        self.features = features
        self.kernel = kernel
        self.random_state = random_state

    def wanted_size(self, n_rows: int) -> int:
        """M, as it was chosen."""
        return int(self.features.size)

    def fit_source(
        self, source: Any, kernel: Any, rng: Any, precision: Any, *how: Any, **more: Any
    ) -> Self:
        """Take the functions as they are."""
        self.kernel_ = kernel.fitted(np.zeros((1, source.n_features)))
        self.features_ = self.features
        self.precision_ = precision
        return self


@dataclass(frozen=True)
class Split:
    """Rows to train on, with and without labels, and rows to test on."""

    X: Array
    y: Array
    X_unlabeled: Array
    X_test: Array
    y_test: Array

    def fewer(self, unlabeled: int) -> Split:
        """Return the same with the first of the rows without labels."""
        return Split(self.X, self.y, self.X_unlabeled[:unlabeled], self.X_test, self.y_test)


def load() -> tuple[Array, Array]:
    """Return all rows, as they are, and their classes."""
    data = load_set("eeg_eye_state")
    return np.asarray(data.X, dtype=float), np.unique(data.y, return_inverse=True)[1]


def split(X: Array, y: Array, labeled: int, unlabeled: int, trial: int) -> Split:
    """Draw rows and scale them by the medians and quartiles of those to train on."""
    order = np.random.default_rng([SEED, trial]).permutation(len(X))
    low, middle, high = np.percentile(X[order[: labeled + unlabeled]], [25, 50, 75], axis=0)
    X = (X - middle) / np.where(high > low, (high - low) / NORMAL, 1.0)
    known, unknown, test = np.split(order, [labeled, labeled + unlabeled])
    return Split(X[known], y[known], X[unknown], X[test], y[test])


def choose(
    rows: Split, size: int, trial: int, methods: tuple[str, ...], alpha: float = ALPHA
) -> dict[str, tuple[Features, float]]:
    """Return the functions of each method and the seconds for choosing them.

    Weights do not change which functions are drawn with replacement.
    """

    def draw(sampling: str, weighting: str) -> tuple[Features, float]:
        basis = RandomFeatures(
            size,
            sampling=sampling,
            weighting=weighting,
            candidates=CANDIDATES,
            alpha=alpha,
            kernel=Gaussian(BANDWIDTH),
            random_state=np.random.default_rng([SEED, trial, size]),
        )
        start = time.process_time()
        basis.fit(rows.X, rows.y)
        return basis.features_, time.process_time() - start

    found = {name: draw(*DRAWN[name]) for name in methods if name in DRAWN}
    if {REPEATED, INVERSE} & set(methods):
        drawn, seconds = found[UNBIASED] if UNBIASED in found else draw(*DRAWN[UNBIASED])
        found[REPEATED] = drawn.part, seconds
        found[INVERSE] = replace(drawn, weights=drawn.weights**-2), seconds
    return {name: found[name] for name in methods}


def fit(
    rows: Split, features: Features, choosing: float, shards: int = 1, alpha: float = ALPHA
) -> Trial:
    """Fit with features that all shards share, average, and test.

    Every shard has as many rows with labels as the others, and as many without.
    """
    settings: dict[str, Any] = {"metric": None, "scale": None, "calibration": None}
    if shards > 1:
        settings["combine"] = "average"
    model = KernelClassifier(Gaussian(BANDWIDTH), GivenFeatures(features), alpha, **settings)
    known, unknown = len(rows.X), len(rows.X_unlabeled)
    more: dict[str, Any] = {"X_unlabelled": rows.X_unlabeled} if unknown else {}
    if shards > 1:
        more["shard_labels"] = np.concatenate([np.arange(known), np.arange(unknown)]) % shards
    start = time.process_time()
    model.fit(rows.X, rows.y, **more)
    fitting = time.process_time() - start
    return Trial(float(model.score(rows.X_test, rows.y_test)), choosing, fitting)

"""The systems that are compared, and one fit of one of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.distributed_ranking.literal import algorithm_1
from experiments.distributed_ranking.rows import Split, deal
from experiments.distributed_ranking.selection import LAMBDAS, Choice
from experiments.scaffold import Array
from mercer import (
    ConjugateRounds,
    Gaussian,
    KernelRanker,
    MercerWarning,
    NewtonRounds,
    RandomFeatures,
    recipe,
)
from mercer.metrics import pairwise_error

#: Which pairs rounds count: all, or those within shards, as in the paper; how the library says it.
ALL, WITHIN = "all", "within"
PAIRS = {ALL: "all", WITHIN: "within_shards"}
#: All rows in one place with random features: what rounds lead to.
EXACT_RF = "LSRank-RF"
#: The mean of the reference ratings, which learns nothing from the test reviewer.
MEAN = "row mean"
#: The paper's rounds with nothing that stops them.
LITERAL = "Algorithm 1"
NEWTON, CONJUGATE = "Newton from the average", "conjugate"
#: The systems that are no recipes, with random features: how each puts shards together.
OWN: dict[str, Callable[[int], Any]] = {
    NEWTON: lambda rounds: NewtonRounds(rounds),
    CONJUGATE: lambda rounds: ConjugateRounds(rounds),
}
#: More than the exact kernel of 14,000 rows needs, so that its fit does not depend on the machine.
MEMORY = "12GB"
#: What one processor does for DRank and DRank-RF: the fit to a single shard.
LOCAL = {"DRank, one shard": "LSRank", "DRank-RF, one shard": EXACT_RF}


@dataclass(frozen=True)
class Cell:
    """A system with its sizes; m = 0 is the exact kernel, p = 1 all rows in one place."""

    system: str
    components: int = 0
    shards: int = 1
    rounds: int = 0
    pairs: str = ALL


@dataclass(frozen=True)
class Trial:
    """What one fit has come to."""

    error: float
    level_error: float  # over pairs on different levels, against y without noise
    seconds: float  # of the processor: one thread, whatever else the machine does
    made: int  # rounds that were made, of which the last is not kept where they were stopped
    stopped: bool  # as a Newton round raised the objective
    empty: bool  # stopped at the first round from zero: there is no model
    coefficients: Array | None


def estimator(cell: Cell, choice: Choice, seed: int) -> KernelRanker:
    """Return a system in float64, with the bandwidth and lambda that were chosen."""
    common: dict[str, Any] = {
        "kernel": Gaussian(choice.bandwidth),
        "alpha": choice.alpha,
        "dtype": "float64",
        "random_state": seed,
        "metric": None,
        "scale": None,
        "memory_limit": MEMORY,
    }
    name = LOCAL.get(cell.system, cell.system)
    if name == "MPRank":  # chooses lambda itself, by leave-one-out
        common |= {"alpha": "auto", "alphas": np.array(LAMBDAS)}
    if name == "DRank-RF-C" and cell.pairs == ALL:  # the paper's rounds, with pairs it omits
        newton = NewtonRounds(cell.rounds, start="zero")
        return KernelRanker(basis=RandomFeatures(cell.components), combine=newton, **common)
    if name == EXACT_RF:
        return KernelRanker(basis=RandomFeatures(cell.components), **common)
    if name in OWN:
        basis, combine = RandomFeatures(cell.components), OWN[name](cell.rounds)
        return KernelRanker(basis=basis, combine=combine, **common)
    if name.startswith("DRank"):
        common["shards"] = None  # labels of rows tell them
    if cell.components:
        common["n_components"] = cell.components
    if cell.rounds:
        common["rounds"] = cell.rounds
    found = recipe(name, **common)
    assert isinstance(found, KernelRanker)
    if name == "DRank-RF-C":  # the recipe is Algorithm 1, which is measured by itself
        found.set_params(combine__pairs=PAIRS[cell.pairs])
    if cell.rounds:
        found.set_params(combine__unstopped=False)
    return found


def fit(cell: Cell, rows: Split, choice: Choice, seed: int) -> Trial:
    """Fit a system and measure it on the test rows."""
    if cell.system == MEAN:
        return _trial(rows, rows.X_test.mean(axis=1), 0.0)
    labels = deal(len(rows.y), cell.shards)
    if cell.system == LITERAL:
        return _fit_literally(cell, rows, choice, seed, labels)
    model, X, y = estimator(cell, choice, seed), rows.X, rows.y
    given: dict[str, Array] = {}
    if cell.system in LOCAL:
        X, y = X[labels == 0], y[labels == 0]
    elif cell.shards > 1:
        given["shard_labels"] = labels
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the rounds diverge", MercerWarning)  # the trial says so
        start = time.process_time()
        model.fit(X, y, **given)
        seconds = time.process_time() - start
    solution = model.fit_.solution
    stopped = solution.status.name == "DIVERGED"
    made = int(solution.steps) if cell.rounds else 0
    coefficients = model.dual_coef_[:, 0] if cell.components else None
    if stopped and made == 1 and model.combine.start == "zero":
        # No round was kept. The library then returns the average; what is measured are the rounds.
        return Trial(0.5, 0.5, seconds, made, stopped, True, np.zeros_like(coefficients))
    return _trial(rows, model.predict(rows.X_test), seconds, made, stopped, coefficients)


def _fit_literally(cell: Cell, rows: Split, choice: Choice, seed: int, labels: Array) -> Trial:
    """Run the rounds of the paper on the features that the other systems have."""
    one_place = estimator(Cell(EXACT_RF, cell.components), choice, seed)
    basis = one_place.fit(rows.X, rows.y).basis_
    start = time.process_time()
    g = algorithm_1(basis.evaluate(rows.X), rows.y, labels, choice.alpha, cell.rounds)
    seconds = time.process_time() - start
    scores = basis.evaluate(rows.X_test) @ g
    return _trial(rows, scores, seconds, cell.rounds, coefficients=g)


def _trial(
    rows: Split,
    scores: Array,
    seconds: float,
    made: int = 0,
    stopped: bool = False,
    coefficients: Array | None = None,
) -> Trial:
    """Measure scores."""
    error = pairwise_error(rows.y_test, scores)
    level = float("nan") if rows.level is None else pairwise_error(rows.level, scores)
    return Trial(error, level, seconds, made, stopped, False, coefficients)

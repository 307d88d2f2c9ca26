"""Figures 12 to 14, left: error on real data against the number of features; and the sets."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.distributed_random_features.measured import Measured, measured
from experiments.scaffold import Array
from experiments.scaffold.data import Split
from experiments.scaffold.data import load as load_set
from experiments.scaffold.runner import Job
from mercer import Gaussian, recipe

SEED = 12
#: What is varied here: M.
FEATURES = "features"
#: m where M is varied, and M where m is.
FIXED_SHARDS, FIXED_COMPONENTS = 20, 500
#: Test rows for KRR-DC, whose model has a function at every training row.
EXACT_TEST = 10_000
#: What the names of parts with KRR-DC end on.
EXACT = "_exact"


@dataclass(frozen=True)
class RealSet:
    """A set of two classes with the paper's parameters."""

    name: str
    figure: int
    train: int
    test: int
    bandwidth: float
    penalty: float  # the paper's lambda, which counts against the sum of squares in a shard
    paper_components: int  # where the paper sees the knee in M
    paper_shards: int  # and in m
    positive: int = 1  # the label of the one class
    scaled: bool = False  # to [0, 1], column by column
    trials: int = 3
    shard_trials: int = 10  # of the curves against m
    exact_trials: int = 3  # of KRR-DC
    stored_trials: int = 3  # in the setting of the authors' code

    def alpha(self, shards: int) -> float:
        """Return the penalty against the mean of squares: lambda over the rows of a shard."""
        return self.penalty * shards / self.train


SETS = {
    "covtype": RealSet(
        "covtype",
        12,
        train=250_000,
        test=50_000,
        bandwidth=2.0,
        penalty=2.0**-6,
        paper_components=300,
        paper_shards=50,
        positive=2,
        scaled=True,
        trials=2,
        shard_trials=5,
        exact_trials=1,
    ),
    "susy": RealSet(
        "susy",
        13,
        train=25_000,
        test=5_000,
        bandwidth=2.0**2.5,
        penalty=2.0,
        paper_components=100,
        paper_shards=60,
    ),
    "higgs_subset": RealSet(
        "higgs_subset",
        14,
        train=45_352,
        test=9_070,
        bandwidth=8.0,
        penalty=2.0**-6,
        paper_components=600,
        paper_shards=40,
    ),
}


@dataclass(frozen=True)
class Size:
    """How much is run; without ``rows`` as much of real sets as the paper has, or we can."""

    repeats: int = 10  # of simulated problems
    sizes: tuple[int, ...] = (1000, 2000, 4000, 7000, 10_000)
    components: tuple[int, ...] = (10, 30, 60, 100, 200, 300, 400, 600, 1000, 1500)
    partitions: tuple[int, ...] = (1, 5, 10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500)
    stored_components: tuple[int, ...] = (50, 100, 200, 300, 500, 700, 1000, 1500)
    stored_partitions: tuple[int, ...] = (1, 50, 100, 200, 500, 1000, 2000, 3000)
    rows: tuple[int, int] | None = None  # of real sets: to train on, and to test on

    def cut(self, chosen: RealSet) -> RealSet:
        """Return a set with as many rows and trials as are run."""
        if self.rows is None:
            return chosen
        cut = replace(chosen, train=self.rows[0], test=self.rows[1])
        return replace(cut, trials=2, shard_trials=2, exact_trials=1, stored_trials=2)


FULL = Size()
SMALL = Size(
    2,
    sizes=(100, 200, 400),
    components=(5, 100),
    partitions=(1, 25),
    stored_components=(5, 100),
    stored_partitions=(1, 20_000),
    rows=(400, 200),
)


@dataclass(frozen=True)
class Cell:
    """One point of a curve."""

    group: str
    method: str
    components: int
    shards: int


def load(chosen: RealSet) -> tuple[Array, Array]:
    """Return all rows and their classes."""
    data = load_set(chosen.name)
    X = np.asarray(data.X, dtype=np.float32)
    if chosen.scaled:
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1)
    return X, (np.asarray(data.y) == chosen.positive).astype(np.int8)


def split(chosen: RealSet, X: Array, y: Array, trial: int) -> Split:
    """Draw rows to train on and others to test on."""
    order = np.random.default_rng([SEED, trial]).permutation(len(X))
    train, test = order[: chosen.train], order[chosen.train : chosen.train + chosen.test]
    return Split(X[train], y[train], X[test], y[test])


def run(job: Job) -> list[Measured]:
    """Measure the error of DKRR-RF against M."""
    cells = [Cell(FEATURES, "DKRR-RF", M, FIXED_SHARDS) for M in job.size.components]
    chosen = job.size.cut(SETS[job.part])
    return repeat(job, chosen, cells, chosen.trials)


def run_exact(job: Job) -> list[Measured]:
    """Measure the error of KRR-DC, the exact kernel in as many shards."""
    chosen = job.size.cut(SETS[job.part.removesuffix(EXACT)])
    few = replace(chosen, test=min(chosen.test, EXACT_TEST))
    return repeat(job, few, [Cell(FEATURES, "DKRR", 0, FIXED_SHARDS)], chosen.exact_trials)


def repeat(job: Job, chosen: RealSet, cells: list[Cell], trials: int) -> list[Measured]:
    """Fit every cell to the same rows, other rows in every trial; keep each trial at once."""
    X, y = load(chosen)
    pairs: dict[Cell, list[tuple[float, float]]] = {cell: [] for cell in cells}
    found: list[Measured] = []
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for trial in range(trials):
            rows = split(chosen, X, y, trial)
            for cell in cells:
                pairs[cell].append(fit(chosen, rows, cell, trial))
            found = [summarize(chosen, cell, pairs[cell]) for cell in cells]
            job.keep(found)
            job.progress.count(f"{job.part}, trials", trial + 1, trials)
    return found


def summarize(chosen: RealSet, cell: Cell, pairs: list[tuple[float, float]]) -> Measured:
    """Return means and deviations of errors and seconds."""
    errors, seconds = zip(*pairs, strict=True)
    setting = (chosen.train, cell.components, cell.shards, chosen.alpha(cell.shards))
    return measured(cell.group, cell.method, setting, errors, seconds)


def fit(chosen: RealSet, rows: Split, cell: Cell, trial: int) -> tuple[float, float]:
    """Return the share of test rows in the wrong class, and the seconds of the fit."""
    settings = {"n_components": cell.components} if cell.components else {}
    if cell.method.startswith("DKRR"):
        settings["shards"] = cell.shards
    model = recipe(
        cell.method,
        "classification",
        kernel=Gaussian(chosen.bandwidth),
        alpha=chosen.alpha(cell.shards),
        fit_intercept=True,  # not in the paper, but in what was measured
        calibration=None,  # the class of the largest score, as in the paper
        random_state=trial,
        **settings,
    )
    start = time.perf_counter()
    model.fit(rows.X, rows.y)
    taken = time.perf_counter() - start
    return float(np.mean(model.predict(rows.X_test) != rows.y_test)), taken

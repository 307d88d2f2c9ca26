"""Figures 5 to 8: draw, fit and measure on the simulated problems."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.distributed_random_features.kernel import ALL, HARMONICS
from experiments.distributed_random_features.measured import Measured, measured
from experiments.distributed_random_features.problems import GRID, PROBLEMS, Problem
from experiments.distributed_random_features.real import Size
from experiments.scaffold import Array
from experiments.scaffold.runner import Job, Progress
from mercer import KernelRegressor, recipe

#: The paper's names beside the library's: KRR-DC is DKRR.
METHODS = ("KRR", "DKRR", "KRR-RF", "DKRR-RF")
#: Trials of the exact kernel on all rows, which takes most of the time and varies least: of few
#: rows, and of more than that.
EXACT_TRIALS, EXACT_ROWS, EXACT_LARGE_TRIALS = 3, 5000, 1
#: Constants C for which the rate of DKRR-RF is measured once more.
CONSTANTS = (1.0, 2.0, 4.0, 8.0)
#: Problems in which C moves M and m with n.
WITH_CONSTANTS = ("easy", "general")
#: Sizes of the fits in figure 5.
SHOWN = (100, 1000)


@dataclass(frozen=True)
class Variant:
    """A harder problem with other harmonics, or with another constant C, than in its figure."""

    name: str
    harmonics: float
    constant: float
    methods: tuple[str, ...] = METHODS

    @property
    def problem(self) -> Problem:
        """Return the problem with these harmonics."""
        return replace(PROBLEMS[self.name], harmonics=self.harmonics)

    @property
    def group(self) -> str:
        """Return how it is called in tables."""
        shown = "all" if np.isinf(self.harmonics) else f"{self.harmonics:.0f}"
        return f"{self.name} K={shown} C={self.constant:g}"


#: The most rows of these.
SERIES_ROWS = 7000
RANDOM = ("KRR-RF", "DKRR-RF")
VARIANTS = (
    Variant("difficult", HARMONICS, 1 / 4),
    Variant("difficult", HARMONICS, 1 / 16, RANDOM),
    Variant("difficult", HARMONICS, 1 / 64, RANDOM),
    Variant("difficult", 2**13, 1 / 4),
    Variant("difficult", ALL, 1 / 4, RANDOM),  # the exact kernel is infinite at its own rows
    Variant("general", 2**18, 4.0),
)


def estimator(
    problem: Problem, method: str, n: int, trial: int, constant: float | None = None
) -> KernelRegressor:
    """Return a method with lambda, M and m as the theory has them."""
    settings = {}
    if method.endswith("RF"):
        settings["n_components"] = problem.components(n, constant)
    if method.startswith("DKRR"):
        settings["shards"] = problem.shards(n, constant)
    return recipe(
        method,
        kernel=problem.kernel,
        alpha=problem.alpha(n),
        fit_intercept=False,
        dtype="float64",
        random_state=trial,
        **settings,
    )


def run(job: Job) -> list[Measured]:
    """Measure all methods on the same rows of one problem, for each n."""
    problem, size, found = PROBLEMS[job.part], job.size, []
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for n in size.sizes:
            for method in METHODS:
                found.append(repeat(problem, method, n, trials_of(method, n, size)))
            job.keep(found)
            job.progress(f"{problem.name}: n = {n}")
    return found


def trials_of(method: str, n: int, size: Size) -> int:
    """Return how often a method is fitted to n rows."""
    exact = EXACT_TRIALS if n <= EXACT_ROWS else EXACT_LARGE_TRIALS
    return min(size.repeats, exact) if method == "KRR" else size.repeats


def run_series(job: Job) -> list[Measured]:
    """Measure the harder problems with other numbers of harmonics, and with other constants."""
    found: list[Measured] = []
    with threadpool_limits(limits=1):
        for variant in VARIANTS:
            for n in (n for n in job.size.sizes if n <= SERIES_ROWS):
                for method in variant.methods:
                    trials = trials_of(method, n, job.size)
                    row = repeat(variant.problem, method, n, trials, variant.constant)
                    found.append(replace(row, group=variant.group))
            job.keep(found)
            job.progress(variant.group)
    return found


def run_constants(size: Size, progress: Progress) -> list[Measured]:
    """Measure DKRR-RF for other constants than that of the figures."""
    found = []
    with threadpool_limits(limits=1):
        for problem in (PROBLEMS[name] for name in WITH_CONSTANTS):
            for constant in CONSTANTS:
                found += [repeat(problem, "DKRR-RF", n, size.repeats, constant) for n in size.sizes]
                progress(group(problem, constant))
    return found


def group(problem: Problem, constant: float | None = None) -> str:
    """Return how a problem, or a problem with a constant, is called in tables."""
    return problem.name if constant is None else f"{problem.name} C={constant:g}"


def repeat(
    problem: Problem, method: str, n: int, trials: int, constant: float | None = None
) -> Measured:
    """Fit a method to new rows in every trial."""
    errors, seconds = [], []
    for trial in range(trials):
        X, y = problem.draw(n, trial)
        model = estimator(problem, method, n, trial, constant)
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
        errors.append(problem.excess(model, trial))
    components = problem.components(n, constant) if method.endswith("RF") else 0
    shards = problem.shards(n, constant) if method.startswith("DKRR") else 1
    setting = (n, components, shards, problem.alpha(n))
    return measured(group(problem, constant), method, setting, errors, seconds)


def fits() -> dict[str, Array]:
    """Return the columns of figure 5: x, and each target with DKRR-RF of some sizes."""
    columns = {"x": GRID[:, 0]}
    with threadpool_limits(limits=1):
        for problem in PROBLEMS.values():
            columns[f"{problem.name} target"] = problem.truth(GRID[:, 0])
            for n in SHOWN:
                model = estimator(problem, "DKRR-RF", n, trial=0).fit(*problem.draw(n, trial=0))
                columns[f"{problem.name} n={n}"] = model.predict(GRID)
    return columns

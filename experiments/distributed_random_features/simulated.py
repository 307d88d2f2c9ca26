"""Figures 5 to 8: draw, fit and measure on the simulated problems."""

from __future__ import annotations

import time

from threadpoolctl import threadpool_limits

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
                exact = EXACT_TRIALS if n <= EXACT_ROWS else EXACT_LARGE_TRIALS
                many = min(size.repeats, exact) if method == "KRR" else size.repeats
                found.append(repeat(problem, method, n, many))
            job.progress(f"{problem.name}: n = {n}")
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
        errors.append(problem.excess(model.predict(GRID)))
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

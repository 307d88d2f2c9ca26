"""Figure 4, not of the paper: error against the number of labels, drawn in five ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from experiments.importance_labelling import plane
from experiments.importance_labelling.measured import Budgeted
from experiments.importance_labelling.problems import SEED, features, whiten
from experiments.importance_labelling.problems import load as load_pixels
from experiments.importance_labelling.trials import Size
from experiments.scaffold import Array
from experiments.scaffold.data import AbsentError, load
from experiments.scaffold.runner import Job
from mercer import FullKernel, Gaussian, ImportanceLabeller, Landmarks, RandomFeatures
from mercer.estimators import KernelClassifier, KernelRegressor
from mercer.kernels.bandwidth import median_distance

UNIFORM, CRED, PLAIN = "uniform", "CRED", "CRED, no weights"
VARIANCE, RANDOM = "variance", "random variance"
#: How rows are drawn: the ``sampling`` of the labeller, and whether its weights are used.
DRAWN = {
    CRED: ("leverage", True),
    PLAIN: ("leverage", False),
    VARIANCE: ("variance", False),
    RANDOM: ("random_variance", False),
}
WAYS = (UNIFORM, *DRAWN)
#: The columns themselves as functions.
COLUMNS: dict[str, Any] = {"kernel": "linear", "basis": RandomFeatures()}
#: The penalty of the labeller for MNIST: in the middle of those of figure 3.
SCORES = 1e-8


@dataclass(frozen=True)
class Problem:
    """A pool and test rows, what to predict of them, and the kernel of the labeller and the fit."""

    pool: Array
    test: Array
    targets: dict[str, Target]
    parts: dict[str, Any]  # of a fit
    labeller: dict[str, Any]
    budgets: tuple[int, ...]  # numbers of labels
    intercept: bool = True

    def error(self, target: Target, rows: Array, weight: Array | None) -> float:
        """Fit to some rows, alpha by the library; return the test error.

        It is relative to the spread of what is to be predicted, or the share of wrong classes.
        """
        kind = KernelClassifier if target.classes else KernelRegressor
        model = kind(
            **self.parts,
            fit_intercept=self.intercept,
            metric=None,
            scale=None,
            dtype="float64",
            random_state=0,
        )
        predicted = model.fit(self.pool[rows], target.y[rows], weight).predict(self.test)
        if target.classes:
            return float(np.mean(predicted != target.wanted))
        return float(np.sqrt(np.mean((predicted - target.wanted) ** 2)) / target.wanted.std())


@dataclass(frozen=True)
class Target:
    """A label for each row of a pool, and what is to be predicted of the test rows."""

    y: Array
    wanted: Array
    classes: bool = False


def plane_problem(size: Size, repeat: int) -> Problem:
    """Return the points of figure 2, with its coefficients and its noise."""
    noise = np.random.default_rng([SEED, 4, repeat]).standard_normal(size.points // 10)
    pool = plane.points(size.points)[::10]
    truth = pool.sum(axis=1)
    target = Target(truth + np.sqrt(plane.NOISE) * noise, truth)
    labeller = {**COLUMNS, "alpha": plane.ALPHA}
    return Problem(pool, pool, {"plane": target}, COLUMNS, labeller, size.plane_budgets, False)


def crowd_problem(size: Size, repeat: int) -> Problem:
    """Return a crowd in one place and a few rows around it, as in the guide to labeling."""
    rng = np.random.default_rng([SEED, 8, repeat])
    n, others = size.budget_rows[0], size.budget_rows[0] // 40
    crowd = 0.1 * rng.standard_normal((n - others, 2))
    pool = np.concatenate([crowd, rng.uniform(-3, 3, (others, 2))])
    truth, noise = np.sin(2 * pool[:, 0]) + np.cos(2 * pool[:, 1]), rng.standard_normal(n)
    targets = {
        f"crowd, noise {variance:g}": Target(truth + np.sqrt(variance) * noise, truth)
        for variance in (1e-4, 0.25)
    }
    kernel = Gaussian(1.0)
    fit, labeller = {"kernel": kernel, "basis": FullKernel()}, {"kernel": kernel}
    return Problem(pool, pool, targets, fit, labeller | {"basis": Landmarks(100)}, size.budgets)


def pixels_problem(size: Size, repeat: int) -> Problem:
    """Return the nonlinear task of figure 3 on MNIST, with a smaller pool, and two noises."""
    seen = features("nonlinear", *load_pixels("mnist", *size.budget_rows, repeat), size.width)
    white, rng = whiten(seen), np.random.default_rng([SEED, 5, repeat])
    a = white.back @ rng.standard_normal(len(white.values))
    noise = rng.standard_normal(len(seen.pool))
    truth, wanted = seen.pool @ a, seen.test @ a
    targets = {
        f"MNIST, noise {variance:g}": Target(truth + np.sqrt(variance) * noise, wanted)
        for variance in (1e-6, 100.0)
    }
    labeller = {**COLUMNS, "alpha": SCORES}
    return Problem(seen.pool, seen.test, targets, COLUMNS, labeller, size.pixel_budgets, False)


def real_problem(name: str, classes: bool, size: Size, repeat: int) -> Problem:
    """Return a real set: columns of unit spread, and a Gaussian kernel of the median distance."""
    found = load(name)
    if "X" not in found:
        parts = ("train", "test")
        found = {key: np.concatenate([found[f"{key}_{one}"] for one in parts]) for key in "Xy"}
    n, tested = size.budget_rows
    order = np.random.default_rng([SEED, 6, repeat]).permutation(len(found["X"]))[: n + tested]
    pool, test = order[:n], order[n:]
    scaler = StandardScaler().fit(found["X"][pool])
    rows, others = (scaler.transform(found["X"][one]) for one in (pool, test))
    kernel = Gaussian(median_distance(rows))
    return Problem(
        rows,
        others,
        {name: Target(found["y"][pool], found["y"][test], classes)},
        {"kernel": kernel, "basis": FullKernel()},
        {"kernel": kernel, "basis": Landmarks(min(300, n))},
        size.budgets,
    )


Maker = Callable[[Size, int], Problem]
PROBLEMS: dict[str, Maker] = {
    "plane": plane_problem,
    "crowd": crowd_problem,
    "mnist": pixels_problem,
    "kin40k": partial(real_problem, "kin40k", False),
    "elevators": partial(real_problem, "elevators", False),
    "california_housing": partial(real_problem, "california_housing", False),
    "letter": partial(real_problem, "letter", True),
}


def drawn(problem: Problem, sampling: str, labels: int, seed: int) -> ImportanceLabeller:
    """Draw until there are as many different rows to label as asked for."""
    found = ImportanceLabeller(
        **problem.labeller,
        budget=labels,
        sampling=sampling,
        candidates=None if sampling == "leverage" else "all",
        random_state=seed,
    ).fit(problem.pool)
    while len(found.indices_) < labels:
        found.select(labels - len(found.indices_))
    return found


def run(job: Job) -> list[Budgeted]:
    """Measure all problems, repeat by repeat; what an earlier run has kept is not run again."""
    size = job.size
    found: list[Budgeted] = job.before(Budgeted)
    made = {(one.source, one.repeat) for one in found}
    with threadpool_limits(limits=1):
        for name in PROBLEMS:
            # In the plane, rows by variance are always the same, and errors those of noise alone.
            repeats = size.repeats * (10 if name == "plane" else 2)
            for repeat in [one for one in range(repeats) if (name, one) not in made]:
                try:
                    found += one_repeat(name, repeat, size)
                except AbsentError as error:
                    job.progress(f"{name}: skipped, as its data are not at hand: {error}")
                    break
                job.keep(found)
                job.progress(f"{name}: {repeat + 1} of {repeats} repeats")
    return found


def one_repeat(name: str, repeat: int, size: Size) -> list[Budgeted]:
    """Measure every way to draw, for each number of labels."""
    problem, found = PROBLEMS[name](size, repeat), []
    for labels in problem.budgets:
        rng = np.random.default_rng([SEED, 7, repeat, labels])
        rows: dict[str, tuple[Array, Array]] = {
            UNIFORM: (rng.choice(len(problem.pool), labels, replace=False), np.ones(labels))
        }
        names = dict.fromkeys(sampling for sampling, _ in DRAWN.values())
        by_name = {sampling: drawn(problem, sampling, labels, repeat) for sampling in names}
        for way, (sampling, weighted) in DRAWN.items():
            one = by_name[sampling]
            rows[way] = one.indices_, one.sample_weight_ if weighted else np.ones(labels)
        found += [
            Budgeted(name, target, labels, repeat, way, problem.error(known, *chosen))
            for target, known in problem.targets.items()
            for way, chosen in rows.items()
        ]
    return found

"""Figure 3: split, label, fit by every method and measure, repeat by repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.importance_labelling.drawing import Drawn, important, probabilities, uniform
from experiments.importance_labelling.fits import (
    ALPHAS,
    Products,
    eigenfunctions,
    ridge,
    rmse,
    sizes_of,
)
from experiments.importance_labelling.measured import Trial
from experiments.importance_labelling.problems import (
    POOL,
    SEED,
    TASKS,
    TEST,
    WIDTH,
    Whitened,
    features,
    load,
    whiten,
)
from experiments.scaffold import Array
from experiments.scaffold.runner import Job

LABELS = (1000, 2000, 4000)
NOISES = (1e-6, 1e-4, 1e-2, 1.0, 1e2)
REPEATS = 5
#: Penalties of the scores that CRED tries; the other methods draw as often.
SCORES = tuple(10.0**power for power in range(-12, -2))
UNWEIGHTED = "CRED, no weights"
METHODS = ("KRR", "KTR3", "SSSR", "CRED", UNWEIGHTED)


@dataclass(frozen=True)
class Size:
    """How much is run."""

    repeats: int = REPEATS
    labels: tuple[int, ...] = LABELS
    scores: tuple[float, ...] = SCORES
    pool: int = POOL
    test: int = TEST
    width: int = WIDTH
    points: int = 100_000  # of figures 1 and 2
    plane_trials: int = 1000
    steps: tuple[int, ...] = (10, 100, 1000, 10_000)  # of gradient descent
    full_steps: int = 1000  # with the full kernel
    budgets: tuple[int, ...] = (50, 200, 800)  # numbers of labels of figure 4
    plane_budgets: tuple[int, ...] = (5, 20, 80)
    pixel_budgets: tuple[int, ...] = (300, 600, 1000)
    budget_rows: tuple[int, int] = (4000, 2000)  # of the pool and of the test


FULL = Size()
SMALL = Size(
    repeats=2,
    labels=(150, 300),
    scores=(1e-9, 1e-6),
    pool=2000,
    test=500,
    width=30,
    points=2000,
    plane_trials=600,
    steps=(5, 30),
    full_steps=30,
    budgets=(60, 120),
    plane_budgets=(5, 10),
    pixel_budgets=(20, 40),
    budget_rows=(300, 100),
)


@dataclass(frozen=True)
class Labels:
    """A true function and what a label of each row would be: a column for each noise."""

    y: Array
    coefficients: Array


@dataclass(frozen=True)
class Reached:
    """Errors of a method in one draw, at the best setting for each noise."""

    errors: Array
    settings: Array


def run(job: Job) -> list[Trial]:
    """Run all methods on one set, for each task; every repeat has a split and a network of its own.

    What an earlier run has kept is not run again.
    """
    size, name = job.size, job.part
    found: list[Trial] = job.before(Trial)
    made = {(one.repeat, one.task) for one in found}
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for repeat in range(size.repeats):
            asked = [task for task in TASKS if (repeat, task) not in made]
            pixels = load(name, size.pool, size.test, repeat) if asked else ()
            for task in asked:
                rows = whiten(features(task, *pixels, size.width, repeat))
                found += one_repeat(task, rows, repeat, size)
                job.keep(found)
                about = f"{repeat + 1} of {size.repeats} repeats, {len(rows.values)} directions"
                job.progress(f"{name}, {task}: {about}")
    return found


def labels_of(rows: Whitened, rng: np.random.Generator) -> Labels:
    """Draw a true function, and labels for the whole pool."""
    a = rng.standard_normal(len(rows.values))
    noise = rng.standard_normal(len(rows.pool))
    return Labels((rows.pool @ a)[:, None] + np.outer(noise, np.sqrt(NOISES)), a)


def one_repeat(task: str, rows: Whitened, repeat: int, size: Size) -> list[Trial]:
    """Measure every method: each draw, each number of labels, the best setting for each noise."""
    rng = np.random.default_rng([SEED, repeat])
    labels = labels_of(rows, rng)
    reached: dict[tuple[str, int], list[Reached]] = {
        (method, n): [] for method in METHODS for n in size.labels
    }
    for chance in probabilities(rows.pool, rows.values, size.scores):
        chosen = important(chance, size.labels, rng)
        evenly = uniform(len(rows.pool), size.labels, rng)
        for n, mine, theirs in zip(size.labels, chosen, evenly, strict=True):
            fits = {
                **from_uniform(rows, labels, theirs, int(rng.integers(1, n + 1))),
                **from_important(rows, labels, mine),
            }
            for method, found in fits.items():
                reached[method, n].append(found)
    return [
        trial
        for (method, n), draws in reached.items()
        for trial in _trials(task, n, repeat, method, draws)
    ]


def from_uniform(rows: Whitened, labels: Labels, drawn: Drawn, used: int) -> dict[str, Reached]:
    """Fit KRR, SSSR, and KTR3, which takes only the first ``used`` rows."""
    Z, y = rows.pool[drawn.rows], labels.y[drawn.rows]
    products, sizes = Products.of(Z, y, drawn.weight), sizes_of(len(rows.values))
    first = Products.of(Z[:used], y[:used], drawn.weight[:used])
    bound = np.abs(y).max(axis=0)
    krr, ktr3 = ridge(products, rows.values), ridge(first, rows.values)
    sssr = eigenfunctions(products, rows.values, sizes)
    return {
        "KRR": _best(rmse(krr, rows.brief, labels.coefficients), ALPHAS),
        "KTR3": _best(rmse(ktr3, rows.test, labels.coefficients, bound), ALPHAS),
        "SSSR": _best(rmse(sssr, rows.brief, labels.coefficients), sizes),
    }


def from_important(rows: Whitened, labels: Labels, drawn: Drawn) -> dict[str, Reached]:
    """Fit CRED, and the same rows with equal weights."""
    Z, y = rows.pool[drawn.rows], labels.y[drawn.rows]
    found = {}
    for method, weight in (("CRED", drawn.weight), (UNWEIGHTED, np.ones(len(Z)))):
        fits = ridge(Products.of(Z, y, weight), rows.values)
        found[method] = _best(rmse(fits, rows.brief, labels.coefficients), ALPHAS)
    return found


def _best(errors: Array, settings: Sequence[float]) -> Reached:
    at = errors.argmin(axis=0)
    return Reached(errors.min(axis=0), np.asarray(settings, dtype=float)[at])


def _trials(task: str, n: int, repeat: int, method: str, draws: list[Reached]) -> list[Trial]:
    errors = np.array([found.errors for found in draws])
    best, typical = errors.argmin(axis=0), np.median(errors, axis=0)
    return [
        Trial(
            task,
            n,
            noise,
            repeat,
            method,
            float(errors[best[k], k]),
            float(draws[best[k]].settings[k]),
            int(best[k]),
            float(typical[k]),
        )
        for k, noise in enumerate(NOISES)
    ]

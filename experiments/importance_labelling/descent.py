"""CRED-GD and RF-CRED-GD beside the analytic solution, in one setting, all by the library."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.importance_labelling.drawing import Rounds, labeller
from experiments.importance_labelling.fits import ALPHAS, Products, ridge, rmse
from experiments.importance_labelling.measured import Descent
from experiments.importance_labelling.problems import SEED, features, load, whiten
from experiments.importance_labelling.trials import NOISES, Size, labels_of
from experiments.scaffold import Array
from experiments.scaffold.runner import Progress
from mercer import (
    ActiveLearner,
    GradientDescent,
    KernelRegressor,
    RandomFeatures,
    StopAfter,
    recipe,
)

NAME, TASK = "mnist", "nonlinear"
ALPHA = 1e-8
SHOWN = (1e-6, 1.0)  # noises
ACCELERATED = "RF-CRED-GD, accelerated"
ANALYTIC, COORDINATES = "CRED, analytic", "CRED, analytic, coordinates of the pool"


def fit_of(name: str, solver: GradientDescent, common: dict[str, Any]) -> KernelRegressor:
    """Return what a recipe fits to rows that are drawn and labeled already."""
    found = recipe(name, solver=solver, **common)
    assert isinstance(found, ActiveLearner)
    assert isinstance(found.model, KernelRegressor)
    return found.model


def run(size: Size, progress: Progress) -> list[Descent]:
    """Fit the same labeled rows in all ways; one fit serves both noises."""
    with threadpool_limits(limits=1):
        seen = features(TASK, *load(NAME, size.pool, size.test), size.width)
        labeled = size.labels[-1]
        drawn = Rounds(labeller(ALPHA, labeled, SEED).fit(seen.pool)).draw([labeled])[0]
        rows = whiten(seen)
        labels = labels_of(rows, np.random.default_rng([SEED, 0]))
        columns = [NOISES.index(noise) for noise in SHOWN]
        X, y, truth = seen.pool[drawn.rows], labels.y[drawn.rows][:, columns], labels.coefficients
        f = rows.test @ truth

        def reached(model: KernelRegressor) -> Array:
            predicted = model.fit(X, y, drawn.weight).predict(seen.test)
            return np.sqrt(np.mean((predicted - f[:, None]) ** 2, axis=0))

        common: dict[str, Any] = {"kernel": "linear", "fit_intercept": False, "dtype": "float64"}
        found: dict[tuple[str, int], Array] = {}
        for accelerated, method in ((False, "RF-CRED-GD"), (True, ACCELERATED)):
            for step in size.steps:
                solver = GradientDescent(StopAfter(step), accelerated=accelerated)
                found[method, step] = reached(fit_of("RF-CRED-GD", solver, common))
                progress(f"{method}: {step} steps")
        solver = GradientDescent(StopAfter(size.full_steps))
        found["CRED-GD", size.full_steps] = reached(fit_of("CRED-GD", solver, common))
        progress(f"CRED-GD: {size.full_steps} steps")
        common |= {"basis": RandomFeatures(), "metric": None, "scale": None}
        models = [KernelRegressor(alpha=a, **common) for a in ALPHAS]
        found[ANALYTIC, 0] = np.min([reached(model) for model in models], axis=0)
        fits = ridge(Products.of(rows.pool[drawn.rows], y, drawn.weight), rows.values)
        found[COORDINATES, 0] = rmse(fits, rows.brief, truth).min(axis=0)
    return [
        Descent(noise, method, step, float(errors[k]))
        for (method, step), errors in found.items()
        for k, noise in enumerate(SHOWN)
    ]

"""Figures 1 and 2: points of a plane that is wide in one direction and narrow in the other."""

from __future__ import annotations

import numpy as np

from experiments.importance_labelling.drawing import Drawn, Rounds, labeller, uniform
from experiments.importance_labelling.measured import Estimate, Point
from experiments.importance_labelling.trials import FULL, Size
from experiments.scaffold import Array

LABELED, FEW = 100, 3
NOISE = 0.01  # variance
#: The penalty of the scores, which the paper does not tell: far below both variances, 1 and 0.01.
ALPHA = 1e-4
SCHEMES = ("uniform", "CRED")
ALL_SCHEMES = (*SCHEMES, "CRED, no weights")
SEED = 1


def points(number: int = FULL.points) -> Array:
    """Draw x1 with variance 1 and x2 with variance 0.01."""
    return np.random.default_rng(SEED).standard_normal((number, 2)) * [1.0, 0.1]


def figure1(size: Size) -> list[Point]:
    """Label some points by both schemes."""
    number, labeled = size.points, LABELED
    pool = points(number)
    drawn = {
        "uniform": uniform(number, [labeled], np.random.default_rng([SEED, 1]))[0],
        "CRED": Rounds(labeller(ALPHA, labeled, SEED).fit(pool)).draw([labeled])[0],
    }
    return [
        Point(scheme, *map(float, pool[row]), float(weight))
        for scheme in SCHEMES
        for row, weight in zip(drawn[scheme].rows, drawn[scheme].weight, strict=True)
    ]


def figure2(size: Size) -> list[Estimate]:
    """Fit ``x1 + x2`` to three labeled points, time and again."""
    number = size.points
    pool, rng = points(number), np.random.default_rng([SEED, 2])
    rounds = Rounds(labeller(ALPHA, FEW, SEED).fit(pool))
    found = []
    for trial in range(size.plane_trials):
        evenly, chosen = uniform(number, [FEW], rng)[0], rounds.draw([FEW])[0]
        y = {row: pool[row].sum() + np.sqrt(NOISE) * rng.standard_normal() for row in chosen.rows}
        y |= {row: pool[row].sum() + np.sqrt(NOISE) * rng.standard_normal() for row in evenly.rows}
        alike = Drawn(chosen.rows, np.ones(len(chosen.rows)))
        for scheme, drawn in zip(ALL_SCHEMES, (evenly, chosen, alike), strict=True):
            labels = np.array([y[row] for row in drawn.rows])
            found.append(Estimate(scheme, trial, *fitted(pool[drawn.rows], labels, drawn.weight)))
    return found


def fitted(X: Array, y: Array, weight: Array) -> tuple[float, float]:
    """Return the coefficients of weighted least squares."""
    root = np.sqrt(weight)
    first, second = np.linalg.lstsq(root[:, None] * X, root * y, rcond=None)[0]
    return float(first), float(second)

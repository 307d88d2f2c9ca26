"""Choose alpha from a path of values by a criterion."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, Penalty
from mercer.selection.criteria import Criterion, Scored, Scores


def choose_alpha(
    system: Scored, alphas: Array | None, criterion: Criterion, rng: np.random.Generator
) -> tuple[Penalty, Array, Scores]:
    """Return the best alpha, the path, and its scores; the best of each output if kept apart."""
    criterion.prepare(system)
    path = default_alphas(system) if alphas is None else alphas
    scores = criterion.score(system, path, rng)
    scale = system.target_square @ system.units
    if scores.by_output is None:
        return best_alpha(path, scores.mean, float(scale)), path, scores
    columns = zip(scores.by_output.T, scale, strict=True)
    return np.array([best_alpha(path, *column) for column in columns]), path, scores


def default_alphas(system: Scored, number: int = 20) -> Array:
    """Return a path of alphas from the largest eigenvalue of A down to 1e-9 times it.

    It ends earlier if the smallest eigenvalue is larger, because an alpha well below it changes
    nothing.
    """
    smallest, largest = system.decomposition.extremes
    if not largest > 0:
        return np.geomspace(1e-9, 1.0, number)
    return np.geomspace(max(1e-9 * largest, 0.03 * smallest), largest, number)


def best_alpha(alphas: Array, scores: Array, scale: float) -> float:
    """Return the alpha with the lowest score; the largest alpha if no score is finite.

    Scores that differ by less than rounding count as equal, and the largest such alpha is chosen,
    so that rounding does not decide when the data are fitted perfectly. ``scale`` is the mean
    square of y.
    """
    finite = np.where(np.isfinite(scores), scores, np.inf)
    lowest = max(float(finite.min()) * (1 + 1e-9), 1e-12 * scale)
    return float(alphas[np.flatnonzero(finite <= lowest)[-1]])

"""Means over trials: after each step, and where each rule stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.kernel_conjugate_gradients.methods import FACTORS, METHODS, RIDGE, RULES
from experiments.kernel_conjugate_gradients.problem import RATE
from experiments.kernel_conjugate_gradients.trials import Results, Ridges, Steps
from experiments.scaffold import Array

#: Choices that know the truth: one number of steps (or alpha) for all trials, the paper's choice;
#: and the best of each trial.
ORACLE, EACH = "best of the mean", "best of each trial"
LABELS = {name: method.label for name, method in METHODS.items()} | {RIDGE: "KRR"}


@dataclass(frozen=True)
class Choice:
    """One way to stop, at one n: how many steps it took (KRR: its alpha n^(2/3)), how far it got.

    ``setting`` is None where it differs between trials and has no mean worth stating.
    """

    setting: float | None
    mean: float
    error: float  # the standard error of the mean

    def scaled(self, n: int) -> Choice:
        """Return it times n^(2/3)."""
        return Choice(self.setting, self.mean * n**RATE, self.error * n**RATE)


def mean_and_error(values: Array | list[float] | list[list[float]]) -> tuple[Array, Array]:
    """Return the mean over trials (the first axis) and its standard error."""
    rows = np.asarray(values)
    spread = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1:])
    return rows.mean(axis=0), spread / np.sqrt(len(rows))


def choices(results: Results, name: str, n: int) -> dict[str, Choice]:
    """Return every way to stop of a method, by its name."""
    if name == RIDGE:
        return _of_ridge(results.ridges[n])
    return _of_steps(results.steps[name, n])


def slope(results: Results, name: str, rule: str) -> float:
    """Return the exponent of n with which the mean error falls, by least squares on logarithms."""
    if len(results.sizes) < 2:
        return float("nan")
    errors = [choices(results, name, n)[rule].mean for n in results.sizes]
    return float(np.polyfit(np.log(results.sizes), np.log(errors), 1)[0])


def _of_steps(found: Steps) -> dict[str, Choice]:
    errors = np.array(found.errors)
    best = int(errors.mean(axis=0).argmin())
    ways = {
        ORACLE: (float(best + 1), errors[:, best]),
        EACH: (float(np.mean(errors.argmin(axis=1) + 1)), errors.min(axis=1)),
    }
    for rule in RULES:
        ways[rule] = (float(np.mean(found.chosen[rule])), np.array(found.reached[rule]))
    return {name: _choice(setting, values) for name, (setting, values) in ways.items()}


def _of_ridge(found: Ridges) -> dict[str, Choice]:
    errors = np.array(found.errors)
    best = int(errors.mean(axis=0).argmin())
    return {
        ORACLE: _choice(FACTORS[best], errors[:, best]),
        EACH: _choice(None, errors.min(axis=1)),
        "alpha = n^(-2/3)": _choice(1.0, errors[:, FACTORS.index(1.0)]),
        "GCV": _choice(None, np.array(found.reached)),
    }


def _choice(setting: float | None, values: Array) -> Choice:
    mean, error = mean_and_error(values)
    return Choice(setting, float(mean), float(error))

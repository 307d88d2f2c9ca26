"""What is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A labeled point of figure 1."""

    scheme: str
    x1: float
    x2: float
    weight: float


@dataclass(frozen=True)
class Estimate:
    """Coefficients of one trial of figure 2."""

    scheme: str
    trial: int
    beta1: float
    beta2: float


@dataclass(frozen=True)
class Trial:
    """One method in one repeat of figure 3."""

    task: str
    labels: int
    noise: float  # variance
    repeat: int
    method: str
    rmse: float  # the best of all draws and settings
    setting: float  # that it had: a penalty, or a number of functions
    draw: int  # that it had: of uniform draws, or of penalties of the scores
    typical: float  # the median over draws, each at its best setting


@dataclass(frozen=True)
class Descent:
    """Gradient descent after some steps, or the analytic solution (no steps)."""

    noise: float
    method: str
    steps: int
    rmse: float


@dataclass(frozen=True)
class Budgeted:
    """The test error of a number of labels that were drawn in some way, in one repeat."""

    source: str
    target: str
    labels: int
    repeat: int
    way: str
    error: float  # over the spread of what is predicted; of classes, the share that is wrong

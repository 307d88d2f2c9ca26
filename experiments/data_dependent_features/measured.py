"""What a part of the experiment has measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from experiments.scaffold.records import deviation


@dataclass(frozen=True)
class Measured:
    """One method in one setting on EEG eye state: means and standard deviations over splits."""

    method: str
    components: int  # M
    shards: int  # m, 1 for all rows in one place
    unlabeled: int  # rows without labels
    alpha: float
    trials: int
    accuracy: float
    accuracy_sd: float
    choosing: float  # seconds of CPU for drawing features and choosing among candidates
    choosing_sd: float
    fitting: float  # seconds of CPU for the fit, all shards
    fitting_sd: float


@dataclass(frozen=True)
class Reading:
    """One method on EEG eye state with what the paper's lambda may mean, in every split."""

    figure: str
    method: str
    reading: str
    components: int  # M
    shards: int  # m
    unlabeled: int  # rows without labels
    alpha: float
    accuracies: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """The mean over splits."""
        return float(np.mean(self.accuracies))

    @property
    def accuracy_sd(self) -> float:
        """The standard deviation over splits."""
        return deviation(self.accuracies)

    def over(self, other: Reading) -> Gain:
        """Return how much more accurate this one is on the same splits."""
        gains = np.subtract(self.accuracies, other.accuracies)
        error = deviation(gains) / np.sqrt(len(gains))
        return Gain(float(gains.mean()), float(error), int(np.sum(gains > 0)), len(gains))


@dataclass(frozen=True)
class Gain:
    """A mean difference, its standard error, and in how many splits it is above 0.

    >>> print(Gain(0.0123, 0.004, 9, 10))
    +0.012 ± 0.004, 9 of 10
    """

    mean: float
    error: float
    better: int
    splits: int

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f}, {self.better} of {self.splits}"


@dataclass(frozen=True)
class Excess:
    """Both methods on the made-up regression: excess risk, means over trials."""

    alpha: float  # 0: for each method the alpha with the lowest mean
    shards: int
    noise: float  # standard deviation
    trials: int
    supervised: float
    semi: float
    difference_se: float  # standard error of the mean difference, the same rows in both
    supervised_alpha: float
    semi_alpha: float

    @property
    def clear(self) -> int:
        """Return -1 where the difference lowers the risk by two standard errors, 1 where it raises.

        0 where it does neither.
        """
        difference = self.semi - self.supervised
        return int(np.sign(difference)) if abs(difference) > 2 * self.difference_se else 0


@dataclass(frozen=True)
class Trial:
    """One fit."""

    accuracy: float
    choosing: float
    fitting: float


def measured(
    method: str, setting: tuple[int, int, int, float], trials: Sequence[Trial]
) -> Measured:
    """Summarize trials; ``setting`` is M, m, rows without labels, and alpha."""
    columns = np.array([astuple(trial) for trial in trials]).T
    pairs = [float(part) for column in columns for part in (column.mean(), deviation(column))]
    return Measured(method, *setting, len(trials), *pairs)

"""What a part of the experiment has measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.scaffold.records import deviation


@dataclass(frozen=True)
class Measured:
    """One method in one setting: means and standard deviations over trials."""

    group: str  # the problem, or what is varied
    method: str
    rows: int
    components: int  # M, 0 for the exact kernel
    shards: int  # m, 1 for all rows in one place
    alpha: float
    trials: int
    error: float
    error_sd: float
    seconds: float  # of the fit, in this process, all shards
    seconds_sd: float


def measured(
    group: str,
    method: str,
    setting: tuple[int, int, int, float],
    errors: Sequence[float],
    seconds: Sequence[float],
) -> Measured:
    """Summarize trials; ``setting`` is rows, M, m and alpha."""
    values = [part for pair in (errors, seconds) for part in (np.mean(pair), deviation(pair))]
    return Measured(group, method, *setting, len(errors), *(float(value) for value in values))

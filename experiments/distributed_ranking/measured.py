"""What a part of the experiment has measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.distributed_ranking.rows import Split
from experiments.distributed_ranking.selection import Choice
from experiments.distributed_ranking.systems import ALL, EXACT_RF, Cell, Trial, fit
from experiments.distributed_ranking.tuning import Choices, choice_for
from experiments.scaffold import Array, records
from experiments.scaffold.records import deviation
from experiments.scaffold.runner import Progress

#: Rows, and the bandwidth and lambda for them: of all systems, or of each.
Problem = tuple[Split, Choice | Choices]


@dataclass(frozen=True)
class Measured:
    """One system in one setting: means over trials."""

    group: str
    system: str
    rows: int  # to train on, on average
    components: int  # m, 0 for the exact kernel
    shards: int  # p, 1 for all rows in one place
    rounds: int
    pairs: str
    trials: int
    error: float
    error_sd: float
    level_error: float  # over pairs on different levels; nan where levels are not known
    over_exact: float  # error minus that of LSRank in the same trial; nan where it was not run
    over_exact_se: float
    distance: float  # of coefficients to those of all rows, relative: the geometric mean
    seconds: float  # of the processor for the fit, all shards one after the other
    made: float  # rounds that were made
    stopped: int  # trials in which a Newton round raised the objective
    empty: int  # of these, trials without any round before it, whose error counts as 1/2
    over_all: float  # error minus that of all rows in one place with these features, by trial
    over_all_sd: float  # nan where that was not run

    @property
    def local_seconds(self) -> float:
        """About what it takes where every shard has a processor of its own."""
        return self.seconds / self.shards


def repeat(
    group: str, problems: Iterable[Problem], cells: Sequence[Cell], progress: Progress
) -> list[Measured]:
    """Fit every system to the same rows, other rows in every trial."""
    trials: dict[Cell, list[Trial]] = {cell: [] for cell in cells}
    sizes = []
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for seed, (rows, chosen) in enumerate(problems):
            for cell in trials:
                trials[cell].append(fit(cell, rows, choice_for(cell, chosen), seed))
            sizes.append(len(rows.y))
            progress(f"{group}: trial {seed + 1}")
    exact = trials.get(Cell("LSRank"), [])
    goals = {cell.components: found for cell, found in trials.items() if cell.system == EXACT_RF}
    n = round(float(np.mean(sizes)))
    return [
        summarize(group, n, cell, found, exact, goals.get(cell.components, []))
        for cell, found in trials.items()
    ]


def summarize(
    group: str,
    rows: int,
    cell: Cell,
    trials: Sequence[Trial],
    exact: Sequence[Trial],
    goals: Sequence[Trial],
) -> Measured:
    """Return means over trials, beside LSRank and the coefficients that rounds lead to."""
    errors = np.array([trial.error for trial in trials])
    over, over_sd = gap(errors, exact if cell.system != "LSRank" else [])
    distances = [relative(trial, goal) for trial, goal in zip(trials, goals, strict=bool(goals))]
    has = bool(distances) and cell.rounds > 0
    return Measured(
        group,
        cell.system,
        rows,
        cell.components,
        cell.shards,
        cell.rounds,
        cell.pairs,
        len(trials),
        float(errors.mean()),
        deviation(errors),
        float(np.mean([trial.level_error for trial in trials])),
        over,
        float(over_sd / np.sqrt(len(trials))),
        float(np.exp(np.mean(np.log(np.maximum(distances, 1e-16))))) if has else float("nan"),
        float(np.median([trial.seconds for trial in trials])),
        float(np.mean([trial.made for trial in trials])),
        sum(trial.stopped for trial in trials),
        sum(trial.empty for trial in trials),
        *gap(errors, goals if cell.system != EXACT_RF else []),
    )


def gap(errors: Array, others: Sequence[Trial]) -> tuple[float, float]:
    """Return the mean and deviation of differences in the same trials; nan without others."""
    if not others:
        return float("nan"), float("nan")
    gaps = errors - [trial.error for trial in others]
    return float(gaps.mean()), deviation(gaps)


def relative(trial: Trial, goal: Trial) -> float:
    """Return the relative distance of coefficients to those of all rows."""
    if trial.coefficients is None or goal.coefficients is None:
        return float("nan")
    gap = np.linalg.norm(trial.coefficients - goal.coefficients)
    return float(gap / np.linalg.norm(goal.coefficients))


def select(
    found: Sequence[Measured], group: str, system: str, pairs: str = ALL, **sizes: int
) -> list[Measured]:
    """Return the settings of a system in a group that have these sizes, in the order of runs."""
    return records.select(found, group=group, system=system, pairs=pairs, **sizes)

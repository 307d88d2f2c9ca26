"""Landmarks over shards: the tables, and the figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.landmark_sampling.over_shards import WAYS, ScoredSet, ShardedFit
from experiments.scaffold import Array
from experiments.scaffold.figures import BLUE, INK, SKY, log_x, panels
from experiments.scaffold.records import select, values
from experiments.scaffold.tables import Table, marked

COLOR = {"uniform": INK, "leverage at alpha": BLUE, "leverage at M": SKY}
MARKER = {"uniform": "o", "leverage at alpha": "s", "leverage at M": "v"}


def sharded_parts(found: list[ShardedFit], sets: list[ScoredSet]) -> list[str]:
    """Return the sections of the page of results; none where nothing was run."""
    if not found:
        return []
    return [
        "## Landmarks shared by shards: scores at the alpha of the fit",
        "Exact leverage scores of all training rows (equation 4 of the paper), and quantiles of "
        "approximate over exact ones.",
        marked("scored", scored_table(sets)),
        "## Landmarks shared by shards: DNystroem with uniform and with leverage landmarks",
        "Share of test rows in the wrong class, in percent: mean over repeats ± standard "
        "deviation. In brackets the mean difference to uniform landmarks over its standard error, "
        "repeat by repeat: within ± 2 it may be chance.",
        marked("shards", shards_table(found)),
    ]


def scored_table(sets: list[ScoredSet]) -> Table:
    """Return one row a set."""
    table = Table(
        ["", "rows", "alpha", "sum", "sd / mean", "largest / mean", "5 %", "50 %", "95 %"]
    )
    for one in sets:
        shape = [f"{one.dimension:.0f}", f"{one.spread:.2f}", f"{one.peak:.1f}"]
        ratios = [f"{value:.2f}" for value in (one.low, one.middle, one.high)]
        table.add([one.problem, f"{one.rows:,}", f"{one.alpha:g}", *shape, *ratios])
    return table


def shards_table(found: list[ShardedFit]) -> Table:
    """Return one row a set, a number of partitions and of landmarks."""
    table = Table(["", "partitions", "M", *WAYS])
    for problem in _problems(found):
        own = select(found, problem=problem)
        for partitions, size in sorted({(one.partitions, one.size) for one in own}):
            cells = []
            for way in WAYS:
                wrong = 100 * errors(found, problem, way, partitions, size)
                uniform = 100 * errors(found, problem, WAYS[0], partitions, size)
                told = f"{wrong.mean():.2f} ± {_deviation(wrong):.2f}"
                if way != WAYS[0]:
                    told += f" ({_significance(wrong - uniform):+.1f})"
                cells.append(told)
            table.add([problem, str(partitions), str(size), *cells])
    return table


def errors(found: list[ShardedFit], problem: str, way: str, partitions: int, size: int) -> Array:
    """Return error rates, one a repeat."""
    own = select(found, problem=problem, sampling=way, partitions=partitions, size=size)
    return np.array([one.wrong for one in sorted(own, key=lambda one: one.seed)])


def draw_shards(found: list[ShardedFit]) -> Figure | None:
    """Draw errors against M and against partitions, one row a set."""
    if not found:
        return None
    problems = _problems(found)
    figure, cells = panels((10.5, 3.4 * len(problems) + 0.4), len(problems), 2, squeeze=False)
    for row, problem in zip(cells, problems, strict=True):
        own = select(found, problem=problem)
        by_size = [one for one in own if one.partitions == _held(own, "partitions", "size")]
        by_shards = [one for one in own if one.size == _held(own, "size", "partitions")]
        for axes, part, name in zip(row, (by_size, by_shards), ("size", "partitions"), strict=True):
            _draw(axes, part, name)
        row[0].set_title(f"{problem}, {by_size[0].partitions} partitions")
        row[1].set_title(f"{problem}, M = {by_shards[0].size}")
        row[0].set_ylabel("test rows in the wrong class, %")
    cells[-1][0].set_xlabel("landmarks M")
    cells[-1][1].set_xlabel("partitions m")
    figure.legend(*cells[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _draw(axes: Any, part: list[ShardedFit], name: str) -> None:
    at = values(part, name)
    for way in WAYS:
        rows = [
            100 * np.array([one.wrong for one in select(part, sampling=way, **{name: value})])
            for value in at
        ]
        mean = np.array([wrong.mean() for wrong in rows])
        error = np.array([_deviation(wrong) / np.sqrt(len(wrong)) for wrong in rows])
        axes.plot(at, mean, color=COLOR[way], marker=MARKER[way], label=way)
        axes.fill_between(at, mean - error, mean + error, color=COLOR[way], alpha=0.15, linewidth=0)
    log_x(axes, at)


def _held(found: list[ShardedFit], held: str, varied: str) -> int:
    """Return the value at which most values of the other were run."""
    return max(values(found, held), key=lambda at: len(values(select(found, **{held: at}), varied)))


def _problems(found: list[ShardedFit]) -> list[str]:
    return list(dict.fromkeys(one.problem for one in found))


def _deviation(sample: Array) -> float:
    return float(np.std(sample, ddof=1)) if len(sample) > 1 else 0.0


def _significance(difference: Array) -> float:
    """Return the mean over its standard error; 0 if it cannot be told."""
    error = _deviation(difference) / np.sqrt(len(difference))
    return float(difference.mean() / error) if error > 0 else 0.0

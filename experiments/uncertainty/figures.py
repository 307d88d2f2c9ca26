"""Figures: coverage against its level, scores against the best, and what far rows change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.scaffold.figures import (
    BLUE,
    GRAY,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    panels,
    ticks,
)
from experiments.scaffold.records import select
from experiments.uncertainty.problems import CLASSES, REGRESSIONS
from experiments.uncertainty.results import (
    SHOWN,
    Results,
    Value,
    mean_score,
    means,
    methods,
    names,
    relative,
    score_at,
)
from experiments.uncertainty.scores import LEVELS
from experiments.uncertainty.trials import INSIDE, OUTSIDE

COLORS = {
    "mercer": BLUE,
    "catboost-conformal": ORANGE,
    "lightgbm-quantile": SKY,
    "lightgbm-cqr": GREEN,
    "histogram-quantile": PURPLE,
    "gaussian-process": GRAY,
    "mercer-uncalibrated": SKY,
    "mercer-calibrated-cv": GREEN,
    "catboost": ORANGE,
    "histogram": PURPLE,
}
SHAPES = "osD^vXP*<"
#: Ticks of ratios, as far as they are needed.
TICKS = (0.5, 0.7, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100)


def draw_coverage(results: Results) -> Figure | None:
    """Draw coverage against its level: a panel a method, a line a set."""
    records = results.intervals
    if not records:
        return None
    told = methods(records)
    figure, axes = panels((11, 6.4), 2, 3, sharex=True, sharey=True, squeeze=False)
    for place, title in zip(axes.flat, told.items(), strict=False):
        method, text = title
        place.plot([0.4, 1], [0.4, 1], color=INK, linewidth=0.8)
        for marker, name in zip(SHAPES, names(records, tuple(REGRESSIONS)), strict=False):
            some = select(records, name=name, method=method)
            if some:
                values = np.mean([one.coverage for one in some], axis=0)
                style: dict[str, Any] = {"markersize": 4, "linewidth": 0.8, "marker": marker}
                place.plot(LEVELS, values, label=name, color=COLORS[method], **style)
        place.set_title(text)
    for empty in axes.flat[len(told) :]:
        empty.set_visible(False)
    for place in axes[-1]:
        place.set_xlabel("level")
    for place in axes[:, 0]:
        place.set_ylabel("coverage of test rows")
    axes[0, 0].legend(fontsize=7, loc="lower right")
    return figure


def draw_scores(results: Results) -> Figure | None:
    """Draw interval scores in units of the best of each set."""
    if not results.intervals:
        return None
    figure, both = panels((11, 4.6), sharey=True)
    titles = (f"Interval score at {LEVELS[SHOWN]:.0%} / best", "Mean over all levels / best")
    for axes, title, value in zip(both, titles, (score_at(SHOWN), mean_score), strict=True):
        _dots(axes, results.intervals, value, tuple(REGRESSIONS))
        axes.set_title(title)
    both[1].legend(fontsize=8, loc="best")
    return figure


def draw_shifted(results: Results) -> Figure | None:
    """Draw coverage of near and of far rows, and how much wider intervals of the latter are."""
    records = results.shifted
    if not records:
        return None
    figure, (left, right) = panels((11, 4.6), sharey=True)
    order = names(records, tuple(REGRESSIONS))
    told = methods(records)
    for number, (method, text) in enumerate(told.items()):
        shift = 0.09 * (number - (len(told) - 1) / 2)
        some = select(records, method=method)
        near, far = (select(some, where=where) for where in (INSIDE, OUTSIDE))
        covered = [means(part, lambda one: one.coverage[SHOWN]) for part in (near, far)]
        wide = [means(part, lambda one: one.width[SHOWN]) for part in (near, far)]
        rows = [(place, (name, method)) for place, name in enumerate(order)]
        rows = [(place, key) for place, key in rows if key in covered[1]]
        y = np.array([place for place, _ in rows]) + shift
        ends = np.array([[part[key] for part in covered] for _, key in rows])
        left.hlines(y, ends[:, 0], ends[:, 1], color=COLORS[method], linewidth=0.8)
        left.plot(ends[:, 1], y, "o", color=COLORS[method], markersize=4, label=text)
        ratio = [wide[1][key] / wide[0][key] for _, key in rows]
        right.plot(ratio, y, "o", color=COLORS[method], markersize=4, label=text)
    left.axvline(LEVELS[SHOWN], color=INK, linewidth=0.8)
    left.set_title(f"Coverage at {LEVELS[SHOWN]:.0%}: from near rows to far ones (dots)")
    right.axvline(1, color=INK, linewidth=0.8)
    right.set(xscale="log")
    widest = right.get_xlim()
    ticks(right.xaxis, [at for at in TICKS if widest[0] <= at <= widest[1]])
    right.set_title("Width of far rows / width of near ones")
    left.set_yticks(range(len(order)), order)
    left.invert_yaxis()
    right.legend(fontsize=8, loc="best")
    return figure


def draw_probabilities(results: Results) -> Figure | None:
    """Draw log loss and Brier score in units of the best of each set."""
    records = results.probabilities
    if not records:
        return None
    figure, both = panels((11, 4.2), sharey=True)
    titles = ("Log loss / best", "Brier score / best")
    values: tuple[Value, ...] = (lambda one: one.log_loss, lambda one: one.brier)
    for axes, title, value in zip(both, titles, values, strict=True):
        _dots(axes, records, value, tuple(CLASSES))
        axes.set_title(title)
    both[1].legend(fontsize=8, loc="best")
    return figure


def _dots(axes: Any, records: Sequence[Any], value: Value, order: tuple[str, ...]) -> None:
    found = relative(means(records, value))
    listed = names(records, order)
    for method, text in methods(records).items():
        points = [
            (found[name, method], place)
            for place, name in enumerate(listed)
            if (name, method) in found
        ]
        x, y = zip(*points, strict=True)
        axes.plot(x, y, "o", color=COLORS[method], label=text, markersize=6)
    axes.set_xscale("log")
    ticks(axes.xaxis, [at for at in TICKS if at <= max(found.values()) * 1.05])
    axes.set_yticks(range(len(listed)), listed)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()

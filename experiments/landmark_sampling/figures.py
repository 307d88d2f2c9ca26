"""Errors against the number of landmarks, and the worth of a landmark against unevenness."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from experiments.landmark_sampling.problems import PROBLEMS
from experiments.landmark_sampling.summary import (
    UNIFORM,
    at_median,
    curve,
    keys,
    uneven_of,
    worth,
)
from experiments.landmark_sampling.trials import SAMPLINGS, Results
from experiments.scaffold.figures import (
    BLUE,
    GRAY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    log_x,
    panels,
    ticks,
)

COLOR = {
    "uniform": INK,
    "leverage": BLUE,
    "bless": SKY,
    "rpcholesky": ORANGE,
    "kmeans": PURPLE,
}
MARKER = {"uniform": "o", "leverage": "s", "bless": "v", "rpcholesky": "D", "kmeans": "^"}
#: Markers of bandwidths, narrow to wide.
BANDWIDTHS = {0.5: "v", 1.0: "o", 2.0: "^"}
COLUMNS = 3


def draw_errors(results: Results) -> Figure:
    """Draw test errors against M, one panel a set."""
    return _by_set(results, "error", "unexplained variance")


def draw_traces(results: Results) -> Figure:
    """Draw trace errors against M, one panel a set, with the best that M functions could do."""
    return _by_set(results, "trace", "trace(K - approximation) / trace(K)")


def _by_set(results: Results, what: str, label: str) -> Figure:
    names = at_median(results)
    rows = -(-len(names) // COLUMNS)
    figure, cells = panels((11.5, 3.1 * rows + 0.4), rows, COLUMNS, (0.03, None), squeeze=False)
    cells = cells.ravel()
    for axes in cells[len(names) :]:
        axes.set_axis_off()
    for place, (axes, name) in enumerate(zip(cells, names, strict=False)):
        for sampling in reversed(SAMPLINGS):
            sizes, values = curve(results, name, 1.0, sampling, what)
            mean = values.mean(axis=0)
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0
            look = {"color": COLOR[sampling], "zorder": 3 if sampling == UNIFORM else 2}
            axes.plot(sizes, mean, marker=MARKER[sampling], label=sampling, **look)
            low = np.maximum(mean - error, mean / 10)
            axes.fill_between(sizes, low, mean + error, alpha=0.15, linewidth=0, **look)
        uniform_sizes, values = curve(results, name, 1.0, UNIFORM, what)
        if what == "trace":
            _draw_best(results, name, uniform_sizes, axes, float(values.min()))
        axes.set_yscale("log")
        _plain(axes, uniform_sizes[1:])
        axes.set_title(PROBLEMS[name].label)
        if place % COLUMNS == 0:
            axes.set_ylabel(label)
        if place + COLUMNS >= len(names):
            axes.set_xlabel("landmarks M")
    handles, labels = cells[0].get_legend_handles_labels()
    order = [labels.index(name) for name in (*SAMPLINGS, "best of any") if name in labels]
    figure.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="outside upper center",
        ncols=len(order),
    )
    return figure


def _draw_best(results: Results, name: str, sizes: Any, axes: Any, least: float) -> None:
    """Draw the trace error of the best M functions, as far down as the others come."""
    best = next(one.best for one in results.uneven if (one.problem, one.factor) == (name, 1.0))
    values = np.array(best)[: len(sizes)]
    shown = values > least / 30
    look = {"color": GRAY, "linestyle": "--", "linewidth": 1.3}
    axes.plot(sizes[: len(values)][shown], values[shown], label="best of any", **look)


def _plain(axes: Any, sizes: Any) -> None:
    log_x(axes, sizes.tolist())
    low, high = axes.get_ylim()
    if high / low < 50:
        known = [a * 10.0**b for b in range(-7, 2) for a in (1, 1.5, 2, 3, 4, 5, 7)]
        if high / low < 3:
            known = MaxNLocator(5).tick_values(low, high).tolist()
        ticks(axes.yaxis, [t for t in known if low <= t <= high])


def draw_gains(results: Results) -> Figure:
    """Draw the worth of a landmark against the spread of scores, for K and for prediction."""
    shown = ("leverage", "rpcholesky")
    figure, (left, right) = panels((11.5, 4.8), space=(0.05, None), sharey=True)
    for axes, what in ((left, "trace"), (right, "error")):
        for place, sampling in enumerate(shown):
            for problem, factor in keys(results):
                found = worth(results, problem, factor, sampling, what)
                at = uneven_of(results, problem, factor) * 1.012 ** (2 * place - 1)
                color = COLOR[sampling]
                axes.plot([at, at], [found.low, found.high], color=color, linewidth=1)
                made_up = PROBLEMS[problem].made_up
                face = "white" if made_up else color
                look = {"marker": BANDWIDTHS.get(factor, "o"), "markersize": 6.5}
                axes.plot([at], [found.middle], color=color, markerfacecolor=face, **look)
        axes.axhline(1.0, color=INK, linewidth=1.0, zorder=1)
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks(axes.xaxis, [0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4])
        ticks(axes.yaxis, [0.25, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8, 12])
        axes.set_xlabel("unevenness: sd / mean of leverage scores")
    left.set_ylabel("uniform landmarks that do the same as one")
    left.set_title("For approximating K")
    right.set_title("For prediction")
    marks = [
        Line2D([], [], color=COLOR[name], marker="o", linestyle="", label=name) for name in shown
    ]
    marks += [
        Line2D([], [], color=INK, marker=mark, linestyle="", label=f"bandwidth x {factor:g}")
        for factor, mark in BANDWIDTHS.items()
    ]
    look = {"color": INK, "markerfacecolor": "white", "marker": "o", "linestyle": ""}
    marks.append(Line2D([], [], label="made up", **look))
    figure.legend(handles=marks, loc="outside upper center", ncols=len(marks))
    return figure

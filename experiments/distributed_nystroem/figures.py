"""Figures 1, 5 and 6 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from experiments.distributed_nystroem.methods import METHODS
from experiments.distributed_nystroem.summary import (
    Crossing,
    Study,
    centers_crossing,
    crossing_text,
    errors,
    mean_and_deviation,
    partitions_crossing,
)
from experiments.distributed_nystroem.trials import (
    FIGURE_1_CENTERS,
    IN_FIGURE_1,
    Point,
    Results,
    by_centers,
    by_partitions,
    by_rows,
)
from experiments.scaffold.figures import BLUE, GRAY, GREEN, ORANGE, PURPLE, log_x, panels, short

COLOR = {
    "DNystroem": BLUE,
    "DC-NY": ORANGE,
    "DKRR": PURPLE,
    "DC-RF": GREEN,
    "Nystroem": BLUE,
    "RF": GREEN,
}
MARKER = {"DNystroem": "o", "DC-NY": "s", "DKRR": "^", "DC-RF": "D", "Nystroem": "", "RF": ""}


def draw_partitions(study: Study) -> Figure:
    """Draw errors against the number of partitions (figure 5)."""
    drawn = [
        (name, centers)
        for name, problem in study.problems.items()
        for centers in problem.at_centers
    ]
    figure, cells = _panels(len(drawn))
    for axes, (name, centers) in zip(cells, drawn, strict=False):
        problem = study.problems[name]
        for method in METHODS:
            curve = by_partitions(problem, method, centers)
            _draw(axes, problem.partitions, study.results[name], curve, method)
        paper = problem.paper_partitions if centers == 500 else 0
        crossing = partitions_crossing(problem, study.results[name], "DKRR", centers)
        _finish(axes, f"{name}, M = {centers}", "partitions m")
        _mark(axes, paper, crossing)
    _legend(cells, len(drawn))
    return figure


def draw_centers(study: Study) -> Figure:
    """Draw errors against the number of centers (figure 6)."""
    figure, cells = _panels(len(study.problems))
    for axes, (name, problem) in zip(cells, study.problems.items(), strict=False):
        results = study.results[name]
        for method in METHODS:
            _draw(axes, problem.centers, results, by_centers(problem, method), method)
        title = f"{name}, {problem.at_partitions} partitions"
        _finish(axes, title, "centers M", log=True)
        log_x(axes, problem.centers[::2])
        _mark(axes, problem.paper_centers, centers_crossing(problem, results, "DKRR"))
    _legend(cells, len(study.problems))
    return figure


def draw_rows(study: Study) -> Figure | None:
    """Draw errors against centers and against training rows (figure 1)."""
    with_rows = [problem for problem in study.problems.values() if problem.samples]
    if not with_rows:
        return None
    problem = with_rows[-1]
    results, m = study.results[problem.name], problem.at_partitions
    figure, (left, right) = panels((11, 4.4))
    for method in IN_FIGURE_1:
        _draw(left, problem.centers, results, by_centers(problem, method), method)
    first, second = FIGURE_1_CENTERS
    for method in IN_FIGURE_1:
        curve = by_rows(problem, method, first)
        named = method if method == "DKRR" else f"{method}, M = {first}"
        _draw(right, problem.samples, results, curve, method, label=named)
    curve = by_rows(problem, "DNystroem", second)
    more = {"label": f"DNystroem, M = {second}", "linestyle": ":"}
    _draw(right, problem.samples, results, curve, "DNystroem", **more)
    rows = problem.train_rows
    _finish(left, f"{problem.name}: {m} shards of {rows // m:,} rows", "centers M", log=True)
    _finish(right, f"{problem.name}: {m} shards", "training rows N")
    for axes in (left, right):
        axes.legend()
    return figure


def _draw(
    axes: Any, x: Sequence[int], results: Results, curve: list[Point], method: str, **changes: Any
) -> None:
    mean, spread = mean_and_deviation(100 * errors(results, curve))
    shown = ~np.isnan(mean)
    if not shown.any():
        return
    x, mean, spread = np.asarray(x)[shown], mean[shown], np.nan_to_num(spread[shown])
    color = COLOR[method]
    settings = {"color": color, "marker": MARKER[method], "label": METHODS[method].label}
    if method == "DKRR":  # seen around DC-NY, where both are the same
        settings |= {"markersize": 9, "fillstyle": "none", "zorder": 1.9}
    if method == "DNystroem":
        settings |= {"zorder": 2.1}
    if not METHODS[method].has_partitions:
        settings |= {"linestyle": "--", "linewidth": 1.2}
    axes.plot(x, mean, **(settings | changes))
    axes.fill_between(x, mean - spread, mean + spread, color=color, alpha=0.18, linewidth=0)


def _finish(axes: Any, title: str, what: str, log: bool = False) -> None:
    axes.set_title(title)
    axes.set_xlabel(what)
    axes.set_ylabel("test error, %")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if log:  # few centers have many times the error of many
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(short)


def _mark(axes: Any, paper: int, ours: Crossing) -> None:
    """Show from where DNystroem is below DKRR: in the paper, and here with its interval."""
    told = [f"below DKRR from {crossing_text(ours)}"]
    if np.isposinf(ours.at):
        told = ["not below DKRR at the end"]
    if paper:
        axes.axvline(paper, color=GRAY, linewidth=1.4, linestyle="-.")
        told.append(f"the paper: {paper}")
    if np.isfinite(ours.at):
        axes.axvline(ours.at, color=BLUE, linewidth=1.4, linestyle="-.")
        low, high = np.clip([ours.low, ours.high], *axes.get_xlim())
        axes.axvspan(low, high, color=BLUE, alpha=0.1, linewidth=0)
    text = f"{axes.get_title(loc='left')}\n{'; '.join(told)}"
    axes.set_title(text, fontsize=9.5)


def _panels(count: int) -> tuple[Figure, list[Any]]:
    """Return cells for so many panels and one more for the legend, three in a row."""
    lines = -(-(count + 1) // 3)
    figure, cells = panels((13, 3.9 * lines), lines, 3, (0.05, 0.06), squeeze=False)
    return figure, list(cells.flat)


def _legend(cells: list[Any], used: int) -> None:
    for axes in cells[used:]:
        axes.set_axis_off()
    if not used:
        return
    handles, labels = cells[0].get_legend_handles_labels()
    note = (
        "mean over repeats; bands: one\nstandard deviation between them;\n"
        "upright: where DNystroem passes DKRR,\n"
        "here (blue, with an interval) and\nin the paper (gray)"
    )
    cells[used].legend(
        handles, labels, loc="center left", title=note, title_fontsize=9, alignment="left"
    )

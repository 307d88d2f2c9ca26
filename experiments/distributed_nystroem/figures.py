"""Figures 1, 5 and 6 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from experiments.distributed_nystroem.methods import METHODS
from experiments.distributed_nystroem.summary import (
    Crossing,
    Study,
    authors_crossing,
    centers_crossing,
    crossing_text,
    errors,
    mean_and_deviation,
    number,
    partitions_crossing,
)
from experiments.distributed_nystroem.trials import (
    IN_FIGURE_1,
    Point,
    Results,
    by_centers,
    by_partitions,
    by_rows,
)
from experiments.scaffold.figures import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    log_x,
    panels,
    short,
)
from experiments.scaffold.stored import draw_behind, stored

COLOR = {
    "DNystroem": BLUE,
    "DC-NY": ORANGE,
    "DKRR": PURPLE,
    "DC-RF": SKY,
    "DC-RF2": GREEN,
    "Nystroem": BLUE,
    "RF": SKY,
    "RF2": GREEN,
}
MARKER = {"DNystroem": "o", "DC-NY": "s", "DKRR": "^", "DC-RF": "D", "DC-RF2": "D"}


def draw_partitions(study: Study) -> Figure:
    """Draw errors against the number of partitions (figure 5)."""
    figure, cells = _panels(len(study.problems))
    for axes, (part, problem) in zip(cells, study.problems.items(), strict=False):
        results = study.results[part]
        for method in METHODS:
            _draw(axes, problem.partitions, results, by_partitions(problem, method), method)
            _behind(axes, study, "5", problem.name, method)
        title = f"{problem.name}, M = {problem.at_centers}, lambda = {problem.alpha:.0e}"
        _finish(axes, title.replace("e-0", "e-"), "partitions m", log=True)
        crossing = partitions_crossing(problem, results, "DKRR")
        theirs = authors_crossing(study.authors, "5", problem.name, "DKRR")
        _mark(axes, problem.paper_partitions, theirs, crossing)
    _legend(cells, len(study.problems))
    return figure


def draw_centers(study: Study) -> Figure:
    """Draw errors against the number of centers (figure 6)."""
    problems = {part: one for part, one in study.problems.items() if one.centers}
    figure, cells = _panels(len(problems))
    for axes, (name, problem) in zip(cells, problems.items(), strict=False):
        results = study.results[name]
        for method in METHODS:
            _draw(axes, problem.centers, results, by_centers(problem, method), method)
            _behind(axes, study, "6", name, method)
        title = f"{name}, {problem.at_partitions} partitions"
        _finish(axes, title, "centers M", log=True)
        log_x(axes, [50, 100, 200, 500, 1000])
        theirs = authors_crossing(study.authors, "6", name, "DKRR")
        _mark(axes, problem.paper_centers, theirs, centers_crossing(problem, results, "DKRR"))
    _legend(cells, len(problems))
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
        _behind(left, study, "1 left", problem.name, method)
        _draw(right, problem.samples, results, by_rows(problem, method), method)
        _behind(right, study, "1 right", problem.name, method)
    rows = problem.train_rows
    _finish(left, f"{problem.name}: {m} shards of {rows // m:,} rows", "centers M", log=True)
    title = f"{problem.name}: {m} shards, M = {problem.at_centers}"
    _finish(right, title, "training rows N", log=True)
    left.legend()
    right.legend([_pale()], ["the authors' stored means"])
    return figure


def _behind(axes: Any, study: Study, figure: str, name: str, method: str) -> None:
    curve = stored(study.authors, figure, name, METHODS[method].stored)
    draw_behind(axes, curve, COLOR[method], scale=100)


def _draw(axes: Any, x: Sequence[int], results: Results, curve: list[Point], method: str) -> None:
    mean, spread = mean_and_deviation(100 * errors(results, curve))
    shown = ~np.isnan(mean)
    if not shown.any():
        return
    x, mean, spread = np.asarray(x)[shown], mean[shown], np.nan_to_num(spread[shown])
    color = COLOR[method]
    settings = {"color": color, "marker": MARKER.get(method), "label": METHODS[method].label}
    if method == "DNystroem":
        settings |= {"zorder": 2.1}
    if not METHODS[method].has_partitions:
        settings |= {"linestyle": "--", "linewidth": 1.2}
    axes.plot(x, mean, **settings)
    axes.fill_between(x, mean - spread, mean + spread, color=color, alpha=0.18, linewidth=0)


def _finish(axes: Any, title: str, what: str, log: bool = False) -> None:
    axes.set_title(title)
    axes.set_xlabel(what)
    axes.set_ylabel("test error, %")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if log:  # few centers have many times the error of many
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 4, 6, 8)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(short)


def _mark(axes: Any, paper: int, theirs: float, ours: Crossing) -> None:
    """Show from where DNystroem is below DKRR: in the text, as stored, and here."""
    told = [f"below DKRR from {crossing_text(ours)}"]
    if np.isinf(ours.at):
        told = ["not below DKRR at the end" if ours.at > 0 else "below DKRR everywhere"]
    if np.isnan(ours.at):
        told = []
    if not np.isnan(theirs):
        told.append(f"stored: {number(theirs)}")
    if paper:
        axes.axvline(paper, color=GRAY, linewidth=1.4, linestyle="-.")
        told.append(f"text: {paper}")
    if np.isfinite(ours.at):
        axes.axvline(ours.at, color=BLUE, linewidth=1.4, linestyle="-.")
        low, high = np.clip([ours.low, ours.high], *axes.get_xlim())
        axes.axvspan(low, high, color=BLUE, alpha=0.1, linewidth=0)
    text = f"{axes.get_title(loc='left')}\n{'; '.join(told)}"
    axes.set_title(text, fontsize=8.5)


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
        "here (blue, with an interval) and\nin the paper's text (gray)"
    )
    cells[used].legend(
        [*handles, _pale()],
        [*labels, "the authors' stored means"],
        loc="center left",
        title=note,
        title_fontsize=9,
        alignment="left",
    )


def _pale() -> Line2D:
    """Stand for the authors' curves in a legend."""
    return Line2D([], [], color=GRAY, alpha=0.4, linewidth=6)

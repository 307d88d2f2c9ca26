"""What was measured, as Markdown for people and as CSV for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.distributed_nystroem.methods import METHODS
from experiments.distributed_nystroem.problems import Problem
from experiments.distributed_nystroem.summary import (
    ENOUGH,
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
    Point,
    Results,
    by_centers,
    by_partitions,
    by_rows,
)
from experiments.scaffold.records import csv_text
from experiments.scaffold.tables import Table, marked, page

CROSSING_COLUMNS = ("set", "varied", "fixed", "against", "paper", "measured", "low", "high")


def markdown(study: Study) -> str:
    """Return all tables, each between marks by which other pages include it."""
    found = study.results
    repeats = ", ".join(f"{len({seed for _, seed in found[name]})} ({name})" for name in found)
    about = (
        "Error rates on the "
        "test rows in percent: means over repeats and standard deviations between them. "
        f"Repeats: {repeats}. What they show is in the [README](README.md)."
    )
    parts = [
        "## Where DNystroem passes the others",
        "From this many partitions m (figure 5) or centers M (figure 6) on, the mean error of "
        "DNystroem is below that of the others at every larger value measured; linear between "
        "measured values. In brackets a 95 % interval: repeats are drawn again with replacement, "
        f"where there are at least {ENOUGH}; with fewer it is the range over single repeats. "
        "`never`: not below at the largest value; `always`: below from the smallest on; `-`: not "
        "told, or not measured.",
        marked("crossings", crossings_table(study)),
    ]
    for name, problem in study.problems.items():
        results = found[name]
        for centers in problem.at_centers:
            curves = {label(method): by_partitions(problem, method, centers) for method in METHODS}
            parts += [
                f"## {name}: error against the number of partitions, M = {centers} (figure 5)",
                marked(
                    f"{name} partitions {centers}",
                    curves_table("m", problem.partitions, results, curves),
                ),
            ]
        curves = {label(method): by_centers(problem, method) for method in METHODS}
        parts += [
            f"## {name}: error against the number of centers, "
            f"{problem.at_partitions} partitions (figure 6)",
            marked(f"{name} centers", curves_table("M", problem.centers, results, curves)),
        ]
        if problem.samples:
            parts += [
                f"## {name}: error against the number of training rows, "
                f"{problem.at_partitions} partitions (figure 1, right)",
                marked(
                    f"{name} rows",
                    curves_table("N", problem.samples, results, rows_curves(problem)),
                ),
            ]
    return page("distributed_nystroem", about, *parts)


def label(method: str) -> str:
    """Return a short name for the head of a column."""
    return METHODS[method].label.split(",")[0] + (
        "" if METHODS[method].has_partitions else " (m = 1)"
    )


def rows_curves(problem: Problem) -> dict[str, list[Point]]:
    """Return the curves of figure 1, right."""
    first, *_ = FIGURE_1_CENTERS
    return {
        **{
            f"DNystroem, M = {centers}": by_rows(problem, "DNystroem", centers)
            for centers in FIGURE_1_CENTERS
        },
        f"DC-NY, M = {first}": by_rows(problem, "DC-NY", first),
        "DKRR": by_rows(problem, "DKRR", first),
    }


def curves_table(
    head: str, x: Sequence[int], results: Results, curves: Mapping[str, list[Point]]
) -> Table:
    """Return one column a curve and one row a value of x."""
    columns = [_cells(results, curve) for curve in curves.values()]
    table = Table([head, *curves])
    for value, *cells in zip(x, *columns, strict=True):
        table.add([str(value), *cells])
    return table


def crossings_table(study: Study) -> Table:
    """Return the crossings of both figures beside the paper's."""
    table = Table(["set", "varied", "fixed", "DNystroem passes", "paper", "measured"])
    for row in _crossings(study):
        name, varied, fixed, against, paper, crossing = row
        said = str(paper) if paper else "-"
        table.add([name, varied, fixed, against, said, crossing_text(crossing)])
    return table


def crossings_csv(study: Study) -> str:
    """Return the same as CSV: inf is never, -inf is always."""
    rows = (
        [*row, *(f"{value:.4g}" for value in (crossing.at, crossing.low, crossing.high))]
        for *row, crossing in _crossings(study)
    )
    return csv_text(CROSSING_COLUMNS, rows)


def _crossings(study: Study) -> list[tuple[str, str, str, str, int, Crossing]]:
    rows, problems, found = [], study.problems, study.results
    for name, problem in problems.items():
        for centers in problem.at_centers:
            paper = problem.paper_partitions if centers == 500 else 0  # all of figure 5
            for method in ("DC-NY", "DKRR"):
                crossing = partitions_crossing(problem, found[name], method, centers)
                rows.append((name, "m", f"M = {centers}", method, paper, crossing))
    for name, problem in problems.items():
        fixed = f"m = {problem.at_partitions}"
        for method, paper in (("DC-NY", 0), ("DKRR", problem.paper_centers)):
            crossing = centers_crossing(problem, found[name], method)
            rows.append((name, "M", fixed, method, paper, crossing))
    return rows


def _cells(results: Results, curve: list[Point]) -> Table:
    cells = []
    for mean, spread in zip(*mean_and_deviation(100 * errors(results, curve)), strict=True):
        deviation = "" if np.isnan(spread) else f" ± {spread:.2f}"
        cells.append("-" if np.isnan(mean) else f"{mean:.2f}{deviation}")
    return cells

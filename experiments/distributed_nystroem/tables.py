"""What was measured, beside what the authors stored, as Markdown and as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.distributed_nystroem.methods import METHODS
from experiments.distributed_nystroem.summary import (
    ENOUGH,
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
from experiments.scaffold.records import csv_text
from experiments.scaffold.stored import stored
from experiments.scaffold.tables import Table, marked, page

#: Where the authors' curves come from.
SOURCE = "github.com/superlj666/DNystroem, folder results"
CROSSING_COLUMNS = (
    "set",
    "varied",
    "fixed",
    "against",
    "text",
    "stored",
    "measured",
    "low",
    "high",
)


def markdown(study: Study) -> str:
    """Return all tables, each between marks by which other pages include it."""
    found = study.results
    repeats = ", ".join(f"{len({seed for _, seed in found[name]})} ({name})" for name in found)
    about = (
        "Error rates on the test rows in percent: means over repeats and standard deviations "
        f"between them. Repeats: {repeats}. After the bar: the mean that the authors have stored "
        f"({SOURCE}). What they show is in the [README](README.md)."
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
    for part, problem in study.problems.items():
        name = problem.name
        for mark, title, head, figure, x, curves in (
            (
                "partitions",
                f"the number of partitions, M = {problem.at_centers}, "
                f"lambda = {problem.alpha:g} (figure 5)",
                "m",
                "5",
                problem.partitions,
                {method: by_partitions(problem, method) for method in METHODS},
            ),
            (
                "centers",
                f"the number of centers, {problem.at_partitions} partitions (figure 6)",
                "M",
                "6",
                problem.centers,
                {method: by_centers(problem, method) for method in METHODS},
            ),
            (
                "rows",
                f"the number of training rows, {problem.at_partitions} partitions, "
                f"M = {problem.at_centers} (figure 1, right)",
                "N",
                "1 right",
                problem.samples,
                {method: by_rows(problem, method) for method in IN_FIGURE_1},
            ),
        ):
            if x:
                table = curves_table(study, part, figure, head, x, curves)
                parts += [f"## {name}: error against {title}", marked(f"{part} {mark}", table)]
    return page("distributed_nystroem", about, *parts)


def label(method: str) -> str:
    """Return a short name for the head of a column."""
    return METHODS[method].label.split(",")[0] + {
        "DC-RF": ", 1/sigma",
        "DC-RF2": ", 1/sigma²",
        "Nystroem": " (m = 1)",
        "RF": ", 1/sigma (m = 1)",
        "RF2": ", 1/sigma² (m = 1)",
    }.get(method, "")


def curves_table(
    study: Study,
    part: str,
    figure: str,
    head: str,
    x: Sequence[int],
    curves: Mapping[str, list[Point]],
) -> Table:
    """Return one column a curve and one row a value of x."""
    columns = []
    for method, curve in curves.items():
        name = study.problems[part].name
        theirs = stored(study.authors, figure, name, METHODS[method].stored)
        columns.append(
            [
                cell
                if theirs is None or np.isnan(theirs.at(value))
                else f"{cell} / {100 * theirs.at(value):.2f}"
                for value, cell in zip(x, _cells(study.results[part], curve), strict=True)
            ]
        )
    table = Table([head, *map(label, curves)])
    for value, *cells in zip(x, *columns, strict=True):
        table.add([str(value), *cells])
    return table


def crossings_table(study: Study) -> Table:
    """Return the crossings of both figures beside the authors'."""
    table = Table(
        ["set", "varied", "fixed", "DNystroem passes", "text", "authors' stored means", "measured"]
    )
    for name, varied, fixed, against, paper, authors, crossing in _crossings(study):
        said = str(paper) if paper else "-"
        measured = crossing_text(crossing)
        table.add([name, varied, fixed, against, said, number(authors), measured])
    return table


def crossings_csv(study: Study) -> str:
    """Return the same as CSV: inf is never, -inf is always, and nothing is not told."""
    rows = []
    for *row, authors, crossing in _crossings(study):
        found = authors, crossing.at, crossing.low, crossing.high
        rows.append([*row, *("" if np.isnan(value) else f"{value:.4g}" for value in found)])
    return csv_text(CROSSING_COLUMNS, rows)


def _crossings(study: Study) -> list[tuple[str, str, str, str, int, float, Crossing]]:
    rows, problems, found = [], study.problems, study.results
    for part, problem in problems.items():
        name, fixed = problem.name, f"M = {problem.at_centers}"
        if problem.part:
            fixed += f", lambda = {problem.alpha:g}"
        for method in ("DC-NY", "DKRR"):
            theirs = authors_crossing(study.authors, "5", name, method)
            crossing = partitions_crossing(problem, found[part], method)
            rows.append((name, "m", fixed, method, problem.paper_partitions, theirs, crossing))
    for name, problem in problems.items():
        if not problem.centers:
            continue
        fixed = f"m = {problem.at_partitions}"
        for method, paper in (("DC-NY", 0), ("DKRR", problem.paper_centers)):
            theirs = authors_crossing(study.authors, "6", name, method)
            crossing = centers_crossing(problem, found[name], method)
            rows.append((name, "M", fixed, method, paper, theirs, crossing))
    return rows


def _cells(results: Results, curve: list[Point]) -> list[str]:
    cells = []
    for mean, spread in zip(*mean_and_deviation(100 * errors(results, curve)), strict=True):
        deviation = "" if np.isnan(spread) else f" ± {spread:.2f}"
        cells.append("-" if np.isnan(mean) else f"{mean:.2f}{deviation}")
    return cells

"""``mercer plan``: what a fit of a file would need, and what error to expect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.options import (
    Data,
    GapOptions,
    Json,
    LearnedOptions,
    TableOptions,
    Target,
    Task,
    Weight,
    parameters_of,
    with_groups,
)
from mercer.cli.output import (
    as_options,
    columns,
    facts,
    note,
    print_json,
    saying_when_stopped,
    stdout,
)
from mercer.cli.reading import Reading, on_disk
from mercer.cli.task import ESTIMATORS, decide_task
from mercer.cli.writing import PICTURES, check_output, save_figure
from mercer.displays.plan_display import PlanDisplay
from mercer.plan import human_bytes
from mercer.style import styled
from mercer.validation import check_number

#: Shown below the options of ``mercer plan --help``.
EXAMPLES = """Examples

mercer plan houses.csv --target price

mercer plan flights.parquet --target delay --rows 1e9 --workers 100 --plot plan.png"""


@with_groups
def plan(
    context: typer.Context,
    data: Data,
    *,
    target: Target = None,
    task: Task = "auto",
    weight: Weight = None,
    rows: Annotated[
        float | None, typer.Option(help="Plan for this many rows like those of the file, as 1e9.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Workers of a cluster, each as fast as this machine.")
    ] = 1,
    network: Annotated[
        str, typer.Option(help="Bytes per second between workers, such as 125MB.")
    ] = "125MB",
    statements: Annotated[
        bool, typer.Option("--statements", help="Show what every theorem states for the problem.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="A .png, .svg or .pdf file for a picture of the plan.")
    ] = None,
    memory_limit: Annotated[
        str, typer.Option(help="How much memory a fit may use, such as 2GB.")
    ] = "auto",
    as_json: Json = False,
    table: TableOptions,
    gaps: GapOptions,
    model: LearnedOptions,
) -> None:
    """Show what a fit would need, for each system, and what error to expect, without fitting.

    A sample of the rows is studied: how errors fall with rows and functions, and what shards cost.
    """
    named, data = data, on_disk(data, context)
    if plot is not None:
        plot = check_output(plot, [data], PICTURES, "--plot")
    if rows is not None:
        check_number(rows, "--rows", minimum=1.0)
    settings = parameters_of(table, gaps, model)
    source = Reading("a plan", "targets", target, weight, table).open(data)
    kind, why = decide_task(source, task)
    estimator = ESTIMATORS[kind](**settings, memory_limit=memory_limit, verbose=1)
    with saying_when_stopped("nothing was written"):
        found = estimator.plan(source, n_rows=rows, workers=workers, network=network)
    if plot is not None:
        with styled():
            save_figure(PlanDisplay.from_plan(found).figure_, plot)
    if as_json:
        print_json({"file": str(named), "task": kind, "reason": as_options(why), **found.to_dict()})
        return
    console = stdout()
    console.print(facts(f"{named}", [("task", f"{kind} ({why})"), *found.summary().rows]))
    for title, header, lines in found.tables():
        console.print(columns(title, header, lines))
    for remark in found.remarks():
        note(remark)
    if workers > 1:
        between = human_bytes(found.forecast.cluster.network)
        note(f"{workers:,} workers as fast as this machine, {between} per second between them")
    if statements:
        console.print(found.statements(), soft_wrap=True, highlight=False, markup=False)
    if plot is not None:
        note(f"picture written to {plot}")

"""``mercer fit``: from a file of rows to a file with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.building import build_estimator
from mercer.cli.files import check_output
from mercer.cli.holdout import hold_out
from mercer.cli.options import (
    Columns,
    ComputeOptions,
    LearnedOptions,
    SolverOptions,
    Weight,
    split_names,
    with_groups,
)
from mercer.cli.output import stdout
from mercer.cli.reading import Reading
from mercer.cli.scoring import scores_on
from mercer.cli.sizes import file_text, peak_row
from mercer.cli.tables import chosen, facts, path_table
from mercer.cli.task import decide_task
from mercer.contracts import RowSource
from mercer.labelling import join, read_sheet
from mercer.models import save
from mercer.models.saving import with_suffix
from mercer.rows import ArraySource
from mercer.rows.frames import table_of


@with_groups
def fit(
    data: Annotated[
        Path, typer.Argument(help="A .csv, .tsv, .parquet, .npy, .npz or .svm file, or a folder.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write the model to.")],
    *,
    target: Annotated[
        str | None, typer.Option(help="The target column (.npz: an array; .npy: another file).")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="A filled-in sheet of mercer label; DATA is the pool it came from."),
    ] = None,
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Skip rows of --labels without a label.")
    ] = False,
    task: Annotated[str, typer.Option(help="auto, regression or classification.")] = "auto",
    weight: Weight = None,
    columns: Columns = None,
    model: LearnedOptions,
    solving: SolverOptions,
    intercept: Annotated[
        bool, typer.Option("--intercept/--no-intercept", help="Fit a constant without penalty.")
    ] = True,
    compute: ComputeOptions,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A folder to resume from if a fit over shards is stopped.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="A file of rows to score the model on.")] = None,
    holdout: Annotated[
        float, typer.Option(help="The fraction of rows to set aside and score the model on.")
    ] = 0.0,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show every alpha tried, and what shards sent.")
    ] = False,
) -> None:
    """Fit a model to the rows of a file and save it."""
    if test is not None and holdout:
        raise ValueError("--test and --holdout must not both be given: choose one")
    if skip_unlabelled and labels is None:
        raise ValueError("--skip-unlabelled applies to the rows of --labels: give both")
    reading = Reading("a fit", "targets", target, weight, split_names(columns))
    rows: RowSource
    inputs = [data] if test is None else [data, test]
    if labels is None:
        out = check_output(with_suffix(out), inputs)
        rows = reading.open(compute.reachable(data))
    else:
        out = check_output(with_suffix(out), [*inputs, labels, labels.with_suffix(".json")])
        given = {"--weight": weight, "--columns": columns, "--holdout": holdout or None}
        _check_labelled({**given, "--target": None if test is not None else target})
        rows = _labelled(data, labels, skip_unlabelled)
    kind, why = decide_task(rows, task)
    settings = {**model.parameters(), **solving.parameters(), **compute.parameters()}
    settings |= {"fit_intercept": intercept, "checkpoint": checkpoint, "verbose": 1}
    estimator = build_estimator(kind, **settings)
    held: RowSource | None = None
    label = f"{test}"
    if test is not None:
        held = reading.open_test(test, rows)
    elif holdout:
        rows, held = hold_out(rows, holdout, model.seed)
        label = f"{data} that were set aside"
    estimator.fit(rows)
    estimator.set_params(verbose=0)
    written = save(estimator, out)

    table = [("task", f"{kind} ({why})"), *chosen(estimator), peak_row()]
    table += [] if held is None else scores_on(estimator, held, label)
    stdout().print(facts(type(estimator).__name__, [*table, ("model", file_text(written))]))
    if verbose:
        _show_details(estimator)


def _show_details(model: Any) -> None:
    """Show what shards sent, and the score of every alpha."""
    communication = getattr(model, "communication_", None)
    if communication is not None:
        stdout().print(str(communication))
    path = model.cv_results_
    if path is not None:
        stdout().print(path_table(path["alpha"], path["mean_squared_error"], model.alpha_))


#: Why options must be left out where rows were drawn to be labelled.
REASONS = {
    "--target": "the sheet has the labels",
    "--weight": "the sheet has the weights",
    "--columns": "the sheet has the names of the columns",
    "--holdout": "rows that were drawn by importance are not a fair test; use --test",
}


def _check_labelled(given: dict[str, object]) -> None:
    """Refuse options that contradict a sheet of labels."""
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} must be left out with --labels: {REASONS[option]}")


def _labelled(data: Path, labels: Path, skip_unlabelled: bool) -> RowSource:
    """Return the rows of a pool that have labels, with their weights."""
    sheet = read_sheet(labels)
    joined = join(data, sheet, skip_unlabelled=skip_unlabelled)
    table = table_of(joined.X)
    X = joined.X if table is None else table
    return ArraySource(X, joined.y, joined.sample_weight, sheet.drawn.columns)

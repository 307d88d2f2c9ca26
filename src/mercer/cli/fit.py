"""``mercer fit``: from a file of rows to a file with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.building import build_estimator
from mercer.cli.files import check_model_output
from mercer.cli.holdout import hold_out
from mercer.cli.options import (
    ComputeOptions,
    GapOptions,
    Json,
    LearnedOptions,
    SolverOptions,
    TableOptions,
    Weight,
    with_groups,
)
from mercer.cli.output import print_json, saying_when_stopped, stdout
from mercer.cli.reading import Reading, on_disk
from mercer.cli.scoring import Scores, scores_on
from mercer.cli.sizes import file_text, peak_row
from mercer.cli.tables import chosen, facts, path_table, record
from mercer.cli.task import TASKS, decide_task
from mercer.contracts import RowSource
from mercer.labelling import join, read_sheet
from mercer.models import save
from mercer.rows import ArraySource

#: Shown below the options of ``mercer fit --help``.
EXAMPLES = """Examples

mercer fit houses.csv --target price

mercer fit houses.csv --target price --types zip=category,sold=date --exclude agent --holdout 0.2

mercer fit flights.parquet --target delayed --task classification --out delays

zcat big.csv.gz | mercer fit - --target price --json"""


@with_groups
def fit(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .npy, .npz or .svm file, a folder, or - for CSV from "
            "standard input."
        ),
    ],
    *,
    target: Annotated[
        str | None, typer.Option(help="The target column (.npz: an array; .npy: another file).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write the model to. Default: houses.mercer of houses.csv."),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            help="auto, regression or classification.", autocompletion=lambda: list(TASKS)
        ),
    ] = "auto",
    test: Annotated[Path | None, typer.Option(help="A file of rows to score the model on.")] = None,
    holdout: Annotated[
        float, typer.Option(help="The fraction of rows to set aside and score the model on.")
    ] = 0.0,
    weight: Weight = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="A filled-in sheet of mercer label; DATA is the pool it came from."),
    ] = None,
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Skip rows of --labels without a label.")
    ] = False,
    as_json: Json = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show every alpha tried, and what shards sent.")
    ] = False,
    table: TableOptions,
    gaps: GapOptions,
    model: LearnedOptions,
    solving: SolverOptions,
    intercept: Annotated[
        bool,
        typer.Option(
            "--intercept/--no-intercept",
            help="Fit a constant without penalty.",
            rich_help_panel=SolverOptions.panel,
        ),
    ] = True,
    compute: ComputeOptions,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A folder to resume from if a fit over shards is stopped.",
            rich_help_panel=ComputeOptions.panel,
        ),
    ] = None,
) -> None:
    """Fit a model to the rows of a file and save it.

    The table may have text, categories, dates and gaps; see what becomes of it with mercer look.
    """
    if test is not None and holdout:
        raise ValueError("--test and --holdout must not both be given: choose one")
    if skip_unlabelled and labels is None:
        raise ValueError("--skip-unlabelled applies to the rows of --labels: give both")
    named, data = data, on_disk(data, context)
    reading = Reading("a fit", "targets", target, weight, table)
    settings = {**model.parameters(), **solving.parameters(), **compute.parameters()}
    settings |= {**table.parameters(), **gaps.parameters(), "fit_intercept": intercept}
    rows: RowSource
    inputs = [path for path in (data, test) if path is not None]
    if labels is None:
        out = check_model_output(out, named, inputs)
        rows = reading.open(compute.reachable(data))
    else:
        out = check_model_output(out, named, [*inputs, labels, labels.with_suffix(".json")])
        given = {"--weight": weight, "--columns": table.columns, "--holdout": holdout or None}
        _check_labelled({**given, "--target": None if test is not None else target})
        rows = _labelled(data, labels, skip_unlabelled)
    kind, why = decide_task(rows, task)
    estimator = build_estimator(kind, **settings, checkpoint=checkpoint, verbose=1)
    held: RowSource | None = None
    label = f"{test}"
    if test is not None:
        held = reading.open_test(test, rows)
    elif holdout:
        rows, held = hold_out(rows, holdout, model.seed)
        label = f"{named} that were set aside"
    with saying_when_stopped(_kept(checkpoint)):
        estimator.fit(rows)
        estimator.set_params(verbose=0)
        scores = None if held is None else scores_on(estimator, held, label)
        written = save(estimator, out)
    if as_json:
        print_json(_record(estimator, kind, why, target, scores, written))
        return
    shown = [("task", f"{kind} ({why})"), *chosen(estimator), peak_row()]
    shown += [] if scores is None else scores.table()
    stdout().print(facts(type(estimator).__name__, [*shown, ("model", file_text(written))]))
    if verbose:
        _show_details(estimator)


def _kept(checkpoint: Path | None) -> str:
    """Return what is left of a fit that is interrupted."""
    if checkpoint is None:
        return "nothing was written"
    return (
        f"no model was written; {checkpoint} has the finished shards, so the same command "
        f"continues from there"
    )


def _record(
    model: Any, task: str, why: str, target: str | None, scores: Scores | None, written: Path
) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    return {
        "task": task,
        "reason": why,
        "target": target,
        **record(model),
        "test": None if scores is None else scores.record(),
        "model": str(written),
    }


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
    return ArraySource(joined.X, joined.y, joined.sample_weight, sheet.drawn.columns)

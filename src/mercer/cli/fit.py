"""``mercer fit``: from a file of rows to a file with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import options
from mercer.cli.building import (
    build_basis,
    build_estimator,
    build_kernel,
    check_solver,
    number_or,
)
from mercer.cli.files import check_output
from mercer.cli.holdout import hold_out
from mercer.cli.memory import peak_bytes, peak_text
from mercer.cli.output import stdout
from mercer.cli.scoring import scores_on
from mercer.cli.tables import chosen, facts, path_table
from mercer.cli.task import decide_task
from mercer.contracts import RowSource
from mercer.labels import join, read_sheet
from mercer.models import save
from mercer.models.saving import with_suffix
from mercer.plan import human_bytes
from mercer.sources import ArraySource, names_columns, open_rows


def fit(
    data: Annotated[
        Path, typer.Argument(help="A .csv, .tsv, .parquet, .npy, .npz or .svm file, or a folder.")
    ],
    out: Annotated[Path, typer.Option(help="The file for the model.")],
    target: Annotated[
        str | None, typer.Option(help="The target column (.npz: an array; .npy: another file).")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="A sheet of mercer label that was filled in; the file is its pool."),
    ] = None,
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Leave out rows of --labels without a label.")
    ] = False,
    task: Annotated[str, typer.Option(help="auto, regression or classification.")] = "auto",
    weight: options.Weight = None,
    columns: options.Columns = None,
    kernel: options.KernelName = "gaussian",
    bandwidth: options.Bandwidth = None,
    basis: options.BasisName = "auto",
    components: options.Components = None,
    sampling: options.Sampling = None,
    solver: options.SolverName = "auto",
    alpha: options.Alpha = "auto",
    selection: Annotated[str, typer.Option(help="How alpha is chosen: gcv, kfold or loo.")] = "gcv",
    intercept: Annotated[
        bool, typer.Option("--intercept/--no-intercept", help="Fit a constant without penalty.")
    ] = True,
    dtype: options.Dtype = "auto",
    memory_limit: options.MemoryLimit = "auto",
    shards: options.Shards = None,
    combine: options.Combine = "sum",
    rounds: options.Rounds = 8,
    engine: options.EngineAddress = None,
    checkpoint: options.Checkpoint = None,
    seed: Annotated[int, typer.Option(help="For landmarks, features, folds and --holdout.")] = 0,
    test: Annotated[Path | None, typer.Option(help="A file of rows to score the model on.")] = None,
    holdout: Annotated[
        float, typer.Option(help="A share of the rows to set aside and score the model on.")
    ] = 0.0,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show every alpha tried, and what shards sent.")
    ] = False,
) -> None:
    """Fit a model to the rows of a file and write it to another."""
    console = stdout()
    inputs = [data] if test is None else [data, test]
    if labels is not None:
        inputs += [labels, labels.with_suffix(".json")]
    out = check_output(with_suffix(out), inputs)
    if test is not None and holdout:
        raise ValueError("--test and --holdout must not both be given: choose one")
    if skip_unlabelled and labels is None:
        raise ValueError("--skip-unlabelled is about the rows of --labels: give both")
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    rows: RowSource
    if labels is not None:
        known = {"--weight": weight, "--columns": columns, "--holdout": holdout or None}
        _check_labelled({**known, "--target": None if test is not None else target})
        rows = _labelled(data, labels, skip_unlabelled)
    else:
        # Workers need not run in the folder of this command.
        rows = _open(data if engine is None else data.absolute(), target, weight, names)
    kind, why = decide_task(rows, task)
    model = build_estimator(
        kind,
        kernel=build_kernel(kernel, bandwidth),
        basis=build_basis(basis, components, sampling),
        solver=check_solver(solver),
        alpha=number_or("auto", "--alpha", alpha),
        selection=selection,
        fit_intercept=intercept,
        dtype=dtype,
        memory_limit=memory_limit,
        random_state=seed,
        verbose=1,
        shards=shards,
        combine=combine,
        rounds=rounds,
        engine=engine,
        checkpoint=checkpoint,
    )
    held: RowSource | None = None
    label = f"{test}"
    if test is not None:
        held = _open(test, target, None, names or rows.feature_names, rows.n_features)
    elif holdout:
        rows, held = hold_out(rows, holdout, seed)
        label = f"{data} that were set aside"
    model.fit(rows)
    model.set_params(verbose=0)
    written = save(model, out)

    table = [("task", f"{kind} ({why})"), *chosen(model)]
    table.append(("peak memory", f"{peak_text(peak_bytes())} resident, the whole process"))
    if held is not None:
        table += scores_on(model, held, label)
    table.append(("model", f"{written} ({human_bytes(written.stat().st_size)})"))
    console.print(facts(type(model).__name__, table))
    if verbose and model.fit_.communication is not None:
        console.print(str(model.fit_.communication))
    if verbose and model.cv_results_ is not None:
        found = model.cv_results_
        console.print(path_table(found["alpha"], found["mean_squared_error"], model.alpha_))


def _open(
    path: Path,
    target: str | None,
    weight: str | None,
    columns: list[str] | None,
    n_features: int | None = None,
) -> RowSource:
    """Open rows with their targets; an .npz archive may leave them unnamed, as ``y``."""
    if target is None and names_columns(path):
        raise ValueError(f"a fit needs targets: name the column of {path} with --target")
    named = columns if names_columns(path) else None
    source = open_rows(path, target, weight, named, n_features=n_features)
    if not source.has_target:
        raise ValueError(f"{path} has no array 'y' of targets: name another one with --target")
    return source


#: Why options must be left out where rows were drawn to be labelled.
REASONS = {
    "--target": "the sheet has the labels",
    "--weight": "the sheet has the weights",
    "--columns": "the sheet knows the columns",
    "--holdout": "rows that were drawn by importance are no fair test, and --test is one",
}


def _check_labelled(given: dict[str, object]) -> None:
    """Refuse options that a sheet of labels leaves no room for."""
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} must be left out with --labels: {REASONS[option]}")


def _labelled(data: Path, labels: Path, skip_unlabelled: bool) -> RowSource:
    """Return the rows of a pool that have labels, with their weights."""
    sheet = read_sheet(labels)
    found = join(data, sheet, skip_unlabelled=skip_unlabelled)
    return ArraySource(found.X, found.y, found.sample_weight, sheet.drawn.columns)

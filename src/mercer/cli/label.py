"""``mercer label``: from a pool of rows to a sheet of those that are worth a label."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.files import check_output
from mercer.cli.options import Columns, ComputeOptions, ModelOptions, split_names, with_groups
from mercer.cli.output import stdout
from mercer.cli.sizes import file_text
from mercer.cli.tables import facts
from mercer.estimators import ImportanceLabeller
from mercer.estimators.summary import describe
from mercer.labelling import LabelPool, Sheet, draw_again, read_sheet, sheet_files, write_sheet


@with_groups
def label(
    context: typer.Context,
    data: Annotated[
        Path, typer.Argument(help="The pool: a .csv, .tsv, .parquet, .npy, .npz or .svm file.")
    ],
    budget: Annotated[int, typer.Option(help="How many rows to draw.")],
    out: Annotated[Path, typer.Option(help="A new .csv or .parquet file for the rows to label.")],
    *,
    ids: Annotated[
        str | None, typer.Option("--id", help="The column of ids. Default: the row number.")
    ] = None,
    columns: Columns = None,
    more: Annotated[
        Path | None,
        typer.Option(help="An earlier sheet to add rows to, with its labels and its settings."),
    ] = None,
    label_studio: Annotated[
        Path | None, typer.Option(help="A .json file for the same rows as Label Studio tasks.")
    ] = None,
    model: ModelOptions,
    compute: ComputeOptions,
) -> None:
    """Draw the rows of a pool that are worth labelling, and write a sheet to fill in."""
    inputs = [data] if more is None else [data, more, more.with_suffix(".json")]
    files = list(sheet_files(check_output(out, inputs)))
    if label_studio is not None:
        files.append(check_output(label_studio, [*inputs, *files], [".json"], "--label-studio"))
    names = split_names(columns)
    before = None if more is None else read_sheet(more)
    if before is not None:
        given = {name: value for name, value in asdict(model).items() if _given(context, name)}
        asked = {**given, "id": ids, "columns": names}
        model, ids, names = _resumed(before, asked, more)
    labeller = ImportanceLabeller(
        **model.parameters(), **compute.parameters(), budget=budget, verbose=1
    )
    pool = LabelPool(compute.reachable(data), names, ids)
    if before is None:
        labeller.fit(pool.source)
    else:
        draw_again(labeller, pool, before).select(budget)
    sheet = write_sheet(
        labeller, pool, out, before=before, label_studio=label_studio, settings=asdict(model)
    )
    table = _summary(labeller, sheet, pool)
    table += [
        (name, file_text(file))
        for name, file in zip(("sheet", "record", "tasks"), files, strict=False)
    ]
    console = stdout()
    console.print(facts(f"Rows of {data} to label", table))
    console.print(
        f"Fill in the column 'label', then: mercer fit {data} --labels {out} --out model",
        soft_wrap=True,
    )


def _given(context: typer.Context, name: str) -> bool:
    """Return whether an option was given, even if with its default value."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _resumed(
    before: Sheet, asked: dict[str, Any], more: Path | None
) -> tuple[ModelOptions, str | None, list[str] | None]:
    """Return options, ids and columns of an earlier sheet; refuse options that contradict it."""
    drawn = before.drawn
    if set(drawn.settings) != set(asdict(ModelOptions())):
        raise ValueError(
            f"{more} must be a sheet of mercer label, got one written from Python: continue it "
            f"there"
        )
    known_id = None if drawn.pool.ids is None else drawn.id_name
    known = {**drawn.settings, "id": known_id, "columns": drawn.columns}
    for name, value in asked.items():
        if value is not None and value != known[name]:
            raise ValueError(
                f"--{name} must be that of {more}, {known[name]!r}, got {value!r}: leave it out, "
                f"or start a new sheet"
            )
    return ModelOptions(**drawn.settings), known_id, drawn.columns


def _summary(labeller: ImportanceLabeller, sheet: Sheet, pool: LabelPool) -> list[tuple[str, str]]:
    """Return what was drawn, and how, as rows of a table."""
    rounds, seconds = sheet.drawn.rounds, labeller.seconds_
    labelled = len(sheet.labels) - len(sheet.unlabelled)
    draws = f"{labeller.n_draws_:,}"
    if len(rounds) > 1:
        draws += f" in {len(rounds)} rounds: {', '.join(f'{number:,}' for number in rounds)}"
    rows = f"{len(sheet.labels):,}, of which {labelled:,} are labelled already"
    return [
        ("pool", f"{pool.source.n_rows:,} rows, {pool.source.n_features} features"),
        ("kernel", describe(labeller.kernel_)),
        ("basis", f"{type(labeller.basis_).__name__} with {labeller.basis_.size} functions"),
        ("alpha", f"{labeller.alpha_:.3e}"),
        ("effective dimension", f"{labeller.effective_dimension_:.1f}"),
        ("draws", draws),
        ("different rows", rows if len(rounds) > 1 else f"{len(sheet.labels):,}"),
        ("effective sample size", f"{labeller.effective_sample_size_:.1f}"),
        ("seconds", f"{sum(seconds.values()):.2f}"),
        *((f"  {stage}", f"{value:.2f}") for stage, value in seconds.items()),
    ]

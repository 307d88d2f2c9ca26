"""``mercer label``: from a pool of rows to a sheet of those that are worth a label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli import options
from mercer.cli.building import build_basis, build_kernel, number_or
from mercer.cli.files import check_output
from mercer.cli.output import stdout
from mercer.cli.tables import facts
from mercer.estimators import ImportanceLabeller
from mercer.estimators.summary import describe
from mercer.labels import LabelPool, Sheet, draw_again, read_sheet, sheet_files, write_sheet
from mercer.plan import human_bytes

#: What decides which rows are drawn, as it is where no option is given. Records keep it.
SETTINGS: dict[str, Any] = {
    "kernel": "gaussian",
    "bandwidth": None,
    "basis": "auto",
    "components": None,
    "alpha": "auto",
    "seed": 0,
}


def label(
    data: Annotated[
        Path, typer.Argument(help="The pool: a .csv, .tsv, .parquet, .npy, .npz or .svm file.")
    ],
    budget: Annotated[int, typer.Option(help="How many rows to draw.")],
    out: Annotated[Path, typer.Option(help="A new .csv or .parquet file for the rows to label.")],
    ids: Annotated[
        str | None, typer.Option("--id", help="The column of ids. Default: the number of a row.")
    ] = None,
    columns: options.Columns = None,
    more: Annotated[
        Path | None,
        typer.Option(help="A sheet to go on from: its labels are kept, its settings taken over."),
    ] = None,
    label_studio: Annotated[
        Path | None, typer.Option(help="A .json file for the same rows as Label Studio's tasks.")
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="The kernel, by name. Default: gaussian.")
    ] = None,
    bandwidth: options.Bandwidth = None,
    basis: Annotated[
        str | None,
        typer.Option(help="auto, full, landmarks, random_features or sketch. Default: auto."),
    ] = None,
    components: options.Components = None,
    alpha: Annotated[
        str | None, typer.Option(help="The penalty of the scores, or auto. Default: auto.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="For landmarks, features and draws. Default: 0.")
    ] = None,
    memory_limit: options.MemoryLimit = "auto",
    shards: options.Shards = None,
    engine: options.EngineAddress = None,
) -> None:
    """Draw the rows of a pool that are worth a label, and write a sheet to fill in."""
    console = stdout()
    inputs = [data] if more is None else [data, more, more.with_suffix(".json")]
    files = list(sheet_files(check_output(out, inputs)))
    if label_studio is not None:
        files.append(check_output(label_studio, [*inputs, *files], [".json"]))
    given: dict[str, Any] = {
        "kernel": kernel,
        "bandwidth": bandwidth,
        "basis": basis,
        "components": components,
        "alpha": alpha,
        "seed": seed,
    }
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    before = None if more is None else read_sheet(more)
    settings = {name: SETTINGS[name] if given[name] is None else given[name] for name in given}
    if before is not None:
        settings, ids, names = _taken_over(before, given, ids, names, more)
    labeller = ImportanceLabeller(
        build_kernel(settings["kernel"], settings["bandwidth"]),
        build_basis(settings["basis"], settings["components"]),
        number_or("auto", "--alpha", settings["alpha"]),
        budget,
        memory_limit=memory_limit,
        random_state=settings["seed"],
        verbose=1,
        shards=shards,
        engine=engine,
    )
    # Workers need not run in the folder of this command.
    pool = LabelPool(data if engine is None else data.absolute(), names, ids)
    if before is None:
        labeller.fit(pool.source)
    else:
        draw_again(labeller, pool, before).select(budget)
    sheet = write_sheet(
        labeller, pool, out, before=before, label_studio=label_studio, settings=settings
    )
    table = _found(labeller, sheet, pool)
    table += [
        (name, f"{file} ({human_bytes(file.stat().st_size)})")
        for name, file in zip(("sheet", "record", "tasks"), files, strict=False)
    ]
    console.print(facts(f"Rows of {data} to label", table))
    console.print(
        f"Fill in the column 'label', then: mercer fit {data} --labels {out} --out model",
        soft_wrap=True,
    )


def _taken_over(
    before: Sheet,
    given: dict[str, Any],
    ids: str | None,
    names: list[str] | None,
    more: Path | None,
) -> tuple[dict[str, Any], str | None, list[str] | None]:
    """Return settings, ids and columns of a sheet; options that say otherwise are refused."""
    drawn = before.drawn
    settings = drawn.settings
    if set(settings) != set(SETTINGS):
        raise ValueError(f"{more} must be a sheet of mercer label, got one of Python: go on there")
    known_id = None if drawn.pool.ids is None else drawn.id_name
    asked = {**given, "id": ids, "columns": names}
    known = {**settings, "id": known_id, "columns": drawn.columns}
    for name, value in asked.items():
        if value is not None and value != known[name]:
            raise ValueError(
                f"--{name} must be that of {more}, {known[name]!r}, got {value!r}: leave it out, "
                f"or begin a new sheet"
            )
    return settings, known_id, drawn.columns


def _found(labeller: ImportanceLabeller, sheet: Sheet, pool: LabelPool) -> list[tuple[str, str]]:
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

"""``mercer label``: from a pool of rows to a sheet of those that are worth a label.

With ``--serve``, the same rows are labelled on a page in the browser, one at a time.
"""

from __future__ import annotations

import shlex
import signal
import threading
import webbrowser
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from rich.text import Text

from mercer.cli.options import (
    ComputeOptions,
    Force,
    ModelOptions,
    TableOptions,
    parameters_of,
    split_names,
    with_groups,
)
from mercer.cli.output import facts, file_text, note, second_rows, stdout
from mercer.cli.writing import check_output, without_ending
from mercer.estimators.summary import describe, table_rows
from mercer.labelling import (
    LabellingSession,
    LabelPool,
    Sheet,
    draw_again,
    read_label_studio,
    read_sheet,
    sheet_files,
    write_sheet,
)
from mercer.labelling.labeller import ImportanceLabeller
from mercer.labelling.page.page_server import needed_for_pages
from mercer.labelling.page.request_guard import checked_token

#: How rows are drawn unless --sampling says otherwise.
LEVERAGE = "leverage"


@dataclass(frozen=True)
class PageOptions:
    """A page to label on."""

    panel: ClassVar[str] = "Labelling on a page"

    serve: Annotated[
        bool, typer.Option("--serve", help="Label the rows on a page in the browser, now.")
    ] = False
    classes: Annotated[
        str | None, typer.Option(help="The names of classes, separated by commas.")
    ] = None
    task: Annotated[
        str | None, typer.Option(help="classification or regression. Default: asked on the page.")
    ] = None
    refit_every: Annotated[
        int, typer.Option(help="Labels between fits of the model, and draws in a round.")
    ] = 10
    target_error: Annotated[
        float | None, typer.Option(help="An error to estimate the number of labels for.")
    ] = None
    image: Annotated[
        str | None,
        typer.Option(help="28x28 if features are pixels, or a column with paths of pictures."),
    ] = None
    show: Annotated[
        str | None, typer.Option(help="The columns to show, separated by commas. Default: all.")
    ] = None
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than 127.0.0.1 need --token.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="The port; 0 finds one that is free.")] = 0
    token: Annotated[
        str | None, typer.Option(help="What the link has to contain. Default: drawn at random.")
    ] = None
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page.")
    ] = True

    def refuse_without_serve(self, given: Iterable[str]) -> None:
        """Raise ValueError if an option of the page was given, but not ``--serve``."""
        for name in given:
            if not self.serve:
                option = name.replace("_", "-")
                raise ValueError(f"--{option} is for a page to label on: add --serve")


@with_groups
def label(
    context: typer.Context,
    data: Annotated[
        Path, typer.Argument(help="The pool: a .csv, .tsv, .parquet, .npy, .npz or .svm file.")
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new .csv or .parquet file for the rows to label. With --serve, one that exists "
            "is gone on with; default: POOL-labels.csv."
        ),
    ] = None,
    force: Force = False,
    budget: Annotated[
        int | None, typer.Option(help="How many rows to draw; may be left out with --import.")
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(help="How rows are drawn: leverage, variance or random_variance."),
    ] = None,
    more: Annotated[
        Path | None,
        typer.Option(help="An earlier sheet to add rows to, with its labels and its settings."),
    ] = None,
    imported: Annotated[
        Path | None,
        typer.Option("--import", help="A JSON export of Label Studio with labels for --more."),
    ] = None,
    label_studio: Annotated[
        Path | None, typer.Option(help="A .json file for the same rows as Label Studio tasks.")
    ] = None,
    page: PageOptions,
    table: TableOptions,
    model: ModelOptions,
    compute: ComputeOptions,
) -> None:
    """Draw the rows of a pool that are worth labelling, and write a sheet to fill in.

    With --import, labels of Label Studio are filled in; with --serve, on a page in the browser.
    """
    page.refuse_without_serve(_given(context, vars(page)))
    if page.serve:
        _refuse_other_rounds({"--more": more, "--import": imported, "--label-studio": label_studio})
        out = default_sheet(data) if out is None else out
        more = out if out.exists() and not force else None
    if out is None:
        raise typer.BadParameter("name a new file for the rows", param_hint="--out")
    _check_rounds(budget, more, imported, label_studio)
    earlier = None if page.serve else more  # a page goes on with its own sheet
    files = _outputs(out, data, earlier, imported, label_studio, page.serve or force)
    names, before = split_names(table.columns), None if more is None else read_sheet(more)
    if before is not None:
        given = _given(context, {**asdict(model), "sampling": sampling})
        model, table, names = _resumed(before, given, table, more)
    read = {"exclude": split_names(table.exclude) or (), **table.dialect()}
    pool = LabelPool(compute.reachable(data), names, table.ids, **read)
    shown: list[tuple[str, str]] = []
    if before is not None and imported is not None:
        before, shown = _with_labels(before, imported)
    if before is not None and budget is None:  # nothing to draw
        before.drawn.check_pool(pool)
        before.save(out, overwrite=force)
        _show(data, out, [*_rows_of(before, pool), *shown], files)
        return
    assert budget is not None
    sampling = sampling or (LEVERAGE if before is None else _sampling_of(before))
    parameters = parameters_of(model, compute, table)
    labeller = ImportanceLabeller(**parameters, budget=budget, sampling=sampling, verbose=1)
    settings = {**asdict(model), **_said(table, sampling)}
    if page.serve:
        serve_page(page, data, out, pool, labeller, settings, force)
        return
    if before is None:
        labeller.fit(pool.source)
    else:
        draw_again(labeller, pool, before).select(budget)
    further: dict[str, Any] = {"label_studio": label_studio, "settings": settings}
    sheet = write_sheet(labeller, pool, out, before=before, overwrite=force, **further)
    _show(data, out, [*_summary(labeller, sheet, pool), *shown], files)


def _outputs(
    out: Path,
    data: Path,
    more: Path | None,
    imported: Path | None,
    label_studio: Path | None,
    replace: bool,
) -> list[Path]:
    """Return the files to write; refuse those that would overwrite an input."""
    inputs = [data] if more is None else [data, more, more.with_suffix(".json")]
    inputs += [] if imported is None else [imported]
    files = list(sheet_files(check_output(out, inputs), overwrite=replace))
    check_output(files[1], inputs, option="the record of --out")
    if label_studio is not None:
        files.append(check_output(label_studio, [*inputs, *files], [".json"], "--label-studio"))
    return files


def _refuse_other_rounds(given: dict[str, Path | None]) -> None:
    """Refuse options that a page does without, since it goes on with its sheet by itself."""
    for option, path in given.items():
        if path is not None:
            raise ValueError(
                f"{option} must be left out with --serve: name an earlier sheet with --out "
                f"to go on with it"
            )


def _check_rounds(
    budget: int | None, more: Path | None, imported: Path | None, label_studio: Path | None
) -> None:
    """Refuse options that leave nothing to draw, or nothing to fill in."""
    if imported is not None and more is None:
        raise ValueError("--import needs the sheet that its tasks belong to: name it with --more")
    if budget is None and imported is None:
        raise ValueError("--budget must say how many rows to draw")
    if budget is None and label_studio is not None:
        raise ValueError("--label-studio is for new rows: say how many with --budget")


def _with_labels(before: Sheet, export: Path) -> tuple[Sheet, list[tuple[str, str]]]:
    """Return a sheet with the labels of an export of Label Studio, and what was found in it."""
    found = read_label_studio(export)
    shown = [("imported labels", f"{len(found.labels):,}")]
    if found.skipped:
        shown.append(("tasks without a label", f"{len(found.skipped):,}"))
    if found.disagreements:
        shown.append(("labelled differently", f"{len(found.disagreements):,} rows"))
    return before.with_labels(found.labels), shown


def _show(data: Path, out: Path, table: list[tuple[str, str]], files: list[Path]) -> None:
    """Print what was written, and what to do next."""
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


def _given(context: typer.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, even if with their default values."""
    sources = {name: context.get_parameter_source(name) for name in options}
    given = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    return {name: options[name] for name in given}


def _sampling_of(sheet: Sheet) -> str:
    """Return how the rows of a sheet were drawn."""
    return str(sheet.drawn.settings.get("sampling", LEVERAGE))


def _said(table: TableOptions, sampling: str = LEVERAGE) -> dict[str, str]:
    """Return what was said of the file, its columns and the draws, for the record."""
    said = {"types": table.types, **table.dialect()}
    said["sampling"] = None if sampling == LEVERAGE else sampling
    return {name: value for name, value in said.items() if value is not None}


def _resumed(
    before: Sheet, given: dict[str, Any], table: TableOptions, more: Path | None
) -> tuple[ModelOptions, TableOptions, list[str] | None]:
    """Return the options and the columns of an earlier sheet; refuse options that contradict it."""
    drawn = before.drawn
    settings: dict[str, Any] = {name: drawn.settings.get(name) for name in asdict(ModelOptions())}
    rest = {name: drawn.settings.get(name) for name in ("types", "delimiter", "decimal")}
    if not set(settings) <= set(drawn.settings) <= {*settings, *rest, "sampling"}:
        raise ValueError(
            f"{more} must be a sheet of mercer label, got one written from Python: continue it "
            f"there"
        )
    known_id = None if drawn.pool.ids is None else drawn.id_name
    known = {**settings, **rest, "id": known_id, "columns": drawn.columns}
    known["sampling"] = _sampling_of(before)
    requested = {**given, **_said(table)}
    requested |= {"id": table.ids, "columns": split_names(table.columns)}
    for name, value in requested.items():
        if value is not None and value != known[name]:
            raise ValueError(
                f"--{name} must be that of {more}, {known[name]!r}, got {value!r}: leave it out, "
                f"or start a new sheet"
            )
    wrong = set(split_names(table.exclude) or ()) & set(drawn.columns or ())
    if wrong:
        raise ValueError(
            f"--exclude must not name features of {more}, got {min(wrong)!r}: start a new sheet"
        )
    return ModelOptions(**settings), TableOptions(**rest, ids=known_id), drawn.columns


def _rows_of(sheet: Sheet, pool: LabelPool) -> list[tuple[str, str]]:
    """Return the size of the pool and of a sheet, as rows of a table."""
    labelled = len(sheet.labels) - len(sheet.unlabelled)
    return [
        ("pool", f"{pool.source.n_rows:,} rows, {pool.source.n_features} features"),
        ("different rows", f"{len(sheet.labels):,}, of which {labelled:,} are labelled already"),
    ]


def _summary(labeller: ImportanceLabeller, sheet: Sheet, pool: LabelPool) -> list[tuple[str, str]]:
    """Return what was drawn, and how, as rows of a table."""
    rounds, (size, rows) = sheet.drawn.rounds, _rows_of(sheet, pool)
    draws = f"{labeller.n_draws_:,}"
    if len(rounds) > 1:
        draws += f" in {len(rounds)} rounds: {', '.join(f'{number:,}' for number in rounds)}"
    else:
        rows = ("different rows", f"{len(sheet.labels):,}")
    worth = [("effective sample size", f"{labeller.effective_sample_size_:.1f}")]
    if labeller.variance_ is not None:
        most, least = labeller.variance_.max(), labeller.variance_.min()
        worth = [("variance when drawn", f"{most:.3g} to {least:.3g}"), ("weights", "all 1")]
    return [
        size,
        *table_rows(None if labeller.columns_ is None else labeller.columns_.encoding_),
        ("kernel", describe(labeller.kernel_)),
        ("basis", f"{type(labeller.basis_).__name__} with {labeller.basis_.size} functions"),
        ("alpha", f"{labeller.alpha_:.3e}"),
        ("effective dimension", f"{labeller.effective_dimension_:.1f}"),
        ("draws", draws),
        rows,
        *worth,
        *second_rows(labeller.seconds_),
    ]


def default_sheet(data: Path) -> Path:
    """Return the sheet of a pool, next to it.

    >>> default_sheet(Path("data/houses.csv.gz")).as_posix()
    'data/houses-labels.csv'
    """
    return data.with_name(f"{without_ending(data.name)}-labels.csv")


def serve_page(
    page: PageOptions,
    data: Path,
    out: Path,
    pool: LabelPool,
    labeller: ImportanceLabeller,
    settings: dict[str, Any],
    force: bool,
) -> None:
    """Serve a page until Ctrl-C, and say what to do next."""
    needed_for_pages()
    token = checked_token(page.host, page.token)
    session = LabellingSession(
        pool,
        out,
        int(labeller.budget),
        task=page.task,
        classes=split_names(page.classes),
        labeller=labeller,
        refit_every=page.refit_every,
        target_error=page.target_error,
        image=page.image,
        show=split_names(page.show),
        folder=data.expanduser().absolute().parent,
        settings=settings,
        overwrite=force,
    )
    with session:
        server = session.serve(page.host, page.port, token)
        console = stdout()
        console.print(Text(f"Label rows of {data} at: {server.link}"), soft_wrap=True)
        console.print(Text(f"Labels go to {out}. Stop with Ctrl-C."), soft_wrap=True)
        if page.browser and not webbrowser.open(server.link):
            note("no browser was found: open the link yourself")
        wait_for_end()
    _show_next(session, data, out)


def wait_for_end() -> None:
    """Wait for Ctrl-C, or for the signal that ends a service."""
    ended = threading.Event()
    # Other threads than the main one cannot ask for signals.
    asks = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, lambda *_: ended.set()) if asks else None
    try:
        while not ended.wait(0.5):
            pass
    except KeyboardInterrupt:
        return
    finally:
        if asks:
            signal.signal(signal.SIGTERM, before)


def _show_next(session: LabellingSession, data: Path, out: Path) -> None:
    """Say where the labels are, and what to do with them."""
    sheet, task = session.book.sheet, session.book.task
    gaps = len(sheet.unlabelled)
    labelled = len(sheet.labels) - gaps
    words = [f"{labelled:,} labels are in {out}; the same command goes on with them."]
    if labelled and task is not None:
        files = f"{shlex.quote(str(data))} --labels {shlex.quote(str(out))}"
        skip = " --skip-unlabelled" if gaps else ""
        words.append(f"Or: mercer fit {files} --task {task.kind}{skip} --out model")
    for line in words:
        stdout().print(Text(line), soft_wrap=True)

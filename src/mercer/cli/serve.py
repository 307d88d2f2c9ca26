"""``mercer label --serve``: the same rows on a page in the browser, one at a time."""

from __future__ import annotations

import shlex
import signal
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from rich.text import Text

from mercer.cli.options import split_names
from mercer.cli.output import note, stdout
from mercer.estimators import ImportanceLabeller
from mercer.labelling import LabellingSession, LabelPool
from mercer.labelling.page.page_server import needed_for_pages
from mercer.labelling.page.request_guard import checked_token
from mercer.rows.opening import DELIMITED


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

    def refuse_without_serve(self, given: set[str]) -> None:
        """Raise ValueError if an option of the page was given, but not ``--serve``."""
        for field in fields(self):
            if field.name in given and not self.serve:
                option = field.name.replace("_", "-")
                raise ValueError(f"--{option} is for a page to label on: add --serve")


def default_sheet(data: Path) -> Path:
    """Return the sheet of a pool, next to it.

    >>> default_sheet(Path("data/houses.csv.gz")).as_posix()
    'data/houses-labels.csv'
    """
    name = data.name
    ending = next((e for e in DELIMITED if name.lower().endswith(e)), Path(name).suffix)
    return data.with_name(f"{name[: len(name) - len(ending)]}-labels.csv")


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
    with _terminated() as ended:
        try:
            while not ended.wait(0.5):
                pass
        except KeyboardInterrupt:
            return


@contextmanager
def _terminated() -> Iterator[threading.Event]:
    """Yield what SIGTERM sets; other threads than the main one cannot ask for signals."""
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    before = signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        yield ended
    finally:
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

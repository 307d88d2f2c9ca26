"""``mercer card``: a model card of a model file, as Markdown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.files import check_output
from mercer.cli.infinity import finding_infinity
from mercer.cli.options import DialectOptions, Force, with_groups
from mercer.cli.output import note
from mercer.cli.reading import on_disk, open_table
from mercer.cli.visible_text import visible
from mercer.contracts import RowSource
from mercer.estimators import KernelRanker
from mercer.models import load, model_card
from mercer.models.loading import find_model
from mercer.rows import names_columns
from mercer.storage.atomic import atomic_path

#: Shown below the options of ``mercer card --help``.
EXAMPLES = """Examples

mercer card houses > card.md

mercer card houses --data test.csv --out card.md"""

#: The endings of Markdown files.
MARKDOWN = (".md", ".markdown")


@with_groups
def card(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="A model from mercer fit or mercer.save.")],
    *,
    data: Annotated[
        Path | None,
        typer.Option(help="Rows that the model has not seen, to score it on; - is CSV from stdin."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="The target column of --data. Default: that of mercer fit."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="The query column of --data, for a ranking.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title. Default: the file's name.")] = None,
    out: Annotated[Path | None, typer.Option(help="A .md file. Default: standard output.")] = None,
    force: Force = False,
    dialect: DialectOptions,
) -> None:
    """Write a model card: data, choices and why, metrics with intervals, importances.

    Metrics are those of rows that the fit left out, and of --data if it is given.
    """
    file = find_model(model)
    if out is not None:
        out = check_output(out, [file, *([] if data is None else [data])], MARKDOWN)
        if out.exists() and not force:
            raise ValueError(f"{out} exists: name another file, or replace it with --force")
    if data is None and not (target is None and query is None):
        raise ValueError("--target and --query name columns of --data, which is missing: give it")
    rows = None
    if data is not None:
        fitted: Any = load(file)
        target = target or fitted._notes.get("target")
        rows = _rows(fitted, on_disk(data, context), target, query, dialect)
    with finding_infinity(rows):
        text = model_card(file, rows, title=title, target=target)
    if out is not None:
        with atomic_path(out) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
        note(f"card written to {out}")
    else:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def _rows(
    fitted: Any, data: Path, target: str | None, query: str | None, dialect: DialectOptions
) -> RowSource:
    """Open rows with the columns of the model and their targets."""
    named = names_columns(data)
    if query is not None and not isinstance(fitted, KernelRanker):
        raise ValueError(f"--query needs a ranker, got a {type(fitted).__name__}: leave it out")
    if target is None and named:
        raise ValueError(f"the model does not name its target: name that of {data} with --target")
    names, encoder = getattr(fitted, "feature_names_in_", None), fitted.columns_
    columns = None
    if names is not None and named:
        columns = list(names) if encoder is None else encoder.encoding_.needed
    return open_table(data, dialect, target, None, columns, query, fitted.n_features_in_)

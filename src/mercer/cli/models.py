"""``mercer info``, ``card`` and ``export``: what is in a model file, also for other programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.options import DialectOptions, Force, Json, Model, with_groups
from mercer.cli.output import chosen, facts, file_text, note, print_json, record, stdout, visible
from mercer.cli.reading import finding_infinity, on_disk, open_table
from mercer.cli.writing import check_output
from mercer.contracts import Array, RowSource
from mercer.estimators import KernelEstimator, KernelRanker
from mercer.models import load, model_card, to_onnx
from mercer.models.graph_builder import described
from mercer.models.loading import find_model, written_by
from mercer.models.onnx_export import SUFFIX, onnx_path
from mercer.opening.inputs import columns_of_fit
from mercer.rows import names_columns
from mercer.storage.files import atomic_path

#: Shown below the options of ``mercer card --help``.
CARD_EXAMPLES = """Examples

mercer card houses > card.md

mercer card houses --data test.csv --out card.md"""

#: The endings of Markdown files.
MARKDOWN = (".md", ".markdown")


@with_groups
def card(
    context: typer.Context,
    model: Model,
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
        fitted = load(file)
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
    fitted: KernelEstimator,
    data: Path,
    target: str | None,
    query: str | None,
    dialect: DialectOptions,
) -> RowSource:
    """Open rows with the columns of the model and their targets."""
    named = names_columns(data)
    if query is not None and not isinstance(fitted, KernelRanker):
        raise ValueError(f"--query needs a ranker, got a {type(fitted).__name__}: leave it out")
    if target is None and named:
        raise ValueError(f"the model does not name its target: name that of {data} with --target")
    names, encoding = columns_of_fit(fitted)
    columns = names if encoding is None else encoding.needed
    columns = columns if names is not None and named else None
    return open_table(data, dialect, target, None, columns, query, fitted.n_features_in_)


#: Shown below the options of ``mercer export --help``.
EXPORT_EXAMPLES = """Examples

mercer export houses --out houses.onnx

mercer export houses --out small.onnx --float32"""


def export(
    model: Model,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="The .onnx file. Default: the name of the model, in this folder."),
    ] = None,
    float32: Annotated[
        bool, typer.Option("--float32", help="Inputs and outputs in float32, instead of float64.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a model as an ONNX graph, which runs without Python; show inputs and outputs."""
    file = find_model(model)
    path = Path(file.with_suffix(SUFFIX).name) if out is None else onnx_path(out)
    target = check_output(path, [file], [SUFFIX])
    if target.exists() and not force:
        raise ValueError(
            f"{target} exists: name another file with --out, or replace it with --force"
        )
    made = to_onnx(load(file), target, dtype="float32" if float32 else "float64")
    inputs, outputs = described(made.graph.input), described(made.graph.output)
    if as_json:
        about: dict[str, Any] = {"out": str(target), "bytes": target.stat().st_size}
        print_json(about | {"inputs": inputs, "outputs": outputs})
        return
    rows = [("model", str(file))]
    for word, values in (("input", inputs), ("output", outputs)):
        rows += [(f"{word} {value['name']}", _words(value)) for value in values]
    stdout().print(facts("ONNX", [*rows, ("file", file_text(target))]))


def _words(value: dict[str, Any]) -> str:
    shape = " x ".join(map(str, value["shape"]))
    about = f": {value['about']}" if value["about"] else ""
    return f"{value['type']}, {shape}{about}"


def info(
    model: Annotated[Path, typer.Argument(help="A model file.")], as_json: Json = False
) -> None:
    """Show what is in a model file: target, classes, columns, and how it was fitted."""
    file = find_model(model)
    fitted = load(file)
    notes = dict(fitted._notes)
    if as_json:
        size = file.stat().st_size
        about = {"model": str(file), "bytes": size, "mercer": written_by(file), "notes": notes}
        print_json({"target": notes.pop("target", None), **record(fitted), **about})
        return
    rows = [("target", notes.pop("target"))] if "target" in notes else []
    if hasattr(fitted, "classes_"):
        rows.append(("classes", f"{len(fitted.classes_)}: {_some(fitted.classes_)}"))
    names, _ = columns_of_fit(fitted)
    shown = f"{fitted.n_features_in_}"
    if names is not None:
        shown += f": {_some(names)}"
    rows += [("columns", shown), *chosen(fitted), *notes.items()]
    summed = fitted.fit_.folds is not None or fitted.fit_.dual_rows is not None
    rows.append(("sums over rows", "kept: partial_fit can add rows" if summed else "not kept"))
    rows.append(("file", file_text(file, f", written by mercer {written_by(file)}")))
    stdout().print(facts(type(fitted).__name__, rows))


def _some(items: Sequence[object] | Array, number: int = 12) -> str:
    return ", ".join(map(str, items[:number])) + (", ..." if len(items) > number else "")

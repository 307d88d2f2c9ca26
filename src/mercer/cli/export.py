"""``mercer export``: a model as an ONNX graph, for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.files import check_output
from mercer.cli.options import Json
from mercer.cli.output import print_json, stdout
from mercer.cli.sizes import file_text
from mercer.cli.tables import facts
from mercer.models import load, to_onnx
from mercer.models.graph_builder import described
from mercer.models.loading import find_model
from mercer.models.onnx_export import SUFFIX, onnx_path

#: Shown below the options of ``mercer export --help``.
EXAMPLES = """Examples

mercer export houses --out houses.onnx

mercer export houses --out small.onnx --float32"""


def export(
    model: Annotated[Path, typer.Argument(help="A model from mercer fit or mercer.save.")],
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
    asked = Path(file.with_suffix(SUFFIX).name) if out is None else onnx_path(out)
    target = check_output(asked, [file], [SUFFIX])
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

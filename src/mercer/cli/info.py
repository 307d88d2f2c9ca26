"""``mercer info``: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.options import Json
from mercer.cli.output import print_json, stdout
from mercer.cli.sizes import file_text
from mercer.cli.tables import chosen, facts, record
from mercer.models import load
from mercer.models.loading import find_model, written_by


def info(
    model: Annotated[Path, typer.Argument(help="A model file.")], as_json: Json = False
) -> None:
    """Show what is in a model file: target, classes, columns, and how it was fitted."""
    file = find_model(model)
    fitted: Any = load(file)
    notes = dict(fitted._notes)
    if as_json:
        size = file.stat().st_size
        about = {"model": str(file), "bytes": size, "mercer": written_by(file), "notes": notes}
        print_json({"target": notes.pop("target", None), **record(fitted), **about})
        return
    rows = [("target", notes.pop("target"))] if "target" in notes else []
    if hasattr(fitted, "classes_"):
        rows.append(("classes", f"{len(fitted.classes_)}: {_some(fitted.classes_)}"))
    names = getattr(fitted, "feature_names_in_", None)
    shown = f"{fitted.n_features_in_}"
    if names is not None:
        shown += f": {_some(names)}"
    rows += [("columns", shown), *chosen(fitted), *notes.items()]
    summed = fitted.fit_.folds is not None or fitted.fit_.dual_rows is not None
    rows.append(("sums over rows", "kept: partial_fit can add rows" if summed else "not kept"))
    rows.append(("file", file_text(file, f", written by mercer {written_by(file)}")))
    stdout().print(facts(type(fitted).__name__, rows))


def _some(items: Any, number: int = 12) -> str:
    return ", ".join(map(str, items[:number])) + (", ..." if len(items) > number else "")

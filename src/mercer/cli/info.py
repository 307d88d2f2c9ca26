"""``mercer info``: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.output import stdout
from mercer.cli.tables import chosen, facts
from mercer.models import load
from mercer.models.loading import find_model, written_by
from mercer.plan import human_bytes


def info(model: Annotated[Path, typer.Argument(help="A model file.")]) -> None:
    """Show what a model is and how it was found."""
    file = find_model(model)
    fitted: Any = load(file)
    rows = chosen(fitted)
    names = getattr(fitted, "feature_names_in_", None)
    shown = f"{fitted.n_features_in_}"
    if names is not None:
        shown += f": {_some(names)}"
    rows.insert(0, ("columns", shown))
    if hasattr(fitted, "classes_"):
        rows.insert(1, ("classes", f"{len(fitted.classes_)}: {_some(fitted.classes_)}"))
    summed = fitted.fit_.folds is not None or fitted.fit_.dual_rows is not None
    rows.append(("sums over rows", "kept: partial_fit goes on" if summed else "not kept"))
    size = human_bytes(file.stat().st_size)
    rows.append(("file", f"{file} ({size}, written by mercer {written_by(file)})"))
    stdout().print(facts(type(fitted).__name__, rows))


def _some(items: Any, number: int = 12) -> str:
    return ", ".join(map(str, items[:number])) + (", ..." if len(items) > number else "")

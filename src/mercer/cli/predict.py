"""``mercer predict``: from a model and rows to a file of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mercer.cli.files import check_output, write_output
from mercer.cli.output import stderr
from mercer.contracts import Array, RowSource
from mercer.estimators import KernelClassifier
from mercer.models import load
from mercer.rows import names_columns, open_rows
from mercer.storage import TABLE_WRITERS


def predict(
    model: Annotated[Path, typer.Argument(help="A model from mercer fit or mercer.save.")],
    data: Annotated[Path, typer.Argument(help="A file of rows; extra columns are ignored.")],
    out: Annotated[
        Path | None,
        typer.Option(help="A .csv, .parquet or .npy file. Default: CSV to standard output."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also estimate the probability of every class.")
    ] = False,
) -> None:
    """Predict every row of a file: its number and its prediction."""
    if out is not None:
        out = check_output(out, [model, data], TABLE_WRITERS)
    fitted: Any = load(model)
    if proba and not isinstance(fitted, KernelClassifier):
        raise ValueError(f"--proba needs a classifier, got a {type(fitted).__name__}: leave it out")
    rows = model_rows(fitted, data)
    table = predictions(fitted, rows, proba)
    write_output(table, out)
    if out is not None:
        stderr().print(f"{rows.n_rows:,} predictions written to {out}", soft_wrap=True)


def model_rows(model: Any, data: Path) -> RowSource:
    """Open the columns of a file that a model was fitted on."""
    names = getattr(model, "feature_names_in_", None)
    columns = list(names) if names is not None and names_columns(data) else None
    return open_rows(data, columns=columns, n_features=model.n_features_in_)


def predictions(model: Any, rows: RowSource, proba: bool) -> dict[str, Array]:
    """Return the columns of the table of predictions."""
    table: dict[str, Array] = {"row": np.arange(rows.n_rows)}
    if proba:
        probability = model.predict_proba(rows)
        table["prediction"] = model.classes_[probability.argmax(axis=1)]
        for label, values in zip(model.classes_, probability.T, strict=True):
            table[f"probability_{label}"] = values
        return table
    values = model.predict(rows)
    if values.ndim == 1:
        table["prediction"] = values
        return table
    return table | {f"prediction_{i}": column for i, column in enumerate(values.T)}

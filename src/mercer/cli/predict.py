"""``mercer predict``: from a model and rows to a file of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mercer.cli.options import DialectOptions, Json, Model, RawText, with_groups
from mercer.cli.output import note, plain, print_json
from mercer.cli.reading import (
    finding_infinity,
    kept_columns,
    kept_names,
    on_disk,
    open_table,
)
from mercer.cli.writing import check_output, write_output
from mercer.contracts import Array, RowSource
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRegressor
from mercer.estimators.interval_predictions import intervals_of
from mercer.models import load
from mercer.opening.inputs import columns_of_fit
from mercer.rows import names_columns, open_rows
from mercer.storage import TABLE_WRITERS

#: Shown below the options of ``mercer predict --help``.
EXAMPLES = """Examples

mercer predict houses new.csv > predictions.csv

mercer predict houses new.csv --id house --out predictions.parquet

mercer predict houses new.csv --interval 90 --out predictions.csv

mercer predict houses new.csv --append --out with_predictions.csv

cat new.csv | mercer predict houses - --json"""


@with_groups
def predict(
    context: typer.Context,
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(
            help="A file of rows, or - for CSV from standard input; extra columns are ignored."
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="A .csv, .parquet or .npy file. Default: CSV to standard output."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also estimate the probability of every class.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            help="Also write the interval that contains y with this probability, such as 90: "
            "columns low, high and std (regression).",
        ),
    ] = None,
    ids: Annotated[
        str | None, typer.Option("--id", help="A column to write instead of the row number.")
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Keep all columns of the file, as they are in it.")
    ] = False,
    raw_text: RawText = False,
    as_json: Json = False,
    dialect: DialectOptions,
) -> None:
    """Predict every row of a file: its number, or its id, and its prediction.

    Categories that the model does not know, and new gaps, are counted in a warning.
    """
    if out is not None:
        out = check_output(out, [model, data], TABLE_WRITERS)
    fitted = load(model)
    if proba and not isinstance(fitted, KernelClassifier):
        raise ValueError(f"--proba needs a classifier, got a {type(fitted).__name__}: leave it out")
    if interval is not None:
        _check_interval(interval, fitted)
    named, data = data, on_disk(data, context)
    kept = kept_names(data, dialect, ids, append)
    rows = model_rows(fitted, data, dialect)
    table: dict[str, Any] = {"row": np.arange(rows.n_rows)}
    if kept:
        text = not as_json and (out is None or out.suffix.lower() == ".csv")
        table = kept_columns(rows, kept, as_text=text)
    with finding_infinity(rows):
        predicted = predictions(fitted, rows, proba, interval)
    for name in predicted:
        if name in table:
            raise ValueError(
                f"{named} has a column {name!r} already, which predictions would replace: "
                f"rename it, or leave out --append"
            )
    table |= predicted
    if as_json and out is None:
        parts = [plain(column) for column in table.values()]
        print_json([dict(zip(table, row, strict=True)) for row in zip(*parts, strict=True)])
        return
    write_output(table, out, raw_text)
    if as_json:
        print_json({"rows": rows.n_rows, "columns": list(table), "out": str(out)})
    elif out is not None:
        note(f"{rows.n_rows:,} predictions written to {out}")


def _check_interval(interval: float, fitted: KernelEstimator) -> None:
    """Raise ValueError for a percentage that is none, or a model without intervals."""
    if not isinstance(fitted, KernelRegressor):
        raise ValueError(
            f"--interval needs a regressor, got a {type(fitted).__name__}: leave it out"
            + (", or use --proba" if isinstance(fitted, KernelClassifier) else "")
        )
    if not 0 < interval < 100:
        raise ValueError(f"--interval must be between 0 and 100 percent, got {interval:g}")
    if interval < 1:
        raise ValueError(
            f"--interval is in percent, got {interval:g}: use --interval {100 * interval:g}"
        )
    intervals_of(fitted)


def model_rows(model: KernelEstimator, data: Path, dialect: DialectOptions) -> RowSource:
    """Open the columns of a file that a model was fitted on."""
    names, encoding = columns_of_fit(model)
    if names is None or encoding is None or not names_columns(data):
        return open_rows(
            data,
            columns=names if names_columns(data) else None,
            n_features=model.n_features_in_,
            **dialect.dialect(),
        )
    return open_table(data, dialect, None, None, encoding.needed)


def predictions(
    model: KernelEstimator, rows: RowSource, proba: bool, interval: float | None = None
) -> dict[str, Array]:
    """Return the columns of the table of predictions."""
    if interval is not None:
        values = model.predict(rows).reshape(rows.n_rows, -1)
        parts = (values, *model._interval_columns(rows, interval / 100))
        names = ("prediction", "low", "high", "std")
        outputs = values.shape[1]
        return {
            name if outputs == 1 else f"{name}_{i}": part[:, i]
            for i in range(outputs)
            for name, part in zip(names, parts, strict=True)
        }
    if proba:
        probability = model.predict_proba(rows)
        table = {"prediction": model.classes_[probability.argmax(axis=1)]}
        for label, values in zip(model.classes_, probability.T, strict=True):
            table[f"probability_{label}"] = values
        return table
    values = model.predict(rows)
    if values.ndim == 1:
        return {"prediction": values}
    return {f"prediction_{i}": column for i, column in enumerate(values.T)}

"""``mercer look``: what a fit would do with every column of a file, without fitting."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mercer.cli.column_looks import draw_columns, look_at
from mercer.cli.options import Json, TableOptions, Task, with_groups
from mercer.cli.output import as_options, facts, note, print_json, stdout, words
from mercer.cli.reading import Reading, on_disk, open_table
from mercer.cli.task import ESTIMATORS, DoubtfulTask, decide_task
from mercer.cli.writing import PICTURES, check_output
from mercer.columns import TableEncoder
from mercer.columns.learning import learned_encoders
from mercer.columns.table_sums import sums_of_rows
from mercer.contracts import Array, RowSource
from mercer.opening.encoding import with_labels_only
from mercer.rows import CsvSource
from mercer.rows.rowset import RowSet
from mercer.rows.table import Table

#: Shown below the options of ``mercer look --help``.
EXAMPLES = """Examples

mercer look houses.csv

mercer look houses.csv --target price --types zip=category --plot look.png"""


class NoTargets:
    """Targets without columns, of rows that are only looked at."""

    outputs = 0
    pairs = None

    def encode(self, y: Array, start: int) -> Array:
        """Return rows without columns."""
        return np.zeros((len(y), 0))

    values = encode


@with_groups
def look(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .npy or .npz file, a folder, or - for CSV from standard "
            "input."
        ),
    ],
    *,
    target: Annotated[str | None, typer.Option(help="The target column.")] = None,
    task: Task = "auto",
    plot: Annotated[
        Path | None, typer.Option(help="A .png, .svg or .pdf file for a picture of the columns.")
    ] = None,
    as_json: Json = False,
    table: TableOptions,
) -> None:
    """Show what mercer fit would do with every column of a file, from one pass over it.

    Without --target it is not known which columns have to do with it, so some may be kept here
    that a fit leaves out.
    """
    named, data = data, on_disk(data, context)
    if plot is not None:
        plot = check_output(plot, [data], PICTURES, "--plot")
    encoder = TableEncoder(table.kinds())
    reading = Reading("a look", "targets", target, table=table)
    source = open_table(data, table, target, None, reading.features(data))
    kind, why, targets = _task(source, task)
    rows = RowSet.in_one_place(source, None)
    rows = with_labels_only(rows) if source.has_target else rows
    names = rows.feature_names or [f"x{number}" for number in range(rows.n_features)]
    sums = sums_of_rows(rows, targets, encoder.text_columns(names))
    encoders = learned_encoders(sums, encoder.options(arrays=not _is_table(source)))
    found = [look_at(name, sums, encoder) for name, encoder in encoders.items()]
    if plot is not None:
        draw_columns(found, sums, str(named), plot)
    absent = source.n_rows - sums.rows
    dialect = source.dialect if isinstance(source, CsvSource) else None
    if as_json:
        written = None if dialect is None else asdict(dialect)
        about = {"file": str(named), "rows": sums.rows, "rows_without_target": absent}
        about |= {"dialect": written, "target": target, "task": kind, "reason": as_options(why)}
        print_json({**about, "columns": [asdict(column) for column in found]})
        return
    more = f"; {absent:,} more without a target" if absent else ""
    shown = [("rows", f"{sums.rows:,}{more}")]
    if dialect is not None:
        shown.append(("written with", dialect.describe()))
    if why:
        shown.append(("task", f"{kind} ({why})" if kind else f"not clear: {why}"))
    new = sum(column.width for column in found)
    shown.append(("columns", f"{len(found):,} become {new:,} columns of numbers"))
    console = stdout()
    console.print(facts(f"{named}", shown))
    header = ("column", "contains", "examples", "becomes")
    console.print(words("What a fit would do", header, [column.cells() for column in found]))
    if plot is not None:
        note(f"picture of {len(found):,} columns written to {plot}")


def _task(source: RowSource, task: str) -> tuple[str | None, str, Any]:
    """Return the task, the reason for it, and the targets; without a task there are none."""
    if not source.has_target:
        return None, "", NoTargets()
    try:
        kind, why = decide_task(source, task)
    except DoubtfulTask as doubt:
        return None, str(doubt), NoTargets()
    return kind, why, ESTIMATORS[kind]()._kind().of_source(source)


def _is_table(source: RowSource) -> bool:
    """Return whether columns may be of any kind; refuse sparse rows."""
    first = next(iter(source.blocks(1))).X
    if hasattr(first, "tocsr"):
        raise ValueError("mercer look needs a table, got sparse rows, whose columns are numbers")
    return isinstance(first, Table)

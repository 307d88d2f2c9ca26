"""Tables of names and values, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from mercer.cli.output import as_options
from mercer.cli.visible_text import visible
from mercer.contracts import Array
from mercer.estimators import KernelEstimator
from mercer.estimators.summary import describe


def facts(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table of two columns."""
    table = Table(title=_title(title), box=SIMPLE_HEAD, show_header=False, title_justify="left")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(visible(name)), Text(visible(value)))
    return table


def _title(title: str) -> Text:
    # As text, since brackets in the name of a file are no markup.
    return Text(visible(title), style="table.title")


def columns(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table whose first column is text and whose others are numbers."""
    table = Table(title=_title(title), box=SIMPLE_HEAD, title_justify="left", header_style="cyan")
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=number > 0)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def words(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of text."""
    table = Table(title=_title(title), box=SIMPLE_HEAD, title_justify="left", header_style="cyan")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def chosen(model: KernelEstimator) -> list[tuple[str, str]]:
    """Return what a fit chose, and the seconds of its stages in rows of their own."""
    summary = model.summary().rows
    rows = [(name, as_options(value)) for name, value in summary if name != "time"]
    seconds = model.fit_.seconds
    rows.append(("seconds", f"{sum(seconds.values()):.2f}"))
    rows += [(f"  {stage}", f"{value:.2f}") for stage, value in seconds.items()]
    return rows


def record(model: Any) -> dict[str, Any]:
    """Return what a fit chose, for JSON."""
    encoder = getattr(model, "columns_", None)
    names = getattr(model, "feature_names_in_", None)
    became = [] if encoder is None else encoder.encoding_.describe()
    found = {
        "estimator": type(model).__name__,
        "rows": model.fit_.n_rows,
        "columns": None if names is None else list(names),
        "became": {name: as_options(words) for name, words in became},
        "kernel": describe(model.kernel_),
        "functions": model.basis_.size,
        "alpha": model.alpha_,
        "seconds": sum(model.fit_.seconds.values()),
    }
    intervals = getattr(model.fit_, "intervals", None)
    if intervals is not None:
        found["intervals"] = {
            "method": intervals.label,
            "rows": len(intervals.rows.weight),
            "coverage": {f"{c:g}": intervals.left_out_coverage(c) for c in (0.5, 0.8, 0.9, 0.95)},
        }
    return found | ({"classes": model.classes_} if hasattr(model, "classes_") else {})


def path_table(alphas: Array, scores: Array, best: float) -> Table:
    """Return the score of every alpha that was tried."""
    return columns(
        "Every alpha that was tried",
        ("", "alpha", "mean squared error"),
        (
            ("chosen" if alpha == best else "", f"{alpha:.3e}", f"{score:.6g}")
            for alpha, score in zip(alphas, scores, strict=True)
        ),
    )

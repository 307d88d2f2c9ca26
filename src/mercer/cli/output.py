"""What commands print: results to stdout, everything else to stderr, and facts as tables.

What would control a terminal, in text of files, is shown instead of obeyed.
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from mercer.contracts import Array, Penalty
from mercer.engines.memory import peak_memory
from mercer.estimators import KernelEstimator
from mercer.estimators.summary import describe
from mercer.models.scores import COVERAGES
from mercer.opening.inputs import columns_of_fit
from mercer.plan import human_bytes

#: C0 without line breaks and tabs, DEL, C1, marks that turn the direction of text, and halves of
#: surrogate pairs, which names of files may have and no stream can write.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Return text with control characters as escapes.

    >>> print(visible("a\x1b[31mb\r\x9bc"))
    a\x1b[31mb\r\x9bc
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


class VisibleConsole(Console):
    """A console that shows control characters of text; colors of its own are no text."""

    def __init__(self, **options: Any) -> None:
        # Brackets and colons in names of files are no markup and no emoji.
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Yield the segments of a renderable with visible text."""
        for segment in super().render(renderable, options):
            if segment.control or not CONTROLS.search(segment.text):
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


#: What messages of the library say, and the same on the command line.
OPTIONS = [
    (r"(\S*[/\\])?standard-input\.csv", "standard input"),
    (r"columns=\{'([^']*)': '(\w+)'\}", r"--types '\1=\2'"),
    (r"\b(unlabelled|missing|selection|solver|basis)='(\w+)'", r"--\1 \2"),
    (r"\bweight_type='(\w+)'", r"--weight-type \1"),
    (r"for classes use KernelClassifier", "for classes use --task classification"),
    (r"exclude it with columns=", "leave it out with --exclude"),
    (r"columns='auto', or exclude it", "or leave it out with --exclude"),
    (r"see columns=|with columns=", "see --columns"),
    (r"from columns=", "from --columns"),
    (r"set the delimiter", "set --delimiter"),
    (r"with overwrite=True", "with --force"),
    (r"\bset shards=", "set --shards"),
]


class Stopped(KeyboardInterrupt):
    """Ctrl-C, with a sentence that says what was kept."""


@contextmanager
def saying_when_stopped(kept: str) -> Iterator[None]:
    """Say what was kept if the context is interrupted by Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Stopped(kept) from error


def stdout() -> Console:
    """Return the console for results; made anew, since tests and pipes change the stream."""
    return VisibleConsole()


def stderr() -> Console:
    """Return the console for errors, warnings and progress."""
    return VisibleConsole(stderr=True)


def show_error(error: BaseException) -> None:
    """Print an error as one red line."""
    _line("error", "bold red", str(error) or type(error).__name__)


def show_stopped(error: BaseException) -> None:
    """Print what an interrupted command has left."""
    _line("stopped", "bold red", str(error) or "nothing was written")


def note(message: str) -> None:
    """Print a fact that is no result."""
    stderr().print(Text(visible(as_options(message))), soft_wrap=True)


def as_options(message: str) -> str:
    """Return a message of the library with options instead of parameters.

    >>> as_options("keep it with columns={'zip code': 'category'}")
    "keep it with --types 'zip code=category'"
    """
    for parameter, option in OPTIONS:
        message = re.sub(parameter, option, message)
    return message


def _line(word: str, style: str, message: str) -> None:
    words = as_options(" ".join(visible(message).split()))
    text = Text.assemble((f"{word}: ", style), words)
    stderr().print(text, soft_wrap=True)


def print_json(value: object) -> None:
    """Print a JSON value on stdout: UTF-8, null for NaN and infinity.

    Control characters that JSON allows are escaped too, which is the same JSON.
    """
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=1)
    sys.stdout.write(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def plain(value: object) -> Any:
    """Return arrays as lists, and numbers of NumPy as those of Python.

    >>> plain({"a": np.arange(2), "b": float("nan"), "c": np.True_})
    {'a': [0, 1], 'b': None, 'c': True}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print warnings as one line each while the context lasts."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        _line("warning", "yellow", str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def facts(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table of two columns."""
    table = _titled(title, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    return _filled(table, rows)


def columns(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table whose first column is text and whose others are numbers."""
    table = _titled(title)
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=number > 0)
    return _filled(table, rows)


def words(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of text."""
    table = _titled(title)
    for name in header:
        table.add_column(name, overflow="fold")
    return _filled(table, rows)


def _titled(title: str, show_header: bool = True) -> Table:
    # As text, since brackets in the name of a file are no markup.
    shown = Text(visible(title), style="table.title")
    style: dict[str, Any] = {"box": SIMPLE_HEAD, "title_justify": "left", "header_style": "cyan"}
    return Table(title=shown, show_header=show_header, **style)


def _filled(table: Table, rows: Iterable[Sequence[str]]) -> Table:
    for row in rows:
        table.add_row(*(Text(visible(value)) for value in row))
    return table


def chosen(model: KernelEstimator) -> list[tuple[str, str]]:
    """Return what a fit chose, and the seconds of its stages in rows of their own."""
    summary = model.summary().rows
    rows = [(name, as_options(value)) for name, value in summary if name != "time"]
    return [*rows, *second_rows(model.fit_.seconds)]


def second_rows(seconds: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the seconds of all stages together, and of each, as rows of a table."""
    stages = [(f"  {stage}", f"{value:.2f}") for stage, value in seconds.items()]
    return [("seconds", f"{sum(seconds.values()):.2f}"), *stages]


def record(model: KernelEstimator) -> dict[str, Any]:
    """Return what a fit chose, for JSON."""
    names, encoding = columns_of_fit(model)
    became = [] if encoding is None else encoding.describe()
    found: dict[str, Any] = {
        "estimator": type(model).__name__,
        "rows": model.fit_.n_rows,
        "columns": names,
        "became": {name: as_options(words) for name, words in became},
        "kernel": describe(model.kernel_),
        "functions": model.basis_.size,
        "alpha": model.alpha_,
        "seconds": sum(model.fit_.seconds.values()),
    }
    intervals = model.fit_.intervals
    if intervals is not None:
        found["intervals"] = {
            "method": intervals.label,
            "rows": intervals.rows.number,
            "coverage": {f"{c:g}": intervals.left_out_coverage(c) for c in COVERAGES},
        }
    return found | ({"classes": model.classes_} if hasattr(model, "classes_") else {})


def path_table(alphas: Array, scores: Array, best: Penalty) -> Table:
    """Return the score of every alpha that was tried."""
    return columns(
        "Every alpha that was tried",
        ("", "alpha", "mean squared error"),
        (
            ("chosen" if alpha == best else "", f"{alpha:.3e}", f"{score:.6g}")
            for alpha, score in zip(alphas, scores, strict=True)
        ),
    )


def peak_text(peak: int | None) -> str:
    """Return a peak of memory as text."""
    return "not known on this system" if peak is None else human_bytes(peak)


def peak_row() -> tuple[str, str]:
    """Return the peak of memory of this process so far as a row of a table."""
    return "peak memory", f"{peak_text(peak_memory())} resident, the whole process"


def file_text(path: Path, note: str = "") -> str:
    """Return the name of a file with its size, and with what else there is to say."""
    return f"{path} ({human_bytes(path.stat().st_size)}{note})"

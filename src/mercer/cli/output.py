"""Where words go: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.text import Text

from mercer.cli.visible_text import CONTROLS, VisibleConsole, visible

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


def print_json(value: Any) -> None:
    """Print a JSON value on stdout: UTF-8, null for NaN and infinity.

    Control characters that JSON allows are escaped too, which is the same JSON.
    """
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=1)
    sys.stdout.write(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def plain(value: Any) -> Any:
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

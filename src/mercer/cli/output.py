"""Where words go: results to stdout, everything else to stderr."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.text import Text


def stdout() -> Console:
    """Return the console for results; made anew, since tests and pipes change the stream."""
    return Console(highlight=False)


def stderr() -> Console:
    """Return the console for errors, warnings and progress."""
    return Console(stderr=True, highlight=False)


def show_error(error: BaseException) -> None:
    """Print an error as one red line."""
    _line("error", "bold red", str(error) or type(error).__name__)


def _line(word: str, style: str, message: str) -> None:
    text = Text.assemble((f"{word}: ", style), " ".join(message.split()))
    stderr().print(text, soft_wrap=True)


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

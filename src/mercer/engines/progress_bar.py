"""Progress reports: a bar in a terminal, lines on stderr elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mercer.contracts import Progress

#: Seconds between lines.
EVERY = 5.0


@contextmanager
def progress_bar(verbose: int) -> Iterator[Progress | None]:
    """Yield a function that reports progress, or None if progress is off.

    With ``verbose >= 1``, progress is a bar in a terminal (if rich is installed), otherwise a line
    on stderr every few seconds.
    """
    if not verbose:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
    except ImportError:
        yield _lines()
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TextColumn("{task.fields[amount]} {task.fields[unit]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int, unit: str = "rows", note: str = "") -> None:
            known, amount = total or None, _amount(done, total)
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=known, unit=unit, note=note, amount=amount)
            bar.update(tasks[stage], completed=done, total=known, note=note, amount=amount)

        yield report


def _lines() -> Progress:
    last = time.monotonic()
    started: dict[str, float] = {}

    def report(stage: str, done: int, total: int, unit: str = "rows", note: str = "") -> None:
        nonlocal last, started
        now = time.monotonic()
        if done <= 1 or stage not in started:
            started = {stage: now}
        if now - last >= EVERY:
            last = now
            more = f", {note}" if note else ""
            if total:
                left = (now - started[stage]) * (total - done) / max(1, done)
                more = f", {left:.0f} s left{more}"
            print(f"mercer: {stage} {_amount(done, total)} {unit}{more}", file=sys.stderr)

    return report


def _amount(done: int, total: int) -> str:
    """Return how much is done; a total of 0 means that the end is not known."""
    return f"{done:,} of {total:,}" if total else f"{done:,}"

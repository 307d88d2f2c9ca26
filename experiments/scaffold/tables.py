"""Markdown: tables, marks by which other pages include them, and whole pages."""

from __future__ import annotations

from collections.abc import Iterable


class Table:
    """A head, and rows below it.

    >>> table = Table(["m", "error"])
    >>> table.add(["2", "0.1"])
    >>> table.add(["40", "0.2"])
    >>> print(table)
    | m | error |
    |---|---|
    | 2 | 0.1 |
    | 40 | 0.2 |
    >>> print(table.aligned())
    | m  | error |
    |----|-------|
    | 2  | 0.1   |
    | 40 | 0.2   |
    """

    def __init__(self, head: Iterable[str]) -> None:
        self.lines = [list(head)]

    def add(self, cells: Iterable[str]) -> None:
        """Add a row."""
        self.lines.append(list(cells))

    def __str__(self) -> str:
        head, *rows = map(_line, self.lines)
        return "\n".join([head, "|" + "---|" * len(self.lines[0]), *rows])

    def aligned(self) -> str:
        """Return the table for a terminal, with cells below each other."""
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        head, *rows = (
            _line(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            for line in self.lines
        )
        return "\n".join([head, "|" + "".join("-" * (w + 2) + "|" for w in widths), *rows])


def marked(name: str, table: Table) -> str:
    """Return a table between marks by which other pages include it."""
    return f"<!-- {name} -->\n\n{table}\n\n<!-- end of {name} -->"


def page(command: str, about: str, *parts: object) -> str:
    """Return a page of results: who wrote it, what its numbers are, and its parts."""
    told = f"Written by `python -m experiments.{command}`; do not edit. {about}".rstrip()
    return "\n\n".join(["# Results", told, *map(str, parts)]) + "\n"


def bytes_text(number: float) -> str:
    """Write bytes for people.

    >>> bytes_text(64_100), bytes_text(1.5e9)
    ('64.1 kB', '1.5 GB')
    """
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"

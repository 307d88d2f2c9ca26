"""Names and values as text and as HTML: for summaries of fits, plans and explanations."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """A table of names and values; prints as text, shows as HTML in notebooks."""

    title: str
    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows)
        lines = [self.title, "-" * len(self.title)]
        return "\n".join(lines + [f"{name:<{width}}  {value}" for name, value in self.rows])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.rows
        )
        return f"<table><caption><b>{html.escape(self.title)}</b></caption>{body}</table>"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of text, with columns of equal width.

    >>> print(text_table(("column", "effect"), [("area", "1.2"), ("rooms", "0.3")]))
    column  effect
    area    1.2
    rooms   0.3
    """
    widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in (header, *rows))


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML; the caption may have tags of its own.

    >>> html_table("Sizes", ["M"], [["<5"]])
    '<table><caption>Sizes</caption><tr><th>M</th></tr><tr><td>&lt;5</td></tr></table>'
    """
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"

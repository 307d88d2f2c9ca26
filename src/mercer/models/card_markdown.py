"""Markdown from text of any origin: nothing in a name or a level becomes markup."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

#: Characters that mean something in Markdown or in its tables.
SPECIAL = re.compile(r"([\\`*\[\]|~$])")
#: An underscore inside of a word is no emphasis.
UNDERSCORE = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
#: How long a text in a cell may be, and the blocks of the longest bar.
LONGEST, BLOCKS = 200, 20


def escaped(text: str, longest: int = LONGEST) -> str:
    r"""Return text that Markdown shows as it is, in one line.

    >>> print(escaped("a|b <b>`c`</b> room_size\n(_x_)"))
    a\|b &lt;b&gt;\`c\`&lt;/b&gt; room_size\\n(\_x\_)
    """
    if len(text) > longest:
        text = text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    # Line breaks, control characters and marks that turn the direction of text are shown.
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    shown = SPECIAL.sub(r"\\\1", shown)
    shown = UNDERSCORE.sub(r"\\_", shown)
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Hashes and numbers begin a heading or a list only at the start.
    return re.sub(r"^(\s*)([#+-])", r"\1\\\2", shown)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table; its cells are Markdown, and columns of numbers are to the right.

    >>> print(table(["a", "b"], [["x", "1"]], numbers=[1]))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    rule = ["---:" if place in numbers else "---" for place in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def code(text: str, language: str = "") -> str:
    """Return a block of code, with a fence that the code does not have."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def bar(share: float, largest: float) -> str:
    """Return a bar of text, as long as the share is of the largest.

    >>> len(bar(0.5, 0.5)), len(bar(0.1, 0.5)), bar(0.0, 0.5)
    (20, 4, '')
    """
    return "\N{FULL BLOCK}" * round(BLOCKS * share / largest) if largest > 0 else ""


def number(value: float) -> str:
    """Return a number as short text.

    >>> number(1234567.0), number(0.123456), number(120.0), number(float("nan"))
    ('1,234,567', '0.1235', '120', 'not known')
    """
    if math.isnan(value):
        return "not known"
    if abs(value) < 1e15 and (value == round(value) or abs(value) >= 1e4):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.12345), percent(0.9)
    ('12.3 %', '90.0 %')
    """
    return "not known" if math.isnan(share) else f"{100 * share:.1f} %"

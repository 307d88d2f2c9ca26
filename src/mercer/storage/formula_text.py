"""Text that a spreadsheet would run as a formula, written so that it stays text.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break may be a formula, which
can open other programs or send away what is in the sheet. An apostrophe in front makes it text. The
apostrophe is removed exactly: ``unescaped(escaped(text)) == text`` for every text. Numbers stay as
they are. See the page "CSV Injection" of the OWASP Foundation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: The name of this way to write text, in records.
ESCAPE = "apostrophe"
#: Characters that begin a formula; spreadsheets take the wide forms of Japanese text as well.
FORMULA = "=+-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
FORMULA += "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
#: Numbers in any style, with a sign: they calculate nothing.
SIGNED_NUMBER = re.compile(
    r"[-+]\s?[$€£¥]?(\d[\d.,'\s\u00a0\u202f]*|[.,]\d+)([eE][-+]?\d+)?\s?[%$€£¥]?"
)


def escaped(text: str) -> str:
    """Return text with an apostrophe in front if it could be a formula.

    >>> escaped("=1+1"), escaped("-3.5"), escaped("red"), escaped("'=1")
    ("'=1+1", '-3.5', 'red', "''=1")
    """
    return "'" + text if _is_formula(text) else text


def unescaped(text: str) -> str:
    """Return the text that :func:`escaped` was given.

    >>> unescaped("'=1+1"), unescaped("'quoted'"), unescaped("''=1")
    ('=1+1', "'quoted'", "'=1")
    """
    return text[1:] if text[:1] == "'" and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    # Apostrophes that are there already are a part of the text, and get one more.
    body = text.lstrip("'")
    return body[:1] != "" and body[0] in FORMULA and not SIGNED_NUMBER.fullmatch(body)


def escaped_table(table: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return columns with their names and texts escaped, and how many cells were changed.

    >>> escaped_table({"id": ["a", "@b"], "-x": [-1, 2]})
    ({'id': ['a', "'@b"], "'-x": [-1, 2]}, 2)
    """
    found: dict[str, Any] = {}
    changed = 0
    for name, values in table.items():
        written = _escaped_column(values)
        if written is not values:
            changed += sum(a != b for a, b in zip(values, written, strict=True))
        changed += escaped(name) != name
        found[escaped(name)] = written
    return found, changed


def _escaped_column(values: Sequence[Any]) -> Sequence[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
        return values
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    written = [escaped(value) if isinstance(value, str) else value for value in plain]
    return written if written != plain else values

"""Text of files for a terminal: what would control the terminal is shown instead of obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

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

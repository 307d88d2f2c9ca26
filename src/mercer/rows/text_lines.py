"""Lines of text files that are too long to be lines, and bytes that are no text.

A file of another kind may have no line end at all, so that its first line is the whole file: lines
are read up to a limit.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO

BLOCK_BYTES = 2**20
VALUE_BYTES = 64  # bytes per value of a wide table
#: The longest first line: 32 bytes for each of a million columns.
FIRST_LINE = 2**25


class LongLineError(csv.Error):
    """A line is longer than ``limit`` characters."""

    def __init__(self, line: int, limit: int) -> None:
        super().__init__(line, limit)
        self.line, self.limit = line, limit

    def explained(self, path: Path, columns: int | None = None) -> str:
        """Return the message for a file."""
        beside = "" if columns is None else f" for {columns} columns"
        return (
            f"line {self.line} of {path} must have at most {self.limit:,} characters{beside}, but "
            f"is longer: the file may be binary, lack line ends or be in another format; check its "
            f"extension, or write it again with one row per line"
        )


def longest_line(columns: int) -> int:
    """Return the limit for a line of a table: the bytes of a block, in which it must fit.

    >>> longest_line(3), longest_line(200_000)
    (1048576, 12800000)
    """
    return max(BLOCK_BYTES, VALUE_BYTES * columns)


def bounded_lines(text: IO[str], limit: int) -> Iterator[str]:
    """Yield the lines of a text; raise LongLineError at one that is longer than ``limit``.

    >>> import io
    >>> list(bounded_lines(io.StringIO("a,b\\n1,2\\n"), 4))
    ['a,b\\n', '1,2\\n']
    """
    number = 0
    while line := text.readline(limit + 1):
        number += 1
        if len(line) > limit:
            raise LongLineError(number, limit)
        yield line


def nul_line(stream: IO[bytes]) -> int | None:
    """Return the line of the first NUL byte, None without one.

    >>> import io
    >>> nul_line(io.BytesIO(b"a,b\\n1,\\0\\n"))
    2
    """
    line = 1
    while data := stream.read(BLOCK_BYTES):
        at = data.find(b"\0")
        line += data.count(b"\n", 0, at if at >= 0 else len(data))
        if at >= 0:
            return line
    return None

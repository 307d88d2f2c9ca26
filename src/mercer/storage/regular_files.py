"""Refuse what has a path and is no file: pipes, sockets and devices, which may never end."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import BinaryIO

#: What a path may be instead of a file or a folder.
KINDS = (
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(path: Path) -> None:
    """Raise ValueError if a path is a pipe, a socket or a device; it may be missing, or a folder.

    >>> check_regular(Path("missing.csv"))
    >>> check_regular(Path("/dev/null"))  # doctest: +SKIP
    Traceback (most recent call last):
    ValueError: /dev/null must be a file, got a device: write what it gives to a file first
    """
    try:
        mode = path.stat().st_mode
    except OSError:  # who opens it says why
        return
    for is_kind, words in KINDS:
        if is_kind(mode):
            raise ValueError(
                f"{path} must be a file, got {words}: write what it gives to a file first"
            )


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; a pipe is refused instead of waited for."""
    check_regular(path)
    return path.open("rb")

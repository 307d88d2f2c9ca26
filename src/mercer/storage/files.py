"""Write files whole or not at all, and open nothing that has a path and is no file.

Pipes, sockets and devices may never end.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``, which replaces ``path`` on success.

    A reader never sees a partial file, and a failed write leaves the old file unchanged. The data
    are synced to disk before the file is replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "numbers.txt"
    ...     with atomic_path(target) as partial:
    ...         _ = partial.write_text("1 2 3")
    ...     target.read_text(), len(list(Path(folder).iterdir()))
    ('1 2 3', 1)
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: its folder {path.parent} does not exist; create it first"
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} cannot be written: it is a folder; name a file in it")
    check_regular(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.touch(exist_ok=False)
        mode = partial.stat().st_mode & 0o777
        yield partial
        # The writer may have created the file with other permissions.
        partial.chmod(mode)
        with partial.open("r+b") as file:  # Windows syncs only what is open for writing
            os.fsync(file.fileno())
        os.replace(partial, path)
        _sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Sync the folder to disk as well, where folders can be opened (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    # Some network file systems cannot sync a folder; the file itself is already on disk.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_together(writers: Mapping[Path, Callable[[Path], None]]) -> None:
    """Write several files together: no file is replaced before all are written."""
    with ExitStack() as stack:
        partial = {path: stack.enter_context(atomic_path(path)) for path in writers}
        for path, write in writers.items():
            write(partial[path])


def write_json(content: object, path: Path) -> None:
    """Write strict JSON: UTF-8, without NaN or infinity."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


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


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading; a pipe is refused instead of waited for."""
    check_regular(path)
    return path.open("rb")

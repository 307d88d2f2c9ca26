"""A journal of labels: a line for each, on disk before anybody is told that it is kept.

The file has one JSON object a line, the first of which says what it belongs to. A line is written
and synced before :meth:`LabelJournal.append` returns, so that a process that is killed loses no
label that it has confirmed. Its last line may be torn; it is dropped when the journal is opened.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from mercer.storage import check_regular

FORMAT, VERSION = "mercer labels", 1
#: The extension of a journal, which has the name of its sheet otherwise.
SUFFIX = ".journal"

Entry = dict[str, Any]


class LabelJournal:
    """A file of entries that is only appended to, by one process at a time.

    Parameters
    ----------
    path : Path
        The file; it is created if it does not exist.
    owner : dict
        What the entries belong to; a journal of another owner is refused.

    Attributes
    ----------
    entries : list of dict
        What was in the file when it was opened, without its first line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sheet.journal"
    ...     with LabelJournal(path, {"pool": "a"}) as journal:
    ...         journal.append({"id": "7", "label": "red"})
    ...     _ = path.open("a").write('{"id": "8", "la')  # the power went out
    ...     with LabelJournal(path, {"pool": "a"}) as journal:
    ...         journal.entries
    [{'id': '7', 'label': 'red'}]
    """

    def __init__(self, path: Path, owner: Mapping[str, Any]) -> None:
        check_regular(path)
        self.path = path
        self._file = path.open("a+b", buffering=0)
        try:
            _lock(self._file, path)
            self.entries = self._opened({"format": FORMAT, "version": VERSION, **owner})
        except BaseException:
            self._file.close()
            raise

    def _opened(self, head: Entry) -> list[Entry]:
        """Return the entries; drop a torn last line, and write the first one of a new file."""
        self._file.seek(0)
        content = self._file.read()
        entries, whole = read_entries(content, self.path)
        if whole < len(content):
            self._file.truncate(whole)
            os.fsync(self._file.fileno())
        if not entries:
            self.append(head)
            return []
        known = json.loads(json.dumps(head))
        if entries[0] != known:
            raise ValueError(
                f"{self.path} must be the journal of this sheet, but it belongs to other draws, or "
                f"was written by another version: move it away, or name another sheet"
            )
        return entries[1:]

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; it is on disk when this returns."""
        text = json.dumps(entry, allow_nan=False)
        start = self._file.seek(0, os.SEEK_END)
        try:
            line = text.encode("ascii") + b"\n"
            if self._file.write(line) != len(line):
                raise OSError(f"{self.path} could not be written: the disk may be full")
            os.fsync(self._file.fileno())
        except OSError:  # a full disk, say: half a line must not be in front of the next one
            self._file.truncate(start)
            raise

    def close(self) -> None:
        """Close the file, so that another process may open it."""
        self._file.close()

    def __enter__(self) -> LabelJournal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def discard(path: Path) -> None:
    """Remove a journal, unless somebody is writing to it."""
    if path.exists():
        check_regular(path)
        with path.open("a+b", buffering=0) as file:
            _lock(file, path)
        path.unlink()


def read_entries(content: bytes, path: Path) -> tuple[list[Entry], int]:
    """Return the entries of a journal, and how many bytes of it are whole.

    >>> read_entries(b'{"id": "1"}\\n{"id": "2', Path("a.journal"))
    ([{'id': '1'}], 12)
    """
    entries: list[Entry] = []
    whole = 0
    for line in content.splitlines(keepends=True):
        entry = _entry(line)
        if entry is None:
            if whole + len(line) < len(content):
                raise ValueError(
                    f"line {len(entries) + 1} of {path} must be a JSON object, and only the last "
                    f"one may be torn: restore the journal, or move it away to go on from the sheet"
                )
            break
        entries.append(entry)
        whole += len(line)
    return entries, whole


def _entry(line: bytes) -> Entry | None:
    """Return the object of a whole line, or None."""
    try:
        found = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lock(file: FileIO, path: Path) -> None:
    """Lock a file until it is closed, or its process has ended in any way."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 30)  # beyond the content, which stays readable
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ValueError(
            f"{path} is in use, so its sheet is being labelled already: go to that page, or stop "
            f"the process that serves it"
        ) from error

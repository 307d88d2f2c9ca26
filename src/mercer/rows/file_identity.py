"""The identity of the files of a source, so that all passes read the same rows.

A fit reads its rows several times. If a file is replaced in between, the sums of two passes belong
to different rows, which nothing in them reveals.
"""

from __future__ import annotations

import os
import socket
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HEAD_BYTES = 2**12  # column names of text files, headers of arrays
TAIL_BYTES = 2**16  # the footer of a Parquet file, the directory of an archive
#: Nanoseconds within which two changes of a file may have the same modification time.
SAME_TICK = 2 * 10**9
ADVICE = "leave the files alone until the fit is done, then open them again and fit again"


@dataclass(frozen=True)
class FileIdentity:
    """``(size, modification time, inode)`` of a file, and a checksum of its beginning and end.

    The checksum is compared where the others do not tell: on another machine, whose copy of a file
    has another inode and time, and if the file was modified just before it was opened, within the
    resolution of modification times.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv")
    ...     _ = path.write_text("a,b\\n1,2\\n")
    ...     found = FileIdentity.of(path)
    ...     same = found.change()
    ...     _ = path.write_text("b,a\\n1,23\\n")
    ...     same, found.change()
    ('', 'its size was 8 bytes and is 9')
    """

    path: Path
    size: int
    modified: int  # nanoseconds
    inode: int
    checksum: int
    host: str
    recent: bool  # whether it was modified just before

    @classmethod
    def of(cls, path: Path) -> FileIdentity:
        """Return the identity of a file as it is now."""
        found = path.stat()
        return cls(
            path,
            found.st_size,
            found.st_mtime_ns,
            found.st_ino,
            _checksum(path, found.st_size),
            socket.gethostname(),
            abs(time.time_ns() - found.st_mtime_ns) < SAME_TICK,
        )

    def change(self) -> str:
        """Return what changed, in words, or an empty string."""
        try:
            now = self.path.stat()
            if now.st_size != self.size:
                return f"its size was {self.size} bytes and is {now.st_size}"
            here = socket.gethostname() == self.host
            if here and now.st_ino != self.inode:
                return "another file of the same size replaced it"
            if here and now.st_mtime_ns != self.modified:
                seconds = (now.st_mtime_ns - self.modified) / 1e9
                return f"it was modified again ({seconds:+.3g} s)"
            if (self.recent or not here) and _checksum(self.path, now.st_size) != self.checksum:
                return "its content is another, at the same size"
        except FileNotFoundError:
            return "it was removed"
        except OSError as error:
            return f"it can no longer be read ({error.strerror or error})"
        return ""


@dataclass(frozen=True)
class FileSet:
    """The identities of all files of a source, and the folder that they are all ``.parquet`` of.

    It is pickled with a source, so that workers compare with the files that the source was opened
    on.
    """

    files: tuple[FileIdentity, ...]
    folder: Path | None = None

    @classmethod
    def of(cls, paths: Iterable[Path | None], folder: Path | None = None) -> FileSet:
        """Return the identities of the files that are given."""
        return cls(tuple(FileIdentity.of(path) for path in paths if path is not None), folder)

    @property
    def contents(self) -> list[tuple[str, int, int, int]]:
        """The name, size, modification time and checksum of each file."""
        return [(str(f.path), f.size, f.modified, f.checksum) for f in self.files]

    def check(self) -> None:
        """Raise ValueError, naming the file and what changed, unless all are as they were."""
        if self.folder is not None:
            self._check_folder(self.folder)
        for file in self.files:
            change = file.change()
            if change:
                raise ValueError(
                    f"{file.path} must not change while it is read, from opening to the last pass, "
                    f"but it has since it was opened: {change}; {ADVICE}"
                )

    def _check_folder(self, folder: Path) -> None:
        known, now = {file.path for file in self.files}, set(parquet_files(folder))
        for verb, changed in (("added", now - known), ("removed", known - now)):
            if changed:
                first = min(changed)
                more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
                raise ValueError(
                    f"{folder} must not change while it is read, from opening to the last pass, "
                    f"but {first.name}{more} was {verb} since it was opened; {ADVICE}"
                )

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check before and after a pass; a change explains an error better than its message."""
        self.check()
        try:
            yield
        except (ValueError, OSError, EOFError) as error:
            try:
                self.check()
            except ValueError as changed:
                raise changed from error
            raise
        self.check()


#: For a source that compares nothing.
NO_FILES = FileSet(())


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder, sorted by name."""
    return sorted(folder.glob("*.parquet"))


def _checksum(path: Path, size: int) -> int:
    """Return a checksum of the beginning and the end of a file."""
    with path.open("rb") as stream:
        found = zlib.crc32(stream.read(HEAD_BYTES))
        stream.seek(max(0, size - TAIL_BYTES), os.SEEK_SET)
        return zlib.crc32(stream.read(TAIL_BYTES), found)

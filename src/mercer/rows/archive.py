"""Arrays in a ``.npz`` archive, read a few rows at a time and never as a whole.

``np.load`` loads whole arrays of an archive. Here the header of a member is parsed with NumPy's own
reader, and the values are read as they are decompressed.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from mercer.contracts import Array

READ_BYTES = 2**20  # zipfile copies what one read returns, so short reads save memory


@dataclass(frozen=True)
class Header:
    """The header of a ``.npy`` member."""

    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @classmethod
    def read(cls, archive: zipfile.ZipFile, key: str) -> Header:
        """Read the header of a member."""
        with archive.open(key + ".npy") as stream:
            return cls.consume(stream, f"{key!r} in {archive.filename}")

    @classmethod
    def consume(cls, stream: IO[bytes], label: str) -> Header:
        """Read the header and leave the stream at the first value."""
        try:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            header = cls(*read(stream))
        except ValueError as error:
            raise ValueError(f"{label} is not a NumPy array: {error}; save it again") from error
        if header.dtype.hasobject:
            raise ValueError(
                f"{label} must contain numbers or text of fixed width, got Python objects, which "
                f"would need pickle: save it with .astype(float) or .astype(str)"
            )
        return header


def member_rows(
    archive: zipfile.ZipFile, key: str, start: int, stop: int, rows: int
) -> Iterator[Array]:
    """Yield rows ``start`` to ``stop`` of a member, ``rows`` at a time."""
    with archive.open(key + ".npy") as stream:
        header = Header.consume(stream, f"{key!r} in {archive.filename}")
        if header.by_column:
            with archive.open(key + ".npy") as again:
                whole = npy.read_array(again, allow_pickle=False)
            yield from (whole[at : min(at + rows, stop)] for at in range(start, stop, rows))
            return
        row_bytes = header.nbytes // header.shape[0]
        stream.seek(start * row_bytes, os.SEEK_CUR)
        for at in range(start, stop, rows):
            count = min(rows, stop - at)
            raw = np.empty(count * row_bytes, dtype=np.uint8)
            for low in range(0, raw.size, READ_BYTES):
                _fill(stream, raw.data[low : low + READ_BYTES])
            yield raw.view(header.dtype).reshape(count, *header.shape[1:])
        # zipfile verifies the checksum only when the end is read.
        if stop == header.shape[0] and stream.read(1):
            raise zipfile.BadZipFile(f"{key!r} is longer than its shape {header.shape}")


def _fill(stream: IO[bytes], view: memoryview) -> None:
    """Fill ``view`` from the stream, which may return less than requested."""
    at = 0
    while at < len(view):
        data = stream.read(len(view) - at)
        if not data:
            raise EOFError("the data ends before the last row")
        view[at : at + len(data)] = data
        at += len(data)


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; errors name it."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as .npz: {error}; it may be damaged or truncated, so save it "
            f"again with np.savez"
        ) from error

"""Arrays inside a ``.npz`` archive, read a few rows at a time and never whole.

``np.load`` gives an array of an archive whole; here the head of the member is parsed with NumPy's
own reader and the values are then read as they come out of the decompressor.
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

READ_BYTES = 2**20  # zipfile joins what one read returns, so short reads keep its copies small


@dataclass(frozen=True)
class Header:
    """What the head of a ``.npy`` member says."""

    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @classmethod
    def read(cls, archive: zipfile.ZipFile, key: str) -> Header:
        """Read the head of a member and close it again."""
        with archive.open(key + ".npy") as stream:
            return cls.consume(stream, f"{key!r} in {archive.filename}")

    @classmethod
    def consume(cls, stream: IO[bytes], label: str) -> Header:
        """Read the head; the stream then stands at the first value."""
        try:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            header = cls(*read(stream))
        except ValueError as error:
            raise ValueError(f"{label} is not a NumPy array: {error}; save it anew") from error
        if header.dtype.hasobject:
            raise ValueError(
                f"{label} must hold numbers or text of fixed width, got Python objects, which "
                f"only pickle could read: save it with .astype(float) or .astype(str)"
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
        # Only a read that meets the end makes zipfile compare the checksum.
        if stop == header.shape[0] and stream.read(1):
            raise zipfile.BadZipFile(f"{key!r} is longer than its shape {header.shape} says")


def _fill(stream: IO[bytes], view: memoryview) -> None:
    """Fill ``view`` from the stream, which may give less than it is asked for at a time."""
    at = 0
    while at < len(view):
        data = stream.read(len(view) - at)
        if not data:
            raise EOFError("the data ends before the last row")
        view[at : at + len(data)] = data
        at += len(data)


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive and name it in whatever goes wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as .npz: {error}; it may be damaged or cut short, so save it "
            f"anew with np.savez"
        ) from error

"""Rows of NumPy files: ``.npy`` (memory-mapped) and ``.npz``, a few rows at a time.

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

from mercer.contracts import Array, Rows
from mercer.rows.checks import (
    check_file,
    check_indices,
    check_labels,
    check_matrix,
    check_query_shape,
    check_weight_shape,
    float_dtype,
)
from mercer.rows.chunks import Piece
from mercer.rows.file_identity import FileSet
from mercer.rows.file_source import FileSource
from mercer.validation import closest


class NpySource(FileSource):
    """Rows of a memory-mapped ``.npy`` file: only what is used is read.

    Parameters
    ----------
    path : str or path
        A 2-D numeric array; objects are not supported, since they would need pickle.
    y_path : str or path, or None
        Another ``.npy`` file with the targets, of shape (n,) or (n, k).
    """

    def __init__(
        self, path: str | os.PathLike[str], y_path: str | os.PathLike[str] | None = None
    ) -> None:
        self.path = check_file(path)
        self.y_path = None if y_path is None else check_file(y_path)
        files = FileSet.of([self.path, self.y_path])
        X = _mapped(self.path)
        check_matrix(X.shape, X.dtype, str(self.path))
        if self.y_path is not None:
            check_labels(_mapped(self.y_path).shape, X.shape[0], str(self.y_path))
        super().__init__(
            str(self.path),
            files=files,
            n_rows=X.shape[0],
            n_features=X.shape[1],
            dtype=float_dtype(X.dtype),
            has_target=y_path is not None,
        )

    @property
    def resident_bytes(self) -> int:
        """Zero: the system drops mapped pages when it needs the memory."""
        return 0

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``, reading only those."""
        wanted = check_indices(indices, self.n_rows) + self._start
        with self.files.unchanged():
            return np.ascontiguousarray(_mapped(self.path)[wanted], dtype=self._dtype)

    def _pieces(
        self, start: int, stop: int, rows: int, *, features: bool = True, labels: bool = True
    ) -> Iterator[Piece]:
        X = _mapped(self.path) if features else None
        y = _mapped(self.y_path) if labels and self.y_path is not None else None
        for at in range(start, stop, rows):
            end = min(at + rows, stop)
            self.files.check()  # a page beyond the end of a file that shrank ends the process
            yield Piece(
                None if X is None else np.ascontiguousarray(X[at:end], dtype=self._dtype),
                None if y is None else np.asarray(y[at:end]),
                None,
            )

    def _boundaries(self) -> Array:
        # Reading can start at any row, so no particular cuts are preferred.
        return np.array([0, self._start + self.n_rows])


class NpzSource(FileSource):
    """Rows of a ``.npz`` archive, stored or compressed, read block by block.

    Arrays in Fortran order are the exception: the values of a row are spread over the whole array,
    so it is loaded completely on every read. Save ``np.ascontiguousarray(X)`` to stream it. Every
    read starts at the first row, since compressed data allow no random access.

    Parameters
    ----------
    path : str or path
        The archive.
    X, y, weight, query : str or None
        Names of its arrays. ``y="y"`` may be missing, which means no target; arrays named None are
        not read. ``query`` contains the query of each row, numbers or text.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        X: str = "X",
        y: str | None = "y",
        weight: str | None = None,
        query: str | None = None,
    ) -> None:
        self.path = check_file(path)
        files = FileSet.of([self.path])
        with open_archive(self.path) as archive:
            keys = [name[:-4] for name in archive.namelist() if name.endswith(".npy")]
            self._y = None if y == "y" and "y" not in keys else y
            self._X, self._weight, self._query = X, weight, query
            wanted = [key for key in (X, self._y, weight, query) if key is not None]
            for key in wanted:
                if key not in keys:
                    raise ValueError(f"{self.path} has no array {key!r}{closest(key, keys)}")
            headers = {key: Header.read(archive, key) for key in wanted}
        shape, dtype = headers[X].shape, headers[X].dtype
        check_matrix(shape, dtype, f"{X!r} in {self.path}")
        if self._y is not None:
            check_labels(headers[self._y].shape, shape[0], f"{y!r} in {self.path}")
        if weight is not None:
            check_weight_shape(headers[weight].shape, shape[0], f"{weight!r} in {self.path}")
        if query is not None:
            if query in (X, self._y, weight):
                raise ValueError(
                    f"query must be a separate array, got {query!r}, which is also X, y or weight"
                )
            check_query_shape(headers[query].shape, shape[0], f"{query!r} in {self.path}")
            if headers[query].dtype.kind not in "biufUS":
                raise ValueError(
                    f"{query!r} in {self.path} must contain numbers or text, got dtype "
                    f"{headers[query].dtype}: convert it, or name another array"
                )
        self._total = shape[0]
        self._whole = sum(header.nbytes for header in headers.values() if header.by_column)
        super().__init__(
            str(self.path),
            files=files,
            n_rows=shape[0],
            n_features=shape[1],
            dtype=float_dtype(dtype),
            has_target=self._y is not None,
            has_query=query is not None,
        )

    @property
    def resident_bytes(self) -> int:
        """Bytes of arrays in Fortran order, the only ones loaded as a whole."""
        return self._whole

    def _pieces(
        self, start: int, stop: int, rows: int, *, features: bool = True, labels: bool = True
    ) -> Iterator[Piece]:
        others = (self._y, self._weight, self._query) if labels else ()
        keys = [key for key in (self._X if features else None, *others) if key is not None]
        with open_archive(self.path) as archive:
            streams = {key: member_rows(archive, key, start, stop, rows) for key in keys}
            for arrays in zip(*streams.values(), strict=True):
                part = dict(zip(streams, arrays, strict=True))
                X = part.get(self._X)
                y, weight, query = (
                    part.get(key or "") for key in (self._y, self._weight, self._query)
                )
                yield Piece(
                    None if X is None else np.ascontiguousarray(X, dtype=self._dtype),
                    y,
                    None if weight is None else weight.astype(np.float64, copy=False),
                    query,
                )

    def _boundaries(self) -> Array:
        return np.array([0, self._total])


def _mapped(path: Path) -> Array:
    """Map a ``.npy`` file into memory."""
    try:
        return npy.open_memmap(path, mode="r")
    except (ValueError, EOFError, OSError) as error:
        message = str(error).rstrip(".")
        raise ValueError(
            f"{path} cannot be read as .npy: {message}; it must be a complete array of numbers "
            f"or text, so save it again with np.save"
        ) from error


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

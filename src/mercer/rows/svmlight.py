"""Rows of svmlight and LETOR files, the usual format of ranking data, read in chunks.

A line is ``label qid:query index:value index:value ... # comment``; ``qid`` and features that are 0
are optional.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from mercer.contracts import Array
from mercer.rows.checks import check_file
from mercer.rows.chunks import Piece
from mercer.rows.file_identity import FileSet
from mercer.rows.file_source import PIECE_BYTES, FileSource
from mercer.rows.svmlight_lines import content, fault_of, has_qid
from mercer.rows.text_lines import LongLineError
from mercer.validation import check_count

CHUNK_BYTES = 2**23
LONGEST_LINE = 2**24  # bytes: 16 for each of a million features
CHUNK_ROWS = 2**13  # scikit-learn's reader is quadratic in the number of rows with qid
PARSED = 5  # the most bytes of memory per byte of text measured while parsing


class SvmlightSource(FileSource):
    """Rows of a file with lines ``label qid:query index:value ...``, as in LETOR data sets.

    Opening it reads the whole file once, to find lines that cannot be read, the number of features
    and the start of chunks of a few megabytes; random rows and parts then read only the chunks they
    touch. Rows are dense, in float64, as is usual for ranking data. Load a file with many thousand
    features, mostly 0, with scikit-learn's ``load_svmlight_file`` instead; fit accepts its sparse
    rows. The label is the target, and ``qid``, which must be on all lines or on none, is the query.

    Parameters
    ----------
    path : str or path
        The file. Blank lines and comments after ``#`` are ignored.
    n_features : int or None
        The number of features, which may be more than in the file: a test file may lack the last
        ones. None means the largest index in the file.
    zero_based : bool or "auto"
        Whether the first feature has the index 0 or 1; "auto" means 1 unless an index 0 occurs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.svm")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1 # the best\\n0 qid:7 2:4\\n")
    ...     block = next(SvmlightSource(path).blocks(10))
    >>> block.X.tolist(), block.y.tolist(), block.query.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]], [2.0, 0.0], [7, 7])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        n_features: int | None = None,
        zero_based: bool | str = "auto",
    ) -> None:
        self.path = check_file(path)
        files = FileSet.of([self.path])
        if not isinstance(zero_based, (bool, np.bool_)) and zero_based != "auto":
            raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
        wanted = None if n_features is None else check_count(n_features, "n_features")
        found = _indexed(self.path, first=0 if zero_based == "auto" or zero_based else 1)
        self.zero_based = found.least == 0 if zero_based == "auto" else bool(zero_based)
        held = 0 if found.largest is None else found.largest + self.zero_based
        if wanted is not None and wanted < held:
            raise ValueError(
                f"n_features must be at least the {held} features of {self.path}, got {wanted}: "
                f"use a larger number, or omit it"
            )
        self._offsets, self._bounds = found.offsets, found.bounds
        super().__init__(
            str(self.path),
            files=files,
            n_rows=int(found.bounds[-1]),
            n_features=held if wanted is None else wanted,
            dtype=np.dtype(np.float64),
            has_target=True,
            has_query=found.has_query,
        )
        if not self.n_features:
            raise ValueError(
                f"{self.path} must contain at least one feature, got only labels: set n_features= "
                f"if all features are 0"
            )

    @property
    def resident_bytes(self) -> int:
        """Bytes of a chunk while it is parsed, and of its rows copied into a block."""
        return PARSED * int(np.diff(self._offsets).max()) + PIECE_BYTES

    def _pieces(
        self, start: int, stop: int, rows: int, *, features: bool = True, labels: bool = True
    ) -> Iterator[Piece]:
        first = int(np.searchsorted(self._bounds, start, side="right")) - 1
        last = int(np.searchsorted(self._bounds, stop, side="left"))
        step = min(self._piece_rows(), max(rows, 256))
        with self.path.open("rb") as stream:
            for chunk in range(first, last):
                at, end = (int(bound) for bound in self._bounds[chunk : chunk + 2])
                X, y, query = self._chunk(stream, chunk, features=features)
                for low in range(max(start, at), min(stop, end), step):
                    part = slice(low - at, min(low + step, stop, end) - at)
                    yield Piece(
                        None if X is None else X[part].toarray(),
                        y[part] if labels else None,
                        None,
                        query[part] if labels and self.has_query else None,
                    )

    def _boundaries(self) -> Array:
        return self._bounds

    def _chunk(
        self, stream: IO[bytes], chunk: int, *, features: bool
    ) -> tuple[Any | None, Array, Array]:
        """Read a chunk: its labels and queries, and its features as sparse rows if requested."""
        begin, end = (int(offset) for offset in self._offsets[chunk : chunk + 2])
        stream.seek(begin)
        data = stream.read(end - begin)
        rows = int(self._bounds[chunk + 1] - self._bounds[chunk])
        try:
            if features:
                X, y, query = _parsed(data, self.zero_based, self.n_features)
            else:
                X, (y, query) = None, _labels(data)
        except (ValueError, OverflowError) as error:
            raise ValueError(self._changed()) from error
        if len(y) != rows or len(query) != rows * self.has_query:
            raise ValueError(self._changed())
        return X, y, query

    def _changed(self) -> str:
        return f"{self.path} must not change while it is read, but it has: open it again"


class _Index(NamedTuple):
    """The start of chunks, in bytes and in rows, and properties shared by all lines."""

    offsets: Array
    bounds: Array
    least: int | None
    largest: int | None
    has_query: bool


def _indexed(path: Path, first: int) -> _Index:
    """Read a whole file; raise ValueError for invalid lines. Indices start at ``first``."""
    offsets, counts, extremes = [0], [0], []
    position, line, query = 0, 1, None
    for lines in _chunks(path):
        data = b"".join(lines)
        try:
            X, y, qid = _parsed(data, zero_based=not first)
        except (ValueError, OverflowError) as error:
            raise ValueError(_broken(path, lines, line, first, str(error))) from error
        position += len(data)
        if len(y):
            if query is None:
                query = has_qid(next(text for text in map(content, lines) if text))
            if len(qid) != len(y) * query:
                raise ValueError(_uneven(path, lines, line, query))
            offsets.append(position)
            counts.append(len(y))
            if X.nnz:
                extremes += [int(X.indices.min()) + first, int(X.indices.max()) + first]
        line += len(lines)
    return _Index(
        np.array(offsets, dtype=np.int64),
        np.cumsum(counts, dtype=np.int64),
        min(extremes, default=None),
        max(extremes, default=None),
        bool(query),
    )


def _chunks(path: Path) -> Iterator[list[bytes]]:
    """Yield the lines of a file, one chunk at a time."""
    done = 0
    with path.open("rb") as stream:
        while data := stream.read(CHUNK_BYTES):
            rest = b"" if data.endswith(b"\n") else stream.readline(LONGEST_LINE)
            if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                raise ValueError(
                    LongLineError(done + data.count(b"\n") + 1, LONGEST_LINE).explained(path)
                )
            lines = io.BytesIO(data + rest).readlines()
            done += len(lines)
            for low in range(0, len(lines), CHUNK_ROWS):
                yield lines[low : low + CHUNK_ROWS]


def _parsed(
    data: bytes, zero_based: bool, n_features: int | None = None
) -> tuple[Any, Array, Array]:
    """Return the features of lines as sparse rows, their labels and their queries."""
    from sklearn.datasets import load_svmlight_file  # takes 0.2 s, only needed here

    X, y, query = load_svmlight_file(
        io.BytesIO(data), n_features=n_features, zero_based=zero_based, query_id=True
    )
    return X, y, query


def _labels(data: bytes) -> tuple[Array, Array]:
    """Return the labels and queries of lines without parsing their features.

    >>> _labels(b"2 qid:7 1:0.5\\n\\n0 qid:8 # none\\n")
    (array([2., 0.]), array([7, 8]))
    """
    heads = [text.split(None, 2)[:2] for text in map(content, data.split(b"\n")) if text]
    queries = [int(head[1].partition(b":")[2]) for head in heads if has_qid(b" ".join(head))]
    return np.array([float(head[0]) for head in heads]), np.array(queries, dtype=np.int64)


def _broken(path: Path, lines: Sequence[bytes], line: int, first: int, message: str) -> str:
    """Return the message for the first invalid line; ``line`` is the number of the first one."""
    for number, text in enumerate(map(content, lines), line):
        fault = fault_of(text, first) if text else ""
        if fault:
            return f"line {number} of {path} cannot be read as svmlight: {fault}; fix that line"
    last = line + len(lines) - 1
    return f"lines {line} to {last} of {path} cannot be read as svmlight: {message}; fix them"


def _uneven(path: Path, lines: Sequence[bytes], line: int, query: bool) -> str:
    """Return the message for the first line whose qid is missing or unexpected."""
    texts = enumerate(map(content, lines), line)
    number = next(number for number, text in texts if text and has_qid(text) != query)
    return (
        f"{path} must have a qid on all lines or on none, but line {number} has "
        f"{'none' if query else 'one'}, unlike those before: fix that line"
    )

"""The base class of file sources: blocks, random rows and parts from one reading method."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.checks import check_indices, check_query, check_rows
from mercer.rows.chunks import Piece, even_cuts, rechunk
from mercer.rows.file_identity import NO_FILES, FileSet
from mercer.rows.table import GAP_WORDS, Table
from mercer.validation import check_count

UNEVEN = 1.5  # largest ratio of a part to its even share when cuts move to boundaries
PIECE_BYTES = 2**23  # small enough for the cache, large enough for a low overhead


class FileSource(ABC):
    """Rows ``start`` to ``start + n_rows`` of files, read every time; it is pickled by path.

    A subclass defines how to read a range of rows (``_pieces``) and where reading can start without
    reading the rows before (``_boundaries``). ``files``, taken before anything is read, is what the
    files must be in every pass. A ``raw`` source yields tables, with columns of any
    kind, instead of arrays.
    """

    n_rows: int
    n_features: int
    feature_names: list[str] | None
    has_target: bool
    has_query: bool
    raw = False
    #: Text of a target that is no label: of classes, any word may be one.
    no_label: frozenset[str] = frozenset({""})
    roles: tuple[str, ...] = ()  # the names of y, weights and queries

    def __init__(
        self,
        label: str,
        *,
        n_rows: int,
        n_features: int,
        dtype: np.dtype[Any],
        has_target: bool,
        has_query: bool = False,
        feature_names: list[str] | None = None,
        files: FileSet = NO_FILES,
    ) -> None:
        check_rows(n_rows, label)
        files.check()
        self.label = label
        self.files = files
        self.n_rows = n_rows
        self.n_features = n_features
        self.has_target = has_target
        self.has_query = has_query
        self.feature_names = feature_names
        self._dtype = dtype
        self._start = 0

    def __dask_tokenize__(self) -> object:
        """Return what decides the rows; not when and on which machine the files were opened."""
        return type(self).__name__, {**self.__dict__, "files": self.files.contents}

    @abstractmethod
    def _pieces(
        self, start: int, stop: int, rows: int, *, features: bool = True, labels: bool = True
    ) -> Iterator[Piece]:
        """Yield rows ``start`` to ``stop`` of the files, preferably at most ``rows`` at a time.

        ``features`` is whether to read X; ``labels``, whether to read y, weights and queries.
        """

    @abstractmethod
    def _boundaries(self) -> Array:
        """Return the rows at which reading can start, from 0 to the number of rows of the files."""

    @property
    @abstractmethod
    def resident_bytes(self) -> int:
        """Bytes that the source holds in memory while it is read, besides the yielded blocks."""

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, ``rows`` at a time; ``start`` counts from 0 in every source."""
        start = 0
        for piece in self._blocks_of(rows, features=True):
            yield RowBlock(start, piece.X, piece.y, piece.weight, piece.query)
            start += piece.n_rows

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y, ``rows`` at a time, without reading X."""
        if not self.has_target:
            raise ValueError(
                f"the rows of {self.label} must have targets, but it was opened without any: "
                f"name the target"
            )
        for piece in self._blocks_of(rows, features=False):
            if piece.y is not None:
                yield piece.y

    def queries(self, rows: int) -> Iterator[tuple[Array, Array | None]]:
        """Yield queries and weights (None without weights), ``rows`` at a time, without X."""
        if not self.has_query:
            raise ValueError(
                f"the rows of {self.label} must have queries, but it was opened without any: "
                f"name them with query="
            )
        for piece in self._blocks_of(rows, features=False):
            if piece.query is not None:
                yield piece.query, piece.weight

    def weights(self, rows: int) -> Iterator[Array | None]:
        """Yield weights, None without weights, ``rows`` at a time, without X."""
        for piece in self._counted(self._start, self._start + self.n_rows, rows, features=False):
            yield piece.weight

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in their order, in one pass over the files."""
        wanted = check_indices(indices, self.n_rows)
        with self.files.unchanged():
            return self._taken(wanted)

    def _taken(self, wanted: Array) -> Rows:
        order = np.argsort(wanted, kind="stable")
        ordered = wanted[order] + self._start
        tables: list[Table] = []
        out = np.empty((0 if self.raw else len(wanted), self.n_features), dtype=self._dtype)
        for first, last in self._runs(ordered):
            at = int(ordered[first])
            for piece in self._counted(
                at, int(ordered[last - 1]) + 1, self._piece_rows(), labels=False
            ):
                end = at + piece.n_rows
                low, high = first + np.searchsorted(ordered[first:last], [at, end])
                if self.raw:
                    tables.append(piece.X[ordered[low:high] - at])
                else:
                    out[order[low:high]] = piece.X[ordered[low:high] - at]
                at = end
        return Table.joined(tables)[np.argsort(order)] if self.raw else out

    def as_numbers(self) -> FileSource:
        """Return a raw source that yields numbers; all of its columns must be numeric."""
        found = copy.copy(self)
        found.raw = False
        return found

    def with_number_labels(self) -> FileSource:
        """Return a source whose target is numbers: where they are text, "NA" is no label."""
        found = copy.copy(self)
        found.no_label = GAP_WORDS
        return found

    def split(self, parts: int) -> list[RowSource]:
        """Split into ``parts`` sources of consecutive rows; some are empty if there are fewer rows.

        The cuts are where reading can start, or at any row if that would be too uneven.
        """
        cuts = [self._start + cut for cut in even_cuts(self.n_rows, check_count(parts, "parts"))]
        return [self._part(low, high) for low, high in pairwise(self._snapped(cuts))]

    def _snapped(self, cuts: list[int]) -> list[int]:
        """Move the inner cuts to boundaries, unless they are too few or parts too uneven."""
        bounds = np.unique(self._boundaries())
        bounds = bounds[(bounds > cuts[0]) & (bounds < cuts[-1])]
        spare = len(bounds) - len(cuts[1:-1])
        if spare < 0:
            return cuts
        snapped = cuts[:1]
        for index, cut in enumerate(cuts[1:-1]):
            # Each remaining cut needs a boundary, so leave enough of them.
            free = bounds[: spare + index + 1]
            free = free[free > snapped[-1]]
            snapped.append(int(free[np.abs(free - cut).argmin()]))
        snapped.append(cuts[-1])
        largest = max(high - low for low, high in pairwise(snapped))
        return snapped if largest <= UNEVEN * self.n_rows / (len(cuts) - 1) else cuts

    def _part(self, start: int, stop: int) -> FileSource:
        """Return rows ``start`` to ``stop`` of the files as a source."""
        part = copy.copy(self)
        part._start, part.n_rows = start, stop - start
        return part

    def _piece_rows(self) -> int:
        """Return the number of rows in a piece of ``PIECE_BYTES``."""
        return max(1, PIECE_BYTES // (self.n_features * self._dtype.itemsize))

    def _blocks_of(self, rows: int, *, features: bool) -> Iterator[Piece]:
        """Yield all rows of this source in pieces of exactly ``rows`` rows, except for the last."""
        # A block is filled in place, so one larger than the source would waste memory.
        rows = min(check_count(rows, "rows"), max(1, self.n_rows))
        stop = self._start + self.n_rows
        with self.files.unchanged():
            yield from rechunk(self._counted(self._start, stop, rows, features=features), rows)

    def _counted(self, start: int, stop: int, rows: int, **what: bool) -> Iterator[Piece]:
        """Yield the pieces of a range; raise ValueError for missing queries or a truncated file."""
        if start == stop:
            return
        count = 0
        for piece in self._pieces(start, stop, rows, **what):
            if piece.query is not None:
                check_query(piece.query, f"the queries of {self.label}", start=start + count)
            count += piece.n_rows
            yield piece
        if count != stop - start:
            raise ValueError(
                f"{self.label} must not change while it is read: rows {start} to {stop} were "
                f"requested, got {count} of them; open it again"
            )

    def _runs(self, ordered: Array) -> list[tuple[int, int]]:
        """Cut sorted row numbers where whole units between two boundaries can be skipped."""
        runs: list[tuple[int, int]] = []
        adjacent = False
        for first, last in pairwise(np.searchsorted(ordered, self._boundaries()).tolist()):
            if first < last:
                # Neighbors are read together, so that a file is not opened once per unit.
                runs.append((runs.pop()[0] if adjacent else first, last))
            adjacent = first < last
        return runs

"""Shards: how rows are split, and the facts about each shard."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array, Progress, Rows, RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.given_arrays import is_sparse
from mercer.validation import MemoryLimitError, check_same_length

#: Errors whose message may be completed.
_PLAIN = (ValueError, MemoryLimitError)


class ShardMethods:
    """Methods of shards, besides access to rows."""

    number: int
    name: str
    source: RowSource
    progress: Progress | None = None
    origin: Array | None = None

    def row_numbers(self, places: Mapping[int, slice]) -> Array | range:
        """Return the numbers of the rows among all; ``places`` are those of the shards."""
        place = places[self.number]
        return range(place.start, place.stop) if self.origin is None else self.origin

    def report(self, stage: str, done: int) -> None:
        """Report the number of rows finished in a stage."""
        if self.progress is not None:
            self.progress(stage, done, self.source.n_rows)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Add the name of the shard to errors about its rows."""
        try:
            yield
        except ValueError as error:
            if type(error) not in _PLAIN or not self.name:
                raise
            raise type(error)(f"{self.name}: {error}") from error


@dataclass(frozen=True)
class Shard(ShardMethods):
    """A part of the rows, with a number, and a name for messages.

    The single shard of rows in one place has no name, and a progress bar. ``origin`` holds the
    numbers of its rows among all, if they are not consecutive.
    """

    number: int
    name: str
    source: RowSource
    progress: Progress | None = None
    origin: Array | None = None


@dataclass(frozen=True)
class ShardFacts:
    """What the driver knows about a shard; ``targets`` is a summary of y."""

    rows: int
    features: int
    names: list[str] | None
    has_target: bool
    targets: Any
    look: Any = None
    values: float = np.inf  # of a row on average, where most values are 0 and are not stored

    @classmethod
    def of(cls, source: RowSource, targets: object, look: object) -> ShardFacts:
        """Return the facts about the rows of a source."""
        X: Any = source.rows if isinstance(source, ArraySource) else None
        return cls(
            source.n_rows,
            source.n_features,
            source.feature_names,
            source.has_target,
            targets,
            look,
            X.nnz / source.n_rows if is_sparse(X) and source.n_rows else np.inf,
        )


def cut(source: RowSource, shards: int, rng: np.random.Generator | None = None) -> list[Shard]:
    """Split a source into shards of nearly equal size: consecutive rows, or random for arrays.

    Files are split where reading can start; ``rng`` is only for arrays. Queries of arrays are not
    split.
    """
    if isinstance(source, ArraySource) and source.has_query:
        return cut_by_label(source, dealt_queries(_queries_of(source), shards, rng), shards)
    if rng is not None and isinstance(source, ArraySource):
        labels = np.arange(source.n_rows) % shards
        rng.shuffle(labels)
        return cut_by_label(source, labels, shards)
    parts = source.split(shards)
    label = getattr(source, "label", "the rows")
    found, start = [], 0
    for number, part in enumerate(parts):
        stop = start + part.n_rows
        found.append(Shard(number, f"shard {number} (rows {start} to {stop} of {label})", part))
        start = stop
    return found


def cut_by_label(source: ArraySource, labels: ArrayLike, shards: int | None = None) -> list[Shard]:
    """Split an array by a label for every row: one shard per label, in label order.

    Rows of a query are consecutive within a shard.
    """
    labels = np.asarray(labels)
    check_same_length(source.n_rows, labels, "shard_labels")
    if labels.ndim != 1:
        raise ValueError(
            f"shard_labels must be one label per row, got an array of shape {labels.shape}"
        )
    if shards is not None:
        codes, names = labels, list(range(shards))
    else:
        found, codes = np.unique(labels, return_inverse=True)
        names = found.tolist()
    order = np.argsort(codes, kind="stable")
    if source.has_query:
        order = np.lexsort((_queries_of(source), codes))
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
    parts = [order[ends[number] : ends[number + 1]] for number in range(len(names))]
    return [
        Shard(number, f"shard {name}", source.at(parts[number]), origin=parts[number])
        for number, name in enumerate(names)
    ]


def dealt_queries(codes: Array, shards: int, rng: np.random.Generator | None) -> Array:
    """Return a shard for every row, with whole queries and shards of similar size.

    The longest queries are assigned first, each to the shard with the fewest rows; without a
    generator, shards are consecutive queries.

    >>> dealt_queries(np.array([0, 0, 0, 1, 2, 2]), 2, None).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    count = np.bincount(codes)
    if rng is None:
        middle = np.cumsum(count) - count / 2
        return np.asarray((middle * shards / count.sum()).astype(int)[codes])
    order = rng.permutation(len(count))
    order = order[np.argsort(-count[order], kind="stable")]
    held = [(0, shard) for shard in range(shards)]
    found = np.empty(len(count), dtype=int)
    for query in order.tolist():
        rows, shard = held[0]
        found[query] = shard
        heapq.heapreplace(held, (rows + int(count[query]), shard))
    return found[codes]


def _queries_of(source: ArraySource) -> Array:
    """Return the query number of each row."""
    query, _ = next(iter(source.queries(max(1, source.n_rows))))
    return np.unique(query, return_inverse=True)[1].ravel()


def describe(
    shard: Shard,
    summarize: Callable[[RowSource], Any],
    look: Callable[[RowSource], Any] | None = None,
) -> ShardFacts:
    """Task: return the facts about a shard, with a summary of y and, if asked for, a look at X."""
    source = shard.source
    with shard.naming():
        targets = summarize(source) if source.n_rows and source.has_target else None
        seen = None if look is None else look(source)
    return ShardFacts.of(source, targets, seen)


def take(shard: Shard, wanted: dict[int, Array]) -> Rows:
    """Task: return the requested rows of a shard."""
    with shard.naming():
        return shard.source.take(wanted[shard.number])

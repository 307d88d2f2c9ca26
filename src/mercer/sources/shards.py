"""Rows in shards: how they are cut, and a view of all of them that leaves rows where they are."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.contracts import Array, Engine, RowBlock, Rows, RowSource
from mercer.sources.arrays import ArraySource
from mercer.sources.checks import check_indices
from mercer.validation import MemoryLimitError, check_same_length

#: Errors whose message may be completed.
_PLAIN = (ValueError, TypeError, MemoryLimitError)


@dataclass(frozen=True)
class Shard:
    """Some of the rows, with a number and a name for messages."""

    number: int
    name: str
    source: RowSource


@dataclass(frozen=True)
class ShardFacts:
    """What the driver knows of a shard; ``targets`` sums up y."""

    rows: int
    features: int
    names: list[str] | None
    has_target: bool
    targets: Any


def cut(source: RowSource, shards: int, rng: np.random.Generator | None = None) -> list[Shard]:
    """Cut a source into shards of nearly equal size: consecutive rows, or at random for arrays.

    Files are cut where reading can begin; a seed is for arrays alone. Queries of arrays stay whole.
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


def cut_by_label(source: ArraySource, labels: Any, shards: int | None = None) -> list[Shard]:
    """Cut an array by a label for every row: one shard for each, in the order of the labels.

    Rows of a query follow each other in a shard.
    """
    labels = np.asarray(labels)
    check_same_length(source.n_rows, labels, "shard_labels")
    if labels.ndim != 1:
        raise ValueError(
            f"shard_labels must be one label a row, got an array of shape {labels.shape}"
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
    return [
        Shard(number, f"shard {name}", source.at(order[ends[number] : ends[number + 1]]))
        for number, name in enumerate(names)
    ]


def dealt_queries(codes: Array, shards: int, rng: np.random.Generator | None) -> Array:
    """Return a shard for every row, so that queries stay whole and shards are of like size.

    The longest queries are dealt first, each to the shard that has the fewest rows; without a
    generator shards are stretches of consecutive queries.

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
    """Return the number of each row's query."""
    query, _ = next(iter(source.queries(max(1, source.n_rows))))
    return np.unique(query, return_inverse=True)[1].ravel()


@contextmanager
def naming(shard: Shard) -> Iterator[None]:
    """Name the shard in whatever is wrong with it."""
    try:
        yield
    except ValueError as error:
        if type(error) not in _PLAIN:
            raise
        raise type(error)(f"{shard.name}: {error}") from error


def describe(shard: Shard, summarize: Callable[[RowSource], Any]) -> ShardFacts:
    """Return the facts of a shard: a task."""
    source = shard.source
    with naming(shard):
        targets = summarize(source) if source.n_rows and source.has_target else None
    return ShardFacts(
        source.n_rows, source.n_features, source.feature_names, source.has_target, targets
    )


def take(shard: Shard, wanted: dict[int, Array]) -> Rows:
    """Return the rows of a shard that are wanted: a task."""
    with naming(shard):
        return shard.source.take(wanted[shard.number])


class ShardedSource:
    """All rows of all shards, seen from the driver: they count as one after another.

    It can be asked for single rows (landmarks), and for nothing else: there is no way to read all
    rows in one place.
    """

    def __init__(self, engine: Engine, shards: Sequence[Any], facts: Sequence[ShardFacts]) -> None:
        present = [number for number, fact in enumerate(facts) if fact.rows]
        if not present:
            raise ValueError("the shards must hold at least one row, got none in any of them")
        self.engine, self.numbers = engine, present
        self.shards = [shards[number] for number in present]
        self.facts = [facts[number] for number in present]
        self.empty = len(facts) - len(present)
        first = self.facts[0]
        for number, fact in zip(present, self.facts, strict=True):
            if fact.features != first.features or fact.names != first.names:
                raise ValueError(
                    f"all shards must have the same columns: shard {present[0]} has "
                    f"{_columns(first)}, shard {number} has {_columns(fact)}"
                )
        self.n_features, self.feature_names = first.features, first.names
        self.has_target = all(fact.has_target for fact in self.facts)
        self._ends = np.cumsum([fact.rows for fact in self.facts])
        self.n_rows = int(self._ends[-1])

    @property
    def resident_bytes(self) -> int:
        """None in the driver."""
        return 0

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        wanted = check_indices(indices, self.n_rows)
        where = np.searchsorted(self._ends, wanted, side="right")
        starts = self._ends - [fact.rows for fact in self.facts]
        asked = np.unique(where)
        local = {self.numbers[at]: wanted[where == at] - starts[at] for at in asked}
        parts = self.engine.map(take, [self.shards[at] for at in asked], local, label="landmarks")
        out = np.empty((len(wanted), self.n_features), dtype=np.result_type(*parts))
        for at, part in zip(asked, parts, strict=True):
            out[where == at] = part.toarray() if hasattr(part, "toarray") else part
        return out

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield nothing: rows stay in their shards."""
        return iter(())

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield nothing: targets stay in their shards."""
        return iter(())

    def split(self, parts: int) -> list[RowSource]:
        """Refuse: it is cut already."""
        raise TypeError("rows that are in shards are not cut again")


def _columns(facts: ShardFacts) -> str:
    return f"{facts.features} columns" + ("" if facts.names is None else f" {facts.names}")

"""All rows of a fit, as shards and the engine that runs tasks on them.

.. math:: \\sum_i f(x_i) = \\sum_j \\sum_{i \\in D_j} f(x_i)

A task is an importable function of a shard. Everything a fit needs from the rows is written once as
a task, and its results are added, collected, or left where they were computed. Rows in one place
are a single shard, processed by the calling thread, with its blocks on threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.contracts import Array, Engine, Progress, Reading, RowBlock, Rows, RowSource, T
from mercer.engines import Communication, InPlaceEngine, count_numbers, tree_sum
from mercer.rows.checks import check_indices
from mercer.rows.shards import Shard, ShardFacts, describe, take
from mercer.validation import check_total_weight


class Placed:
    """Items on an engine, one per shard: the shards themselves, or results of a task.

    Parameters
    ----------
    engine : Engine
        Runs the tasks.
    items : sequence
        The items, as placed by the engine.
    sent : Communication or None
        Records what is sent; None in one place, where nothing is sent.
    """

    def __init__(self, engine: Engine, items: Sequence[Any], sent: Communication | None) -> None:
        self.engine, self.items, self.sent = engine, items, sent

    def map(
        self,
        task: Callable[..., T],
        *common: object,
        label: str = "",
        record: str = "",
        to_shard: int = 0,
        light: bool = False,
    ) -> list[T]:
        """Run a task on every item; return the results, in order.

        ``record`` names the exchange in the communication record, with ``to_shard`` numbers sent
        and as many received as the largest shard returns. ``light`` tasks take milliseconds.
        """
        parts = self.engine.map(task, self.items, *common, label=label, light=light)
        self._record(record, to_shard, parts)
        return parts

    def sum(
        self,
        task: Callable[..., T],
        add: Callable[[T, T], T],
        *common: object,
        label: str = "",
        record: str = "",
        to_shard: int = 0,
        light: bool = False,
    ) -> T:
        """Run a task on every item and add the results, as a tree of fixed shape."""
        if light:
            parts = self.map(
                task, *common, label=label, record=record, to_shard=to_shard, light=True
            )
            return tree_sum(parts, add)
        total = self.engine.reduce(task, add, self.items, *common, label=label)
        self._record(record, to_shard, [total])
        return total

    def hold(self, task: Callable[..., object], *common: object) -> Placed:
        """Run a task on every item and leave each result where it was computed."""
        return Placed(self.engine, self.engine.hold(task, self.items, *common), self.sent)

    def _record(self, what: str, to_shard: int, parts: Sequence[Any]) -> None:
        if self.sent is not None and what:
            self.sent.record(what, to_shard, max(map(count_numbers, parts)))


class RowSet(Placed):
    """``sum_i f(x_i) = sum_j sum_(i in D_j) f(x_i)``: all access of a fit to the rows.

    It runs tasks over shards and can take single rows. All rows of several shards can never be read
    in one place.

    Parameters
    ----------
    engine : Engine
        Runs the tasks.
    shards : sequence
        The items, as placed by the engine.
    facts : sequence of ShardFacts
        Facts about each shard; shards without rows are skipped.
    one_place : bool
        Whether there is a single shard, processed in this thread, so that nothing is sent.

    Examples
    --------
    >>> from mercer.rows import ArraySource
    >>> rows = RowSet.in_one_place(ArraySource(np.arange(6.0).reshape(3, 2)))
    >>> rows.sum(lambda shard: next(shard.source.blocks(3)).X.sum(axis=0), np.add)
    array([6., 9.])
    """

    def __init__(
        self,
        engine: Engine,
        shards: Sequence[Any],
        facts: Sequence[ShardFacts],
        one_place: bool = False,
    ) -> None:
        present = [number for number, fact in enumerate(facts) if fact.rows or one_place]
        if not present:
            raise ValueError("at least one shard must contain rows, got none in any of them")
        # All of them stay as they are: an engine may defer what it holds.
        every = len(present) == len(shards)
        placed = shards if every else [shards[number] for number in present]
        super().__init__(engine, placed, None if one_place else Communication(len(present)))
        self.one_place, self.numbers = one_place, present
        self.facts = [facts[number] for number in present]
        first = self.facts[0]
        for number, fact in zip(present, self.facts, strict=True):
            if fact.features != first.features or fact.names != first.names:
                raise ValueError(
                    f"all shards must have the same columns: shard {present[0]} has "
                    f"{_columns(first)}, shard {number} has {_columns(fact)}"
                )
        self.n_features, self.feature_names = first.features, first.names
        self.has_target = all(fact.has_target for fact in self.facts)
        self._origin: Array | None = None
        self._ends = np.cumsum([fact.rows for fact in self.facts])
        self.n_rows = int(self._ends[-1])

    @classmethod
    def in_one_place(
        cls,
        source: RowSource,
        progress: Progress | None = None,
        look: Callable[[RowSource], Any] | None = None,
    ) -> RowSet:
        """Return the rows of a source as one shard, in this thread."""
        seen = None if look is None else look(source)
        facts = ShardFacts.of(source, None, seen)
        return cls(InPlaceEngine(), [Shard(0, "", source, progress)], [facts], one_place=True)

    @classmethod
    def over_shards(
        cls,
        engine: Engine,
        shards: Sequence[Any],
        summarize: Callable[[RowSource], Any],
        look: Callable[[RowSource], Any] | None = None,
        first: Callable[[Any], Any] | None = None,
    ) -> RowSet:
        """Place shards on an engine, and get the size, a summary of y and a look at each.

        ``first`` is a task that leaves out rows without weight.
        """
        origins = [shard.origin for shard in shards if getattr(shard, "origin", None) is not None]
        placed = engine.place(shards)
        placed = placed if first is None else engine.hold(first, placed)
        facts = engine.map(describe, placed, summarize, look, label="looking")
        if first is not None and not any(fact.rows for fact in facts):
            check_total_weight(0.0)
        found = cls(engine, placed, facts)
        if origins:
            found._origin = np.concatenate(origins)
        return found

    def derived(
        self,
        task: Callable[..., Any],
        *common: object,
        features: int | None = None,
        names: list[str] | None = None,
        counts: Sequence[int] | None = None,
    ) -> RowSet:
        """Return the rows that a task makes of each shard, left where they are.

        ``features`` and ``names`` are those of the new columns, ``counts`` the new numbers of rows.
        """
        counts = counts or [fact.rows for fact in self.facts]
        facts = [
            replace(
                fact,
                rows=count,
                features=fact.features if features is None else features,
                names=fact.names if features is None else names,
            )
            for fact, count in zip(self.facts, counts, strict=True)
        ]
        if self.one_place:
            return RowSet(self.engine, [task(self.items[0], *common)], facts, one_place=True)
        kept = [at for at, fact in enumerate(facts) if fact.rows]
        found = RowSet(self.engine, self.items, facts)
        items = self.items if len(kept) == len(facts) else found.items
        found.items = self.engine.hold(task, items, *(self.engine.share(one) for one in common))
        found.numbers = [self.numbers[at] for at in kept]
        found.sent = self.sent
        if counts == [fact.rows for fact in self.facts]:
            found._origin = self._origin
        return found

    @property
    def row_values(self) -> float:
        """The values of a row on average: d, or fewer if rows are sparse.

        >>> from scipy.sparse import eye_array
        >>> from mercer.rows import ArraySource
        >>> RowSet.in_one_place(ArraySource(eye_array(3, 5, format="csr"))).row_values
        1.0
        """
        values = [min(fact.values, fact.features) * fact.rows for fact in self.facts]
        return float(sum(values) / max(1, self.n_rows))

    @property
    def slices(self) -> dict[int, slice]:
        """Where the rows of each shard are among all, by its number."""
        ends = self._ends.tolist()
        return dict(zip(self.numbers, map(slice, [0, *ends[:-1]], ends), strict=True))

    def reading(self, reading: Reading) -> Reading:
        """Return how a task reads its shard: shards run in parallel, on one core each."""
        return reading if self.one_place else replace(reading, lanes=1)

    def share(self, value: object, record: str = "", numbers: int | None = None) -> Any:
        """Return a value for all tasks, sent once to each shard."""
        if self.sent is not None and record:
            self.sent.record(record, count_numbers(value) if numbers is None else numbers, 0)
        return self.engine.share(value)

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        if self.one_place:
            return self.items[0].source.take(indices)
        places = self.places(check_indices(indices, self.n_rows))
        where = self._shard_at(places)
        asked = np.unique(where).tolist()
        wanted = self._within_shards(places, where)
        parts = self.engine.map(take, [self.items[at] for at in asked], wanted, label="landmarks")
        out = np.empty((len(places), self.n_features), dtype=np.result_type(*parts))
        for at, part in zip(asked, parts, strict=True):
            out[where == at] = part.toarray() if hasattr(part, "toarray") else part
        return out

    def places(self, indices: Array) -> Array:
        """Return where rows are among those of all shards, by their numbers among the rows given.

        The numbers do not depend on how rows are dealt to shards: what is drawn by them is the same
        for any shards.
        """
        if self._origin is None:
            return indices
        place = np.empty(len(self._origin), dtype=np.intp)
        place[self._origin] = np.arange(len(place))
        return place[indices]

    def split_indices(self, indices: Array) -> dict[int, Array]:
        """Return the rows of each shard among ``indices``, increasing, from its own first row."""
        places = np.sort(self.places(indices))
        return self._within_shards(places, self._shard_at(places))

    def by_number(self, parts: Sequence[Array]) -> Array:
        """Return values of all rows, which shards returned in order, by the numbers of rows."""
        return np.concatenate(parts)[self.places(np.arange(self.n_rows))]

    def _shard_at(self, places: Array) -> Array:
        """Return the shard of each row."""
        return np.searchsorted(self._ends, places, side="right")

    def _within_shards(self, places: Array, where: Array) -> dict[int, Array]:
        """Return the places of each shard, counted from its own first row."""
        starts = [place.start for place in self.slices.values()]
        return {
            self.numbers[at]: places[where == at] - starts[at] for at in np.unique(where).tolist()
        }

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield the rows in blocks if they are in one place; nothing for several shards."""
        return self.items[0].source.blocks(rows) if self.one_place else iter(())


def _columns(facts: ShardFacts) -> str:
    return f"{facts.features} columns" + ("" if facts.names is None else f" {facts.names}")

"""Partitions of Dask arrays and data frames as shards."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np

from mercer.contracts import Array, RowSource
from mercer.rows.arrays import ArraySource
from mercer.rows.frames import from_frame, table_of
from mercer.rows.shards import Shard, ShardMethods
from mercer.rows.table import Table
from mercer.validation import MercerWarning


def is_partitioned(X: object) -> bool:
    """Return whether X is a Dask array or data frame, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def in_one_place(X: Any) -> Any:
    """Return a Dask collection computed, for what needs its rows at once; anything else as it is.

    A data frame keeps the names of its columns, which ``np.asarray`` would drop.
    """
    return X.compute() if is_partitioned(X) else X


@dataclass(frozen=True)
class Partition(ShardMethods):
    """A shard that is computed on every access; an engine may compute it on a worker."""

    number: int
    name: str
    delayed: Any
    seen: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def source(self) -> RowSource:  # type: ignore[override]
        """The rows, computed now, in this process; they must be those of the first time."""
        shard: Shard = self.delayed.compute(scheduler="synchronous")
        found = _identity(shard.source)
        if not self.seen:
            self.seen.append(found)
        if found != self.seen[0]:
            raise ValueError(
                f"{self.name} must have the same rows whenever it is computed, but they changed "
                f"since the first pass: its files may have been replaced, or it draws at random; "
                f"leave them alone and fit again, or keep it in memory with X.persist()"
            )
        return shard.source


def _identity(source: Any) -> str:
    """Return the shape of the rows, and a checksum of the first and the last of them."""
    rows = max(1, source.n_rows)
    ends = source.at(np.unique([0, rows - 1])) if source.n_rows else source
    blocks = [(block.X, block.y, block.weight, block.query) for block in ends.blocks(2)]
    values = [
        part.toarray() if hasattr(part, "toarray") else part
        for block in blocks
        for part in block
        if part is not None
    ]
    tables = [
        [
            column.values() if hasattr(column, "values") else column
            for column in one.columns.values()
        ]
        if isinstance(one, Table)
        else [one]
        for one in values
    ]
    text = repr([np.asarray(one).tolist() for table in tables for one in table])
    return f"{source.n_rows} {source.feature_names} {zlib.crc32(text.encode())}"


def partitions(
    X: Any, y: Any = None, weight: Any = None, query: Any = None, *, raw: bool = False
) -> list[Partition]:
    """Return the partitions of a Dask collection as shards.

    Parameters
    ----------
    X : dask array of shape (n, d), or dask data frame
        Its blocks of rows are the shards.
    y, weight, query : dask or NumPy arrays or series, or names of columns of the data frame
        Partitioned like X.
    raw : bool
        Whether columns of a data frame may be of any kind: shards are then tables.
    """
    from dask import delayed

    frame = hasattr(X, "columns")
    taken: list[str] = []
    given = {"y": y, "sample_weight": weight, "qid": query}
    if frame:
        for name, value in given.items():
            if isinstance(value, str):
                if value not in X.columns:
                    raise ValueError(
                        f"{name}={value!r} must be a column of the data frame, which has "
                        f"{list(X.columns)}"
                    )
                taken.append(value)
        blocks = list(X.to_delayed())
        rows = None
    else:
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got a Dask array of shape {X.shape}")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        blocks = list(X.to_delayed().ravel())
        rows = X.chunks[0]
    others = {
        name: [value] * len(blocks)
        if value is None or isinstance(value, str)
        else _cut_like(value, rows, len(blocks), name)
        for name, value in given.items()
    }
    make = delayed(_shard, pure=True)
    return [
        Partition(number, f"shard {number} (a partition)", make(number, X_, *parts, taken, raw))
        for number, (X_, *parts) in enumerate(zip(blocks, *others.values(), strict=True))
    ]


def _cut_like(value: Any, rows: Any, count: int, name: str) -> list[Any]:
    """Partition y, weights or queries like X."""
    if is_partitioned(value):
        known = rows is not None and not np.isnan(rows).any()
        if hasattr(value, "chunks") and known and not np.isnan(value.chunks[0]).any():
            if sum(value.chunks[0]) != sum(rows):
                raise ValueError(
                    f"{name} must have one entry per row of X, which has {sum(rows)} rows; got "
                    f"{sum(value.chunks[0])}"
                )
            value = value.rechunk({0: rows, **dict.fromkeys(range(1, value.ndim), -1)})
        parts = list(np.ravel(value.to_delayed()))
        if len(parts) != count:
            raise ValueError(
                f"{name} must have as many partitions as X, which has {count}; got {len(parts)}: "
                f"create both from one collection, or repartition one"
            )
        return parts
    if rows is None or np.isnan(rows).any():
        raise ValueError(
            f"{name} must be a Dask collection, or the name of a column, if the partitions of X "
            f"have no known size; got {type(value).__name__}"
        )
    array = np.asarray(value)
    if len(array) != sum(rows):
        raise ValueError(
            f"{name} must have one entry per row of X, which has {sum(rows)} rows; got {len(array)}"
        )
    return np.split(array, np.cumsum(rows)[:-1])


def _shard(
    number: int, X: Any, y: Any, weight: Any, query: Any, taken: list[str], raw: bool
) -> Shard:
    """Task: build the shard of one partition."""
    name, names = f"shard {number} (a partition)", None
    if hasattr(X, "columns"):
        y, weight, query = (
            X[value] if isinstance(value, str) else value for value in (y, weight, query)
        )
        X = X.drop(columns=taken)
        if raw:
            X = table_of(X)
            names = X.names
        else:
            found = from_frame(X)
            assert found is not None
            X, names = found
    y, weight, query = (
        value.to_numpy() if hasattr(value, "to_numpy") else value for value in (y, weight, query)
    )
    if not X.shape[0]:  # a partition emptied by a filter
        rows = X if raw and names is not None else np.zeros((0, X.shape[1]))
        empty = ArraySource(np.zeros((1, X.shape[1])), [0], None, names).at([])
        empty = empty.with_rows(rows, names)
        return Shard(number, name, empty if query is None else empty.with_queries(query))
    return Shard(number, name, ArraySource(X, y, weight, names, query=query))


def mapped(task: Callable[..., Array], X: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return what a task makes of the rows of each partition: a Dask collection, not computed yet.

    Of an array, an array in blocks of the same rows; of a data frame, a series or data frame with
    the same partitions and index.
    """
    # A task of its own, whose result goes once to each worker: a model may have megabytes.
    sent = import_module("dask").delayed(task, pure=True, traverse=False)
    if hasattr(X, "columns"):
        with catch_warnings():  # of values that Dask made up
            filterwarnings("ignore", r"of \d+ rows, ", MercerWarning)
            like = _framed(X._meta_nonempty, task, None, args, named)[:0]
        return X.map_partitions(_framed, sent, like, args, named, meta=like)
    X = X.rechunk({1: -1})
    like = task(np.zeros((1, X.shape[1]), dtype=X.dtype), *args, **named)[:0]
    chunks = (X.chunks[0], *((size,) for size in like.shape[1:]))
    more = {"drop_axis": 1} if like.ndim == 1 else {"new_axis": list(range(2, like.ndim))}
    map_blocks = import_module("dask.array").map_blocks
    return map_blocks(_rows_of, X, sent, like, args, named, dtype=like.dtype, chunks=chunks, **more)


def _framed(
    part: Any, task: Callable[..., Array], like: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Return a row of a series, or of a data frame, for each row of a data frame.

    ``like`` is what there is of one without rows.
    """
    if not len(part):
        return like.set_axis(part.index)
    pandas = import_module("pandas")
    found = task(part, *args, **named)
    if found.ndim > 2:
        raise ValueError(
            f"the rows of a Dask data frame cannot have tables of shape {found.shape[1:]}: ask for "
            f"one coverage or quantile at a time, or use a Dask array"
        )
    return (pandas.Series if found.ndim == 1 else pandas.DataFrame)(found, index=part.index)


def _rows_of(
    block: Array,
    task: Callable[..., Array],
    like: Array,
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Array:
    """Return what a task makes of a block, which may have no rows."""
    return task(block, *args, **named) if len(block) else like

"""Checks of a row source: the same rows in blocks of any size, in parts, and again."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer.contracts import Array, RowSource
from mercer.testing.assertions import as_dense, named, require, require_error, require_same

#: Rows of a block that are tried, beside all of them.
SIZES = (1, 7, 20)


class Read(NamedTuple):
    """All rows of a source, read block by block and joined."""

    X: Array
    y: Array | None
    weight: Array | None
    query: Array | None


def check_source(source: RowSource) -> None:
    """Check that a source keeps what :class:`mercer.contracts.RowSource` promises.

    Runs every function of ``SOURCE_CHECKS``; the first property that fails raises. All rows are
    held in memory, and read some fifty times: give it a small source, best with more than 40 rows,
    and with targets if it can have them.

    Parameters
    ----------
    source : RowSource
        A source of at least one row.

    Raises
    ------
    AssertionError
        It says which property failed, and at which row.

    Examples
    --------
    >>> from mercer.rows import ArraySource
    >>> check_source(ArraySource(np.arange(90.0).reshape(45, 2), y=np.arange(45)))
    """
    for check in SOURCE_CHECKS:
        check(source)


def read(source: RowSource, rows: int) -> Read:
    """Read all blocks of a source and join them."""
    blocks = list(source.blocks(rows))
    if not blocks:
        return Read(np.zeros((0, source.n_features)), None, None, None)

    def joined(name: str) -> Array | None:
        parts = [getattr(block, name) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts)

    X = np.concatenate([as_dense(block.X) for block in blocks])
    return Read(X, joined("y"), joined("weight"), joined("query"))


def all_rows(source: RowSource) -> Read:
    """Return all rows, as one block has them."""
    return read(source, max(1, source.n_rows))


def require_rows(got: Read, wanted: Read, what: str, hint: str) -> None:
    """Compare X, y, weight and query."""
    for name in Read._fields:
        require_same(getattr(got, name), getattr(wanted, name), f"{name} of {what}", hint)


def check_facts(source: RowSource) -> None:
    """``n_rows``, ``n_features``, ``has_target`` and the others are those of the blocks."""
    name, whole = named(source), all_rows(source)
    require(
        isinstance(source, RowSource),
        f"{name} must have all attributes and methods of mercer.contracts.RowSource, some are "
        f"missing; compare it with mercer.rows.ArraySource",
    )
    require(
        whole.X.shape == (source.n_rows, source.n_features),
        f"n_rows and n_features of {name} must be those of its blocks, {whole.X.shape}, got "
        f"{(source.n_rows, source.n_features)}; no row may be lost or added at the end",
    )
    require(
        source.has_target == (whole.y is not None),
        f"has_target of {name} must say whether blocks have y, got {source.has_target} where y is "
        f"{'there' if whole.y is not None else 'None'}; set it when the source is opened",
    )
    has_query = getattr(source, "has_query", False)
    require(
        has_query == (whole.query is not None),
        f"has_query of {name} must say whether blocks have query, got {has_query} where query is "
        f"{'there' if whole.query is not None else 'None'}; set it when the source is opened",
    )
    names = source.feature_names
    require(
        names is None or len(names) == source.n_features,
        f"feature_names of {name} must be None or one for each of {source.n_features} columns, got "
        f"{names}; leave out the target's",
    )
    held = source.resident_bytes
    require(
        held >= 0,
        f"resident_bytes of {name} must be at least 0, got {held}; count what stays in memory",
    )


def check_blocks(source: RowSource) -> None:
    """Blocks of any size are all rows in order, each of the size asked for but the last."""
    whole = all_rows(source)
    for rows in (*SIZES, source.n_rows + 1):
        blocks = list(source.blocks(rows))
        starts = [block.start for block in blocks]
        wanted = list(range(0, source.n_rows, rows))
        require(
            starts == wanted,
            f"start of the blocks of {rows} rows of {named(source)} must be {wanted[:5]} and so "
            f"on, got {starts[:5]}; count rows from the first of this source",
        )
        sizes = [block.n_rows for block in blocks]
        require(
            all(size == rows for size in sizes[:-1]),
            f"blocks of {named(source)} must have {rows} rows but for the last, got {sizes[:5]}; "
            f"join short pieces (mercer.rows.chunks.rechunk)",
        )
        require_rows(
            read(source, rows),
            whole,
            f"{named(source)} in blocks of {rows} rows must be those of one block",
            "look at what happens at the end of a block",
        )


def check_read_again(source: RowSource) -> None:
    """A source can be read again, also after a reader stopped early, with the same rows."""
    whole = all_rows(source)
    next(iter(source.blocks(5)))
    require_rows(
        read(source, 11),
        whole,
        f"{named(source)} that is read again must be what it was",
        "open the file in blocks(), not in __init__",
    )


def check_refuses_no_rows(source: RowSource) -> None:
    """Blocks and parts of no rows are refused with a ValueError."""
    requests: list[tuple[str, Callable[[], Any]]] = [
        ("blocks(0)", lambda: next(iter(source.blocks(0)), None)),
        ("blocks(-3)", lambda: next(iter(source.blocks(-3)), None)),
        ("split(0)", lambda: source.split(0)),
    ]
    for what, ask in requests:
        require_error(
            ask,
            ValueError,
            f"{what} of {named(source)} must raise a ValueError, got none; use "
            f"mercer.validation.check_count",
        )


def check_take(source: RowSource) -> None:
    """``take`` is indexing with an array: any order, repeated rows, none; no others."""
    whole, last = all_rows(source).X, source.n_rows - 1
    repeated = np.array([last, 0, 0, last // 2, last // 3, last])
    for indices in (repeated, np.arange(last, -1, -1), np.array([], dtype=int)):
        require_same(
            as_dense(source.take(indices)),
            whole[indices],
            f"take({indices[:6].tolist()}) of {named(source)} must be those rows, in that order",
            "sort for reading if need be, and put the rows back in the order asked for",
        )
    for outside in (source.n_rows, -1):
        require_error(
            partial(source.take, np.array([outside])),
            IndexError,
            f"take([{outside}]) of {named(source)} with {source.n_rows} rows must raise an "
            f"IndexError, got none; use mercer.rows.checks.check_indices",
        )


def require_cuts(parts: list[Array], source: RowSource, what: str) -> None:
    """Check that values in blocks of ten rows are cut as blocks are."""
    sizes = [len(part) for part in parts]
    wanted = [min(10, source.n_rows - start) for start in range(0, source.n_rows, 10)]
    require(
        sizes == wanted,
        f"{what}(10) of {named(source)} must yield {wanted} values, got {sizes}; cut them as "
        f"blocks are cut",
    )


def check_targets(source: RowSource) -> None:
    """``targets`` yields y in blocks; without targets it raises a ValueError."""
    if not source.has_target:
        require_error(
            lambda: list(source.targets(10)),
            ValueError,
            f"targets() of {named(source)}, which has none, must raise a ValueError, got nothing; "
            f"say how to name the target",
        )
        return
    parts = list(source.targets(10))
    require_cuts(parts, source, "targets")
    require_same(
        np.concatenate(parts),
        all_rows(source).y,
        f"targets() of {named(source)} must be y of its blocks",
        "read y in the same order",
    )


def check_queries(source: Any) -> None:
    """``queries`` yields queries and weights in blocks, for a source that has queries."""
    if not getattr(source, "has_query", False):
        return
    parts, whole = list(source.queries(10)), all_rows(source)
    require_cuts([query for query, _ in parts], source, "queries")
    weights = [weight for _, weight in parts]
    hint = "read queries and weights in the order of the blocks"
    what = f"queries() of {named(source)} must yield"
    require_same(
        np.concatenate([query for query, _ in parts]), whole.query, f"{what} the queries", hint
    )
    joined = None if weights[0] is None else np.concatenate(weights)
    require_same(joined, whole.weight, f"{what} the weights", hint)


def check_split(source: RowSource) -> None:
    """Parts are consecutive rows, cover all of them once, and are sources themselves."""
    whole = all_rows(source)
    for parts in (1, 2, 3, 6, source.n_rows + 7):
        pieces = source.split(parts)
        rows = [piece.n_rows for piece in pieces]
        require(
            len(pieces) == parts,
            f"split({parts}) of {named(source)} must return {parts} sources, got {len(pieces)}; "
            f"some may be empty",
        )
        require(
            sum(rows) == source.n_rows,
            f"split({parts}) of {named(source)} must cover its {source.n_rows} rows once, got "
            f"parts of {rows[:8]}; cut with mercer.rows.chunks.even_cuts",
        )
        end = 0
        for number, piece in enumerate(pieces):
            start, end = end, end + piece.n_rows
            more = (None if v is None else v[start:end] for v in whole[1:])
            wanted = Read(whole.X[start:end], *more)
            require_part(piece, wanted, f"part {number} of split({parts}) of {named(source)}")


def require_part(piece: RowSource, wanted: Read, what: str) -> None:
    """Check that a part is the rows wanted, or has none and can be asked all the same."""
    hint = "a part counts its rows from 0, and reads from where it begins"
    if not piece.n_rows:
        require(not list(piece.blocks(4)), f"{what} has no rows and must yield no block; {hint}")
        empty = as_dense(piece.take(np.array([], dtype=int)))
        require(
            empty.shape == wanted.X.shape,
            f"take([]) of {what} must have shape {wanted.X.shape}, got {empty.shape}; {hint}",
        )
        again = [part.n_rows for part in piece.split(2)]
        require(again == [0, 0], f"split(2) of {what} must be two empty parts, got {again}; {hint}")
        return
    require_rows(read(piece, 4), wanted, f"{what} must be its rows of the whole", hint)
    last = piece.n_rows - 1
    indices = np.array([last, 0])
    require_same(
        as_dense(piece.take(indices)),
        wanted.X[indices],
        f"take({indices.tolist()}) of {what} must be those of its own rows",
        hint,
    )
    inner = piece.split(2)[1]
    require_same(
        all_rows(inner).X,
        wanted.X[piece.n_rows - inner.n_rows :],
        f"the second half of {what} must be its last rows",
        hint,
    )
    require_error(
        lambda: piece.take(np.array([piece.n_rows])),
        IndexError,
        f"take([{piece.n_rows}]) of {what} must raise an IndexError, got none; {hint}",
    )


def check_pickles(source: RowSource) -> None:
    """A source, and its parts, can be sent to another process."""
    whole = all_rows(source)
    for sent in (source, source.split(1)[0]):
        require_rows(
            read(pickle.loads(pickle.dumps(sent)), 10),
            whole,
            f"a pickled {named(source)} must be what it was",
            "keep the path, not an open file or connection",
        )


#: All checks of a source, each called as ``check(source)``: to parametrize a test with.
SOURCE_CHECKS: list[Callable[..., None]] = [
    check_facts,
    check_blocks,
    check_read_again,
    check_refuses_no_rows,
    check_take,
    check_targets,
    check_queries,
    check_split,
    check_pickles,
]

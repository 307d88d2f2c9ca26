"""What every source must do, whatever it reads."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from mercer.contracts import RowSource
from mercer.rows import ArraySource


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


def joined(source, rows):
    """Put the blocks of a source together again: X, y, weight, query."""
    blocks = list(source.blocks(rows))
    return (
        np.concatenate([dense(block.X) for block in blocks]),
        None if blocks[0].y is None else np.concatenate([block.y for block in blocks]),
        None if blocks[0].weight is None else np.concatenate([block.weight for block in blocks]),
        None if blocks[0].query is None else np.concatenate([block.query for block in blocks]),
    )


def assert_same(found, case):
    X, y, weight, query = found
    assert X.dtype == case.X.dtype
    np.testing.assert_array_equal(X, case.X)
    for got, wanted in ((y, case.y), (weight, case.weight), (query, case.query)):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_array_equal(got, wanted)


def test_it_is_a_row_source(case):
    assert isinstance(case.source, RowSource)
    assert (case.source.n_rows, case.source.n_features) == case.X.shape
    assert case.source.has_target == (case.y is not None)
    assert case.source.has_query == (case.query is not None)
    assert case.source.resident_bytes >= 0
    if isinstance(case.source, ArraySource):
        return  # arrays are kept as they are
    for block in case.source.blocks(9):
        assert block.X.flags.c_contiguous
        assert block.X.dtype in (np.float32, np.float64)


def test_blocks_are_the_rows_in_order(case):
    for rows in (1, 7, 20, 53, 1000):
        sizes = [block.n_rows for block in case.source.blocks(rows)]
        starts = [block.start for block in case.source.blocks(rows)]
        assert sizes[:-1] == [rows] * (len(sizes) - 1)
        assert starts == list(range(0, len(case.X), rows))
        assert_same(joined(case.source, rows), case)


def test_blocks_can_be_read_again_and_left_early(case):
    next(case.source.blocks(5))
    assert_same(joined(case.source, 11), case)


def test_blocks_and_parts_need_at_least_one_row(case):
    for rows in (0, -3):
        with pytest.raises(ValueError, match="rows must be at least 1"):
            next(case.source.blocks(rows))
    with pytest.raises(ValueError, match="parts must be at least 1"):
        case.source.split(0)


def test_take_is_fancy_indexing(case):
    indices = np.array([50, 3, 3, 0, 52, 19, 20, 7, 50])
    found = dense(case.source.take(indices))
    assert found.dtype == case.X.dtype
    np.testing.assert_array_equal(found, case.X[indices])
    assert dense(case.source.take(np.array([], dtype=int))).shape == (0, case.X.shape[1])


def test_take_refuses_what_is_no_row(case):
    with pytest.raises(IndexError, match="from 0 to 52, got 53"):
        case.source.take(np.array([0, 53]))
    with pytest.raises(IndexError, match="got -1"):
        case.source.take(np.array([-1]))
    with pytest.raises(ValueError, match=r"np\.flatnonzero"):
        case.source.take(np.ones(53, dtype=bool))


def test_targets_are_y_alone(case):
    if case.y is None:
        with pytest.raises(ValueError, match="targets"):
            list(case.source.targets(10))
        return
    found = list(case.source.targets(10))
    assert [len(part) for part in found] == [10] * 5 + [3]
    np.testing.assert_array_equal(np.concatenate(found), case.y)


def test_queries_come_with_the_weights(case):
    if case.query is None:
        with pytest.raises(ValueError, match="must have queries"):
            list(case.source.queries(10))
        return
    found = list(case.source.queries(10))
    assert [len(query) for query, _ in found] == [10] * 5 + [3]
    np.testing.assert_array_equal(np.concatenate([query for query, _ in found]), case.query)
    whole = case.query.dtype.kind == "i"
    assert {query.dtype.kind for query, _ in found} <= ({"i"} if whole else {"U", "O"})
    if case.weight is None:
        assert {weight for _, weight in found} == {None}
    else:
        np.testing.assert_array_equal(np.concatenate([weight for _, weight in found]), case.weight)

    parts = [part for part in case.source.split(4) if part.n_rows]
    assert all(part.has_query for part in parts)
    found = [query for part in parts for query, _ in part.queries(7)]
    np.testing.assert_array_equal(np.concatenate(found), case.query)


def test_parts_are_the_whole(case):
    for parts in (1, 2, 3, 6, 60):
        assert_whole(case, parts)


def assert_whole(case, parts):
    pieces = case.source.split(parts)
    assert len(pieces) == parts
    assert sum(piece.n_rows for piece in pieces) == case.source.n_rows
    found = [joined(piece, 4) for piece in pieces if piece.n_rows]
    for piece in pieces:
        if not piece.n_rows:
            assert list(piece.blocks(4)) == []
            assert [part.n_rows for part in piece.split(2)] == [0, 0]
            assert dense(piece.take(np.array([], dtype=int))).shape == (0, case.X.shape[1])
    merged = [
        None if values[0] is None else np.concatenate(values) for values in zip(*found, strict=True)
    ]
    assert_same(merged, case)


def test_a_part_is_a_source_of_its_own(case):
    first, second = case.source.split(2)
    cut = first.n_rows
    assert next(second.blocks(5)).start == 0
    np.testing.assert_array_equal(dense(second.take(np.array([4, 0]))), case.X[[cut + 4, cut]])
    quarter = second.split(2)[1]
    np.testing.assert_array_equal(joined(quarter, 100)[0], case.X[53 - quarter.n_rows :])
    with pytest.raises(IndexError):
        first.take(np.array([cut]))


def test_it_pickles(case):
    for source in (case.source, case.source.split(1)[0]):
        assert_same(joined(pickle.loads(pickle.dumps(source)), 10), case)

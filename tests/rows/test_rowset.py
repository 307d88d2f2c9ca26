"""Rows in one place and in shards answer alike: sums, maps, single rows, and what was sent."""

import operator

import numpy as np
import pytest
from scipy import sparse

from mercer.contracts import Reading
from mercer.engines import ThreadEngine
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard, cut

X = np.arange(60.0).reshape(20, 3)
Y = np.arange(20.0)


def column_sums(shard, factor=1.0):
    blocks = (block.X.sum(axis=0) for block in shard.source.blocks(4))
    return factor * sum(blocks)


def number_of(shard):
    return shard.number


def doubled(value):
    return 2 * value


def nothing(source):
    return None


def over(shards):
    """All rows, in one place (0) or over some shards."""
    source = ArraySource(X, Y)
    if not shards:
        return RowSet.in_one_place(source)
    return RowSet.over_shards(ThreadEngine(workers=2), cut(source, shards), nothing)


@pytest.mark.parametrize("shards", [0, 1, 3, 20])
def test_sums_are_those_of_all_rows(shards):
    rows = over(shards)
    np.testing.assert_array_equal(rows.sum(column_sums, operator.add), X.sum(axis=0))
    np.testing.assert_array_equal(
        rows.sum(column_sums, operator.add, 3.0, light=True), 3 * X.sum(axis=0)
    )
    held = rows.hold(column_sums)
    np.testing.assert_array_equal(held.sum(doubled, operator.add), 2 * X.sum(axis=0))
    assert rows.map(number_of) == list(range(max(1, shards)))
    assert (rows.n_rows, rows.n_features, rows.has_target) == (20, 3, True)


@pytest.mark.parametrize("shards", [0, 1, 3, 20])
def test_single_rows_come_in_the_order_that_was_asked_for(shards):
    rows, wanted = over(shards), np.array([19, 0, 7, 7, 6, 13])
    np.testing.assert_array_equal(rows.take(wanted), X[wanted])
    by_shard = rows.split_indices(np.sort(wanted))
    back = np.concatenate([at + rows.slices[number].start for number, at in by_shard.items()])
    np.testing.assert_array_equal(back, np.sort(wanted))


def test_shards_without_rows_are_left_out():
    whole = ArraySource(X)
    parts = [whole.at(np.arange(5)), whole.at(np.arange(0)), whole.at(np.arange(5, 20))]
    shards = [Shard(i, f"shard {i}", part) for i, part in enumerate(parts)]
    rows = RowSet.over_shards(ThreadEngine(), shards, nothing)
    assert rows.numbers == [0, 2]
    np.testing.assert_array_equal(rows.take(np.array([4, 5])), X[4:6])
    with pytest.raises(ValueError, match="at least one shard must contain rows"):
        RowSet.over_shards(ThreadEngine(), shards[1:2], nothing)


def test_shards_must_have_the_same_columns():
    shards = [Shard(i, f"shard {i}", ArraySource(X[:, : i + 1])) for i in range(2)]
    with pytest.raises(ValueError, match="same columns: shard 0 has 1 columns, shard 1 has 2"):
        RowSet.over_shards(ThreadEngine(), shards, nothing)


def test_what_is_sent_is_counted_and_nothing_is_in_one_place():
    rows = over(4)
    rows.share(np.zeros(7), "functions")
    rows.sum(column_sums, operator.add, record="sums", to_shard=2)
    rows.map(number_of, record="numbers")
    sent = {e.what: (e.to_shard, e.from_shard) for e in rows.sent.exchanges}
    assert sent == {"functions": (7, 0), "sums": (2, 3), "numbers": (0, 1)}
    assert over(0).sent is None


def test_shards_read_on_one_core_each():
    reading = Reading(128, lanes=4, folds=3)
    assert over(0).reading(reading) == reading
    assert over(2).reading(reading) == Reading(128, lanes=1, folds=3)


def test_rows_of_shards_cannot_be_read_in_one_place():
    assert len(list(over(0).blocks(7))) == 3
    assert list(over(3).blocks(7)) == []


def test_errors_name_their_shard():
    def broken(shard):
        with shard.naming():
            raise ValueError("a row is wrong")

    with pytest.raises(ValueError, match=r"^a row is wrong"):
        over(0).map(broken)
    with pytest.raises(ValueError, match=r"shard 0 .*: a row is wrong"):
        over(3).map(broken)


@pytest.mark.parametrize("shards", [0, 3])
def test_values_of_a_row_on_average(shards):
    thin = np.where(X % 4 == 0, X + 1, 0.0)
    thin[:7] = 0.0
    for data, expected in ((X, 3.0), (sparse.csr_array(thin), np.count_nonzero(thin) / 20)):
        source = ArraySource(data, Y)
        rows = RowSet.in_one_place(source)
        if shards:
            rows = RowSet.over_shards(ThreadEngine(workers=2), cut(source, shards), nothing)
        assert rows.row_values == pytest.approx(expected)

"""Rows whose weights are all multiplied by a number."""

import pickle

import numpy as np

from mercer.rows import ArraySource
from mercer.rows.shards import Shard
from mercer.rows.steps import ReweightedSource, reweighted_shard, weight_sums
from mercer.testing import check_source

X = np.random.default_rng(0).random((20, 3))
WEIGHT = np.arange(20.0)
QUERY = np.repeat([0, 1], 10)
SOURCE = ArraySource(X, X[:, 0], WEIGHT, query=QUERY)


def weights(source, rows=7):
    return np.concatenate([block.weight for block in source.blocks(rows)])


def test_it_is_a_source():
    check_source(ReweightedSource(SOURCE, 3.0))


def test_every_weight_is_multiplied_and_nothing_else():
    found = pickle.loads(pickle.dumps(ReweightedSource(SOURCE, 3.0)))
    np.testing.assert_array_equal(weights(found), 3 * WEIGHT)
    np.testing.assert_array_equal(np.concatenate([w for _, w in found.queries(7)]), 3 * WEIGHT)
    np.testing.assert_array_equal(np.concatenate([weights(p) for p in found.split(3)]), 3 * WEIGHT)
    for block, other in zip(found.blocks(7), SOURCE.blocks(7), strict=True):
        for name in ("start", "X", "y", "query"):
            np.testing.assert_array_equal(getattr(block, name), getattr(other, name))
    np.testing.assert_array_equal(found.take([3, 1]), X[[3, 1]])
    np.testing.assert_array_equal(weights(SOURCE), WEIGHT)


def test_arrays_stay_arrays():
    found = reweighted_shard(Shard(2, "two", SOURCE), 0.5)
    assert isinstance(found.source, ArraySource)
    assert (found.number, found.name) == (2, "two")
    np.testing.assert_array_equal(weights(found.source), WEIGHT / 2)
    plain = reweighted_shard(Shard(0, "", ArraySource(X)), 0.5)
    np.testing.assert_array_equal(weights(plain.source), np.full(20, 0.5))


def test_rows_of_weight_zero_are_not_counted():
    assert weight_sums(Shard(0, "", SOURCE)) == (19, 190.0)
    assert weight_sums(Shard(0, "", ArraySource(X))) == (20, 20.0)

"""Pools: the rows of any source, without what is known of them."""

import pickle

import numpy as np
import pytest
from tests.rows.conftest import (
    _array,
    _array_sparse_queries,
    _csv,
    _npy,
    _npz_named_queries,
    _parquet_folder,
    _svmlight,
)

from mercer.contracts import RowSource
from mercer.rows import ArraySource
from mercer.rows.steps import Pool

#: A pool asks a source for nothing that others of its kind do otherwise.
over_kinds = pytest.mark.parametrize(
    "case",
    [_array, _array_sparse_queries, _npy, _npz_named_queries, _csv, _parquet_folder, _svmlight],
    indirect=True,
    ids=lambda make: make.__name__.strip("_"),
)


def dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


@over_kinds
def test_rows_are_those_of_the_source_and_labels_are_not(case):
    for rows in (1, 7, 53, 1000):
        assert_pool(case, rows)


def assert_pool(case, rows):
    pool = Pool(case.source)
    assert isinstance(pool, RowSource)
    assert (pool.n_rows, pool.n_features) == case.X.shape
    assert pool.feature_names == case.source.feature_names
    assert pool.has_target
    blocks = list(pool.blocks(rows))
    np.testing.assert_array_equal(np.vstack([dense(block.X) for block in blocks]), case.X)
    assert [block.start for block in blocks] == list(
        np.cumsum([0, *[block.n_rows for block in blocks[:-1]]])
    )
    for block in blocks:
        assert block.n_rows <= rows
        np.testing.assert_array_equal(block.y, np.zeros(block.n_rows))
        assert block.weight is None
        assert block.query is None
    assert np.concatenate(list(pool.targets(rows))).tolist() == [0.0] * len(case.X)


@over_kinds
def test_parts_are_pools(case):
    for parts in (1, 2, 7):
        assert_pools(case, parts)


def assert_pools(case, parts):
    found = Pool(case.source).split(parts)
    assert all(isinstance(part, Pool) for part in found)
    assert sum(part.n_rows for part in found) == len(case.X)
    X = [dense(block.X) for part in found for block in part.blocks(10)]
    np.testing.assert_array_equal(np.vstack(X), case.X)
    assert all(block.y.sum() == 0 for part in found for block in part.blocks(10))


@over_kinds
def test_single_rows_are_taken_and_a_pool_travels(case):
    at = np.array([40, 3, 3, 52])
    np.testing.assert_allclose(dense(Pool(case.source).take(at)), case.X[at], rtol=1e-15)
    back = pickle.loads(pickle.dumps(Pool(case.source)))
    np.testing.assert_array_equal(dense(next(back.blocks(1000)).X), case.X[:1000])
    assert Pool(case.source).resident_bytes == case.source.resident_bytes


def test_targets_that_cannot_be_are_not_looked_at():
    X = np.arange(6.0).reshape(3, 2)
    pool = Pool(ArraySource(X, np.array([np.nan, np.inf, 1.0]), np.array([1.0, -1.0, 0.0])))
    (block,) = pool.blocks(10)
    np.testing.assert_array_equal(block.y, [0.0, 0.0, 0.0])
    assert block.weight is None

"""Arrays and data frames: what is kept, what is converted, what is refused."""

from __future__ import annotations

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mercer.rows import ArraySource, as_source


def test_blocks_are_views(X):
    block = next(ArraySource(X).blocks(10))
    assert np.shares_memory(block.X, X)
    rows = sparse.csr_array(X)
    block = next(ArraySource(rows).split(2)[0].blocks(10))
    assert np.shares_memory(block.X.data, rows.data)


def test_the_dtype_of_dense_rows_is_kept():
    for dtype in (np.int8, np.float16, np.float32, bool):
        assert next(ArraySource(np.ones((4, 2), dtype)).blocks(3)).X.dtype == dtype


def test_sparse_rows_stay_sparse(X):
    source = ArraySource(sparse.csc_matrix(X))
    assert next(source.blocks(10)).X.format == "csr"
    assert source.take(np.array([5, 5])).format == "csr"


def test_mapped_arrays_are_not_resident(tmp_path, X, y):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert ArraySource(mapped).resident_bytes == 0
    assert ArraySource(mapped, y).split(2)[0].resident_bytes == y[: len(y) // 2].nbytes
    assert ArraySource(X).resident_bytes == X.nbytes
    assert ArraySource(mapped, query=y).resident_bytes == y.nbytes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: ArraySource(X[:, 0]), "Reshape your data"),
        (lambda X: ArraySource(X + 1j), "Complex data not supported"),
        (lambda X: ArraySource(X.astype(str)), "must contain numbers"),
        (lambda X: ArraySource(X[:0]), r"0 sample\(s\)"),
        (lambda X: ArraySource(X[:, :0]), r"0 feature\(s\)"),
        (lambda X: ArraySource(np.array([["a", 1.0]], dtype=object)), "encode them"),
        (lambda X: ArraySource(X, X[:5, 0]), "X has 53 rows, y has 5"),
        (lambda X: ArraySource(X, "price"), "y must have the shape"),
        (lambda X: ArraySource(X, weight=X), "weight must be 1-D"),
        (lambda X: ArraySource(X, feature_names=["a"]), "3 columns, got 1 names"),
        (lambda X: ArraySource(X, query=[1, 2]), r"X has 53 rows, qid has the shape \(2,\)"),
        (lambda X: ArraySource(X).with_queries(X), "qid must be 1-D"),
        (lambda X: ArraySource(X, query="qid"), "qid must be 1-D"),
    ],
)
def test_arrays_that_are_refused(X, make, message):
    with pytest.raises(ValueError, match=message):
        make(X)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT, ""])
def test_a_missing_query_is_named(X, gap):
    query = np.array(["a"] * 53, dtype=object)
    ArraySource(X, query=query)
    query[7] = gap
    with pytest.raises(ValueError, match=r"qid must have a query in every row, got .* at row 7"):
        ArraySource(X, query=query)


@pytest.mark.parametrize("gap", [np.nan, np.datetime64("NaT", "D"), ""])
def test_a_missing_query_of_other_types_is_named(X, gap):
    query = np.array([gap] * 53)
    with pytest.raises(ValueError, match=r"at row 0: fill it in, or drop the row"):
        ArraySource(X, query=query)


def test_queries_are_kept_as_they_are(X):
    for query in (
        np.arange(53, dtype=np.uint8),
        np.arange(53).astype(str),
        np.array([0, 7, 1.5] * 17 + [0, 0], dtype=object),
    ):
        source = as_source(X, query=query)
        assert source.has_query
        found = next(source.blocks(60)).query
        assert found.dtype == query.dtype
        assert found.tolist() == query.tolist()
        at = next(source.at([5, 2]).blocks(2))
        assert at.query.tolist() == query[[5, 2]].tolist()
    empty = source.at([]).with_queries([])
    assert empty.has_query
    assert list(empty.queries(3)) == []


def test_objects_that_are_numbers_become_numbers(X):
    assert next(ArraySource(X.astype(object)).blocks(5)).X.dtype == np.float64


FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "pandas-nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "polars": lambda data: pl.DataFrame(data),
}


@pytest.fixture(params=["narwhals", "duck"])
def backend(request, monkeypatch):
    """Run with narwhals and as if it were not installed."""
    if request.param == "duck":
        real = builtins.__import__

        def fail(name, *args, **kwargs):
            if name == "narwhals":
                raise ImportError(name)
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", fail)
    return request.param


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_become_arrays_with_names(kind, backend):
    frame = FRAMES[kind]({"a": [1.5, 2.5], "b": [3, 4], "c": [True, False]})
    source = as_source(frame, y=frame["b"], weight=[1, 2], query=frame["b"])
    block = next(source.blocks(5))
    np.testing.assert_array_equal(block.X, [[1.5, 3, 1], [2.5, 4, 0]])
    assert block.X.dtype == np.float64
    np.testing.assert_array_equal(block.y, [3, 4])
    np.testing.assert_array_equal(block.query, [3, 4])
    assert source.feature_names == ["a", "b", "c"]


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_values_of_frames_are_nan(kind):
    columns = {"a": [1, None], "c": [0.5, None]}
    if kind != "pandas":  # where a gap turns booleans into objects
        columns["b"] = [True, None]
    X = next(as_source(FRAMES[kind](columns)).blocks(5)).X
    np.testing.assert_array_equal(X, [[1, 0.5, 1][: X.shape[1]], [np.nan] * X.shape[1]])


@pytest.mark.parametrize("kind", FRAMES)
def test_a_text_column_of_a_frame_is_named(kind, backend):
    frame = FRAMES[kind]({"a": [1.5, 2.5], "town": ["x", "y"]})
    with pytest.raises(ValueError, match=r"column 'town' .*exclude it with columns="):
        as_source(frame)


def test_frames_of_float32_stay_so():
    frame = pl.DataFrame({"a": np.ones(3, np.float32), "b": np.ones(3, np.float32)})
    assert next(as_source(frame).blocks(3)).X.dtype == np.float32

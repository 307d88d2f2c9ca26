"""One door to every kind of file, and memory that stays small behind it."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from source_files import table

from mercer.rows import (
    ArraySource,
    CsvSource,
    NpySource,
    NpzSource,
    ParquetSource,
    as_source,
    open_rows,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("rows.csv", CsvSource),
        ("rows.CSV", CsvSource),
        ("rows.tsv", CsvSource),
        ("rows.csv.gz", CsvSource),
        ("rows.tsv.gz", CsvSource),
        ("rows.parquet", ParquetSource),
        ("rows.npy", NpySource),
        ("rows.npz", NpzSource),
    ],
)
def test_the_extension_decides(tmp_path, X, y, name, kind):
    path = tmp_path / name
    if kind is CsvSource:
        tab = pa.csv.WriteOptions(delimiter="\t" if ".tsv" in name else ",")
        with pa.output_stream(str(path)) as stream:
            pa.csv.write_csv(table(X, t=y), stream, tab)
    elif kind is ParquetSource:
        pq.write_table(table(X, t=y), path)
    elif kind is NpySource:
        np.save(path, X)
        np.save(tmp_path / "t.npy", y)
    else:
        np.savez(path, X=X, t=y)
    target = str(tmp_path / "t.npy") if kind is NpySource else "t"
    for source in (open_rows(str(path), target), as_source(path, y=target)):
        assert isinstance(source, kind)
        block = next(source.blocks(100))
        np.testing.assert_array_equal(block.X, X)
        np.testing.assert_array_equal(block.y, y)
    if kind is not NpySource:
        for source in (open_rows(path, query="t"), as_source(path, query="t")):
            np.testing.assert_array_equal(next(source.blocks(100)).query, y)
            assert source.n_features == 3


def test_a_folder_takes_a_query(tmp_path, X, y):
    pq.write_table(table(X, t=y), tmp_path / "a.parquet")
    assert open_rows(tmp_path, query="t").has_query


def test_a_source_is_passed_through(X):
    source = ArraySource(X)
    assert as_source(source) is source


def test_without_a_target_all_columns_are_features(tmp_path, X, y, weight):
    pq.write_table(table(X, t=y, w=weight), tmp_path / "a.parquet")
    source = open_rows(tmp_path / "a.parquet", weight="w")
    assert source.feature_names == ["t", "a", "b", "c"]
    assert not source.has_target


def test_a_compressed_archive_is_streamed(tmp_path):
    shape = (100_000, 100)  # 80 MB
    X = np.zeros(shape)
    X[:, 0] = np.arange(shape[0])
    np.savez_compressed(tmp_path / "a.npz", X=X, y=X[:, 0])
    del X
    source = NpzSource(tmp_path / "a.npz")
    assert len(pickle.dumps(source)) < 1000
    tracemalloc.start()
    try:
        total = sum(block.X[:, 0].sum() for block in source.blocks(2048))
        peak_blocks = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        taken = source.take(np.array([99_999, 5]))[:, 0]
        peak_take = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == shape[0] * (shape[0] - 1) / 2
    assert taken.tolist() == [99_999, 5]
    assert peak_blocks < 12e6
    assert peak_take < 40e6


def test_arrays_in_fortran_order_are_announced_as_resident(tmp_path, X):
    np.savez(tmp_path / "a.npz", X=np.asfortranarray(X))
    assert NpzSource(tmp_path / "a.npz").resident_bytes == X.nbytes
    np.savez(tmp_path / "a.npz", X=X)
    assert NpzSource(tmp_path / "a.npz").resident_bytes == 0


def test_a_mapped_file_pickles_as_its_path(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((50_000, 10)))
    source = NpySource(tmp_path / "X.npy")
    list(source.blocks(1000))
    assert len(pickle.dumps(source)) < 1000
    assert source.resident_bytes == 0


def test_blocks_of_a_mapped_file_are_not_copied(tmp_path, X):
    np.save(tmp_path / "X.npy", X)
    assert not next(NpySource(tmp_path / "X.npy").blocks(10)).X.flags.owndata

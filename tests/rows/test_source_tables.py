"""CSV and Parquet: types, names, missing values and row groups."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_files import table, write

from mercer.rows import CsvSource, ParquetSource
from mercer.rows import csv as csv_module


@pytest.fixture
def small_blocks(monkeypatch):
    """Let the CSV parser see a few lines at a time, as it sees a part of a large file."""
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_module, "VALUE_BYTES", 8)


def test_a_decimal_may_follow_integers(tmp_path, small_blocks):
    path = write(tmp_path / "a.csv", "a,t", *["1,2"] * 50, "1.5,2.5")
    source = CsvSource(path, target="t")
    block = next(source.blocks(100))
    assert block.X[-1, 0] == 1.5
    assert block.y.dtype == np.float64
    assert block.y[-1] == 2.5
    assert [part.dtype for part in source.targets(10)] == [np.dtype(float)] * 6


def test_integers_of_the_target_stay_integers(tmp_path):
    source = CsvSource(write(tmp_path / "a.csv", "a,t", "1,2", "3,4"), target="t")
    assert next(source.targets(5)).dtype == np.int64


def test_integers_of_a_query_stay_integers_next_to_a_decimal_target(tmp_path, small_blocks):
    large = 2**60 + 1
    path = write(tmp_path / "a.csv", "a,t,q", *[f"1,2,{large}"] * 50, f"1,2.5,{large}")
    block = next(CsvSource(path, target="t", query="q").blocks(100))
    assert block.y[-1] == 2.5
    assert set(block.query.tolist()) == {large}
    path = write(tmp_path / "b.csv", "a,t,q", *["1,2,7"] * 50, "1,2,7.5")
    block = next(CsvSource(path, target="t", query="q").blocks(100))
    assert block.y.dtype == np.int64
    assert set(block.query.tolist()) == {7.0, 7.5}


def test_a_query_column_is_no_feature(tmp_path, X, y):
    path = tmp_path / "a.parquet"
    pq.write_table(table(X, q=y, t=y), path, row_group_size=10)
    source = ParquetSource(path, target="t", query="q")
    assert source.feature_names == ["a", "b", "c"]
    assert ParquetSource(path, target="t").feature_names == ["q", "a", "b", "c"]
    assert not ParquetSource(path, target="t").has_query


def test_a_missing_query_of_a_file_is_named_by_its_row(tmp_path, small_blocks):
    lines = [f"{row},1" for row in range(30)]
    path = write(tmp_path / "a.csv", "q,a", *lines, ",1", "5,1")
    source = CsvSource(path, query="q")
    for read in (source.blocks, source.queries, source.split(2)[1].blocks):
        with pytest.raises(ValueError, match=r"a\.csv must have a query .*got nan at row 30"):
            list(read(7))
    path = write(tmp_path / "b.csv", "q,a", "x,1", "y,1", ",1")
    with pytest.raises(ValueError, match="got '' at row 2"):
        list(CsvSource(path, query="q").blocks(2))
    columns = {"a": np.ones(25), "q": ["x"] * 22 + [None, "y", "x"]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=5)
    with pytest.raises(ValueError, match=r"a\.parquet must have a query .*got None at row 22"):
        list(ParquetSource(tmp_path / "a.parquet", query="q").queries(100))
    assert ParquetSource(tmp_path / "a.parquet", query="q").take(np.array([22])).tolist() == [[1]]


def test_booleans_and_missing_values_of_csv(tmp_path, small_blocks):
    path = write(tmp_path / "a.csv", "a,b,c", *[",true,1"] * 20, "7,,")
    X = next(CsvSource(path).blocks(30)).X
    np.testing.assert_array_equal(X[0], [np.nan, 1, 1])
    np.testing.assert_array_equal(X[-1], [7, np.nan, np.nan])


def test_quoted_newlines_and_other_delimiters(tmp_path, small_blocks):
    path = write(tmp_path / "a.csv", "a;t", *['1;"two\nlines of it"'] * 20)
    source = CsvSource(path, target="t", delimiter=";")
    assert source.n_rows == 20
    assert set(np.concatenate(list(source.targets(7)))) == {"two\nlines of it"}


def test_a_line_longer_than_a_block_of_the_parser(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)
    names = ",".join(f"c{i}" for i in range(200))
    path = write(tmp_path / "a.csv", names, *[",".join(["1.2345678"] * 200)] * 3)
    assert CsvSource(path).n_features == 200


def test_text_of_a_column_that_is_not_read_does_not_matter(tmp_path, small_blocks):
    path = write(tmp_path / "a.csv", "town,a,t", *["Rome,1,x"] * 20, "7,2.5,y")
    source = CsvSource(path, target="t", columns=["a"])
    assert source.feature_names == ["a"]
    assert next(source.blocks(50)).y[-1] == "y"


def test_missing_values_and_types_of_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "i": pa.array([1, None, 3]),
        "b": pa.array([True, None, False]),
        "d": pa.array([1, None, 2], pa.decimal128(10, 2)),
        "n": pa.nulls(3),
        "s": pa.array([0.5, None, 1.5], pa.float32()),
        "a.b": pa.array([1.0, 2.0, 3.0]),
    }
    pq.write_table(pa.table(columns), path)
    X = next(ParquetSource(path).blocks(5)).X
    none = np.nan
    np.testing.assert_array_equal(
        X, [[1, 1, 1, none, 0.5, 1], [none] * 5 + [2], [3, 0, 2, none, 1.5, 3]]
    )
    assert X.dtype == np.float64


def test_targets_of_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "x": np.arange(4.0),
        "class": pa.array(["u", "v", "u", "w"]).dictionary_encode(),
        "flag": [True, False, True, True],
        "gap": pa.array([1, None, 3, 4]),
        "hole": pa.array(["a", None, "b", "a"]),
    }
    pq.write_table(pa.table(columns), path, row_group_size=2)

    def target(name):
        return np.concatenate(list(ParquetSource(path, name, columns=["x"]).targets(3)))

    assert target("class").tolist() == ["u", "v", "u", "w"]
    assert target("flag").dtype == bool
    np.testing.assert_array_equal(target("gap"), [1, np.nan, 3, 4])
    assert target("hole").tolist() == ["a", None, "b", "a"]


def test_numbers_of_several_widths_agree(tmp_path):
    for name, dtype in (("0", np.int32), ("1", np.float64)):
        part = pa.table({"x": np.ones(3, np.float32), "t": np.arange(3, dtype=dtype)})
        pq.write_table(part, tmp_path / f"{name}.parquet")
    source = ParquetSource(tmp_path, target="t")
    assert [block.y.dtype for block in source.blocks(2)] == [np.dtype(float)] * 3
    assert next(source.blocks(2)).X.dtype == np.float32


def test_only_the_needed_row_groups_and_columns_are_read(tmp_path, X, y, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(table(X, t=y), path, row_group_size=10)
    read = []
    real = pq.ParquetFile.iter_batches

    def spy(self, batch_size, row_groups, columns, **options):
        read.append((row_groups, columns))
        return real(self, batch_size, row_groups, columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    source = ParquetSource(path, target="t", columns=["b"])
    source.take(np.array([42, 11, 47]))
    assert read == [([1], ["b"]), ([4], ["b"])]
    read.clear()
    list(source.targets(100))
    assert {columns[0] for _, columns in read} == {"t"}


def test_parts_are_cut_at_row_groups_where_that_is_possible(tmp_path, X):
    path = tmp_path / "a.parquet"
    pq.write_table(table(X), path, row_group_size=10)
    source = ParquetSource(path)
    assert [part.n_rows for part in source.split(2)] == [30, 23]
    assert [part.n_rows for part in source.split(6)] == [10, 10, 10, 10, 10, 3]
    assert [part.n_rows for part in source.split(7)] == [7, 8, 7, 8, 7, 8, 8]


def test_parts_are_even_rather_than_cut_at_row_groups(tmp_path, X):
    for name, rows in (("0", 50), ("1", 3)):
        pq.write_table(table(X[:rows]), tmp_path / f"{name}.parquet")
    assert [part.n_rows for part in ParquetSource(tmp_path).split(2)] == [26, 27]


def test_row_groups_without_rows(tmp_path, X):
    with pq.ParquetWriter(tmp_path / "a.parquet", table(X).schema) as writer:
        for start, stop in ((0, 0), (0, 20), (20, 20), (20, 53), (53, 53)):
            writer.write_table(table(X[start:stop]))
    source = ParquetSource(tmp_path / "a.parquet")
    np.testing.assert_array_equal(next(source.blocks(100)).X, X)
    np.testing.assert_array_equal(source.take(np.array([20, 19, 52])), X[[20, 19, 52]])
    assert [part.n_rows for part in source.split(2)] == [20, 33]


def test_file_sources_pickle_small(tmp_path):
    big = np.random.default_rng(0).normal(size=(20_000, 3))
    pq.write_table(table(big), tmp_path / "a.parquet", row_group_size=1000)
    assert len(pickle.dumps(ParquetSource(tmp_path / "a.parquet"))) < 4_000


def test_a_relative_path_still_holds_in_another_folder(tmp_path, X, monkeypatch):
    pq.write_table(table(X), tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    source = ParquetSource("a.parquet")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert next(source.blocks(5)).n_rows == 5

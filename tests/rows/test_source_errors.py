"""What goes wrong with files says which file, what must be, and what to try."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_files import refuses, table, write

from mercer.rows import (
    ArraySource,
    CsvSource,
    NpySource,
    NpzSource,
    ParquetSource,
    as_source,
    dialect,
    open_rows,
)
from mercer.rows import csv as csv_module


@pytest.fixture
def parquet(tmp_path, X, y):
    pq.write_table(table(X, price=y), tmp_path / "houses.parquet")
    return tmp_path / "houses.parquet"


@pytest.fixture
def csv(tmp_path):
    return write(tmp_path / "houses.csv", "rooms,area,town,price", "1,2,Rome,3", "4,5,Oslo,6")


def test_missing_files(tmp_path, parquet):
    wrong = tmp_path / "house.parquet"
    for make in (ParquetSource, CsvSource, NpySource, NpzSource, open_rows, as_source):
        refuses(
            lambda make=make: make(wrong),
            "house.parquet",
            "did you mean 'houses.parquet'?",
            error=FileNotFoundError,
        )
    nowhere = tmp_path / "no" / "such.csv"
    refuses(lambda: open_rows(nowhere), "does not exist", error=FileNotFoundError)
    (tmp_path / "void").mkdir()
    refuses(lambda: open_rows(tmp_path / "void" / "a.csv"), "empty", error=FileNotFoundError)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npy", "a.npz"])
def test_empty_files(tmp_path, name):
    (tmp_path / name).touch()
    refuses(lambda: open_rows(tmp_path / name), name, "0 bytes")


def test_files_without_rows(tmp_path):
    refuses(lambda: CsvSource(write(tmp_path / "a.csv", "a,b")), "a.csv", "at least one row")
    pq.write_table(pa.table({"a": np.zeros(0)}), tmp_path / "a.parquet")
    refuses(lambda: ParquetSource(tmp_path / "a.parquet"), "a.parquet", "at least one row")
    np.savez(tmp_path / "a.npz", X=np.zeros((0, 3)))
    refuses(lambda: NpzSource(tmp_path / "a.npz"), "a.npz", "at least one row")


def test_unknown_extensions(tmp_path):
    path = write(tmp_path / "rows.cvs", "a,b", "1,2")
    refuses(lambda: open_rows(path), "rows.cvs", "'.cvs'", "did you mean '.csv'")
    refuses(lambda: open_rows(write(tmp_path / "rows", "a")), "'none'", "'.parquet'")


def test_folders(tmp_path, X):
    write(tmp_path / "notes.txt", "hello")
    refuses(lambda: open_rows(tmp_path), "must have .parquet files", "notes.txt")
    refuses(lambda: CsvSource(tmp_path), "got a folder", error=IsADirectoryError)
    pq.write_table(table(X), tmp_path / "a.parquet")
    assert open_rows(tmp_path).n_rows == len(X)
    refuses(lambda: ParquetSource([]), "at least one")


def test_missing_columns(csv, parquet):
    for path in (csv, parquet):
        close = refuses(lambda path=path: open_rows(path, target="prise"), str(path), "'prise'")
        assert "did you mean 'price'?" in str(close)
        refuses(lambda path=path: open_rows(path, columns=["zzz"]), "no column 'zzz'", "'price'")
        refuses(lambda path=path: open_rows(path, weight="w"), "no weight column 'w'")
        refuses(lambda path=path: open_rows(path, query="qid"), "no query column 'qid'")


def test_contradictory_columns(csv, parquet):
    refuses(
        lambda: CsvSource(csv, target="price", columns=["rooms", "price"]),
        "'price' as both a feature and the target",
    )
    refuses(lambda: ParquetSource(parquet, weight="a", columns=["a"]), "both a feature and the we")
    refuses(lambda: ParquetSource(parquet, target="a", weight="a"), "two columns")
    refuses(lambda: ParquetSource(parquet, target="a", query="a"), "target and query", "two col")
    refuses(lambda: CsvSource(csv, weight="area", query="area"), "weight and query", "two columns")
    refuses(lambda: CsvSource(csv, query="town", columns=["town"]), "a feature and the query")
    refuses(lambda: ParquetSource(parquet, query=3), "query must be the name", error=TypeError)
    refuses(lambda: ParquetSource(parquet, columns=["a", "a"]), "'a' again")
    refuses(lambda: ParquetSource(parquet, columns=[]), "at least one feature")
    refuses(lambda: ParquetSource(parquet, columns="a"), "write ['a']", error=TypeError)
    refuses(lambda: ParquetSource(parquet, target=3), "name of a column", error=TypeError)


def test_text_among_the_features(csv, tmp_path, X, labels):
    refuses(lambda: CsvSource(csv), "'town'", "encode it", "columns=")
    refuses(
        lambda: CsvSource(csv, weight="town", columns=["area"]), "'town'", "must contain numbers"
    )
    pq.write_table(table(X, kind=labels), tmp_path / "a.parquet")
    refuses(lambda: ParquetSource(tmp_path / "a.parquet"), "'kind'", "encode it", "columns=")


def test_dates(tmp_path):
    path = write(tmp_path / "a.csv", "when,a", "2020-01-01,2", "2020-01-02,3")
    refuses(lambda: CsvSource(path), "'when'", "date32")
    refuses(lambda: CsvSource(path, target="when"), "'when'", "numbers or labels", "date32")
    refuses(lambda: CsvSource(path, query="when"), "query", "'when'", "numbers or text", "date32")


def test_parquet_schemas_that_differ(tmp_path, X, labels):
    pq.write_table(table(X), tmp_path / "0.parquet")
    pq.write_table(table(X).rename_columns(["a", "bb", "c"]), tmp_path / "1.parquet")
    refuses(lambda: ParquetSource(tmp_path), "1.parquet", "no column 'b'", "'bb'")
    pq.write_table(pa.table({"a": X[:, 0], "b": labels, "c": X[:, 2]}), tmp_path / "1.parquet")
    refuses(lambda: ParquetSource(tmp_path), "1.parquet", "'b'", "text", "number", "0.parquet")
    assert ParquetSource(tmp_path, columns=["a", "c"]).n_rows == 2 * len(X)


def test_damaged_parquet(parquet):
    data = parquet.read_bytes()
    for damaged in (data[:200], data[:-100] + data[-8:], b"no parquet at all"):
        parquet.write_bytes(damaged)
        error = refuses(lambda: ParquetSource(parquet), str(parquet), "as Parquet", "damaged")
        assert error.__cause__ is not None


def test_parquet_damaged_inside(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": np.arange(5000.0)}), path, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[2000:2050] = bytes(50)
    path.write_bytes(data)
    source = ParquetSource(path)
    refuses(lambda: list(source.blocks(100)), str(path), "damaged")
    refuses(lambda: source.take(np.array([4000])), str(path), "damaged")


def test_ragged_csv(tmp_path):
    path = write(tmp_path / "a.csv", "a,b", *["1,2"] * 5, "1,2,3")
    refuses(
        lambda: CsvSource(path),
        str(path),
        "Expected 2 columns, got 3 at line 7 of a.csv: 1,2,3",
        "as many values",
    )


def test_text_far_down_a_column_of_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_module, "VALUE_BYTES", 8)
    path = write(tmp_path / "a.csv", "a,b,c,t", *["1,2,3,4"] * 50, "1,2,oops,4")
    for columns in (None, ["c"], ["a", "c"]):
        make = lambda columns=columns: CsvSource(path, target="t", columns=columns)  # noqa: E731
        refuses(make, str(path), "'oops'", "column 'c' at line 52 of a.csv", "columns=")


def test_damaged_csv(tmp_path):
    lines = "a,b\n" + "".join(f"{i},{i * 7919 % 104729}\n" for i in range(20_000))
    path = tmp_path / "a.csv.gz"
    packed = gzip.compress(lines.encode())
    for damaged in (packed[: len(packed) // 2], b"not packed at all"):
        path.write_bytes(damaged)
        refuses(lambda: CsvSource(path, target="b"), str(path), "damaged")


def test_csv_in_another_encoding_far_down(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)
    monkeypatch.setattr(dialect, "SAMPLE_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_bytes(("a,t\n" + "1,Rome\n" * 50 + "2,Köln\n").encode("latin-1"))
    refuses(lambda: CsvSource(path, target="t"), str(path), "must be UTF-8", "line 52 of a.csv")


def test_csv_without_names(tmp_path):
    path = write(tmp_path / "a.csv", "1.5,2.5", "3.5,4.5")
    refuses(lambda: CsvSource(path), "line of column names", "1.5")
    path = write(tmp_path / "b.csv", "1,1", "3,4")
    refuses(lambda: CsvSource(path), "'1' names more than one", "first line")
    assert CsvSource(write(tmp_path / "c.csv", "0,1", "3,4")).feature_names == ["0", "1"]
    refuses(lambda: CsvSource(path, delimiter="::"), "one character")


def test_a_file_that_changes_under_a_source(tmp_path):
    path = write(tmp_path / "a.csv", "a,b", *["1,2"] * 9)
    source = CsvSource(path)
    write(path, "a,b", "1,2")
    refuses(lambda: list(source.blocks(5)), str(path), "must not change")
    refuses(lambda: source.take(np.array([8])), str(path), "must not change")


def test_pyarrow_that_is_not_installed(csv, parquet, monkeypatch):
    for module in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    for path in (csv, parquet):
        refuses(lambda path=path: open_rows(path), "pip install mercer[files]", error=ImportError)


def test_targets_next_to_a_source_or_a_path(csv, X, y):
    refuses(lambda: as_source(ArraySource(X), y), "y must be part of the source")
    refuses(lambda: as_source(ArraySource(X), weight=y), "weight must be part of the source")
    refuses(lambda: as_source(csv, y), "y must be the name of a column", error=TypeError)
    refuses(lambda: as_source(ArraySource(X), query=y), "qid must be part of the source")
    refuses(lambda: as_source(csv, query=y), "qid must be the name of a column", error=TypeError)

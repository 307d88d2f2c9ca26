"""Tables as files, read back by others; and fingerprints of rows, files and parameters."""

import datetime
import io
import os

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from mercer.storage import (
    TABLE_WRITERS,
    fingerprint,
    fingerprint_rows,
    input_identity,
    write_csv,
    write_table,
)

TABLE = {
    "row": np.arange(3),
    "value": np.array([0.1 + 0.2, np.nan, 1e-300]),
    "class": np.array(["a", "é", "c,d"]),
    "object": np.array(["x", "y", "z"], dtype=object),
    "label": [None, None, None],
    "mixed": [1, "two", None],
    "day": [datetime.date(2020, 1, day) for day in (1, 2, 3)],
}


def test_csv_reads_back_as_the_same_numbers(tmp_path):
    write_table(TABLE, tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_bytes().decode()
    assert text.splitlines()[0] == "row,value,class,object,label,mixed,day"
    assert text.splitlines()[1] == "0,0.30000000000000004,a,x,,1,2020-01-01"
    assert '"c,d"' in text
    assert "\r" not in text
    stream = io.StringIO()
    write_csv(TABLE, stream)
    assert stream.getvalue() == text


def test_parquet_keeps_types(tmp_path):
    write_table(TABLE, tmp_path / "t.PARQUET")
    found = pq.read_table(tmp_path / "t.PARQUET")
    types = {field.name: str(field.type) for field in found.schema}
    assert types == {
        "row": "int64",
        "value": "double",
        "class": "string",
        "object": "string",
        "label": "string",  # a column of nulls could not be filled in by many tools
        "mixed": "string",
        "day": "date32[day]",
    }
    assert found["mixed"].to_pylist() == ["1", "two", None]
    assert found["label"].to_pylist() == [None] * 3


def test_npy_holds_no_objects(tmp_path):
    write_table({name: TABLE[name] for name in ("row", "value", "object")}, tmp_path / "t.npy")
    found = np.load(tmp_path / "t.npy", allow_pickle=False)
    assert type(found) is np.ndarray
    assert found.dtype == [("row", "<i8"), ("value", "<f8"), ("object", "<U1")]
    assert found["object"].tolist() == ["x", "y", "z"]


@pytest.mark.parametrize("suffix", TABLE_WRITERS)
def test_a_failed_write_leaves_nothing(suffix, tmp_path):
    with pytest.raises((TypeError, ValueError)):
        write_table({"a": [1, 2], "b": [1]}, tmp_path / f"t{suffix}")
    assert not list(tmp_path.iterdir())


def test_rows_are_known_by_values_and_order():
    X = np.arange(12.0).reshape(6, 2) % 5
    found = fingerprint_rows([X])
    assert found == fingerprint_rows([X[:1], X[1:4], X[4:]])
    assert found == fingerprint_rows([np.asfortranarray(X.astype(np.float32))])
    assert fingerprint_rows([-X * 0]) == fingerprint_rows([X * 0])
    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], 9)
    assert found != fingerprint_rows([other])
    assert found != fingerprint_rows([X[[1, 0, 2, 3, 4, 5]]])


def test_sparse_rows_are_known_by_their_nonzeros():
    X = sparse.csr_array(np.arange(12.0).reshape(6, 2) % 3)
    stored = X.copy()
    stored.data = np.where(stored.data == 2, 0.0, stored.data)  # zeros that are stored
    dropped = stored.copy()
    dropped.eliminate_zeros()
    assert fingerprint_rows([stored]) == fingerprint_rows([dropped[:2], dropped[2:]])
    assert fingerprint_rows([stored]) != fingerprint_rows([X])
    assert fingerprint_rows([X[:, [1, 0]]]) != fingerprint_rows([X])


def test_inputs_are_known_by_their_files(tmp_path):
    file, folder = tmp_path / "a.csv", tmp_path / "parts"
    file.write_text("1")
    folder.mkdir()
    (folder / "0.parquet").write_text("0")

    def known():
        return [fingerprint(input_identity(part)) for part in (file, [str(file)], folder)]

    before = known()
    assert known() == before
    os.utime(file, ns=(0, 10**9))
    after = known()
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert after[2] == before[2]
    (folder / "1.parquet").write_text("1")
    assert known()[2] != before[2]
    assert input_identity("price") == "price"
    assert input_identity(None) is None


def test_dask_collections_are_known_by_their_token():
    da = pytest.importorskip("dask.array")
    X = np.arange(6.0)
    first, second = (fingerprint(input_identity(da.from_array(X, chunks=2))) for _ in range(2))
    assert first == second
    assert first != fingerprint(input_identity(da.from_array(X + 1, chunks=2)))

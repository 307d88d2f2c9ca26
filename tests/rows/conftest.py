"""The same rows written in every way that can be read back."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from source_files import table

from mercer.contracts import RowSource
from mercer.rows import (
    ArraySource,
    CsvSource,
    NpySource,
    NpzSource,
    ParquetSource,
    SvmlightSource,
    svmlight,
    write_svmlight,
)

N_ROWS, N_FEATURES = 53, 3
QUERY = 2**60 + np.arange(N_ROWS) // 5  # too large for floats
NAMED_QUERY = np.array(["b", "c", "longer than the others", "a"])[np.arange(N_ROWS) // 15]


@dataclass
class Case:
    """A source and the arrays it must give back."""

    source: RowSource
    X: np.ndarray
    y: np.ndarray | None
    weight: np.ndarray | None
    query: np.ndarray | None = None


@pytest.fixture(scope="session")
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES))


@pytest.fixture(scope="session")
def y() -> np.ndarray:
    return np.arange(N_ROWS) % 4


@pytest.fixture(scope="session")
def labels() -> np.ndarray:
    return np.array(["low", "middle", "very high"])[np.arange(N_ROWS) % 3]


@pytest.fixture(scope="session")
def weight() -> np.ndarray:
    return np.random.default_rng(1).uniform(0.5, 2.0, size=N_ROWS)


def write_npz(path: Path, save: Callable[..., None], **arrays: np.ndarray) -> Path:
    save(path, **arrays)
    return path


def _array(folder, X, y, labels, weight):
    return Case(ArraySource(X, labels, weight), X, labels, weight)


def _array_two_outputs(folder, X, y, labels, weight):
    Y = np.column_stack([y, -y])
    return Case(ArraySource(X.astype(np.float32), Y), X.astype(np.float32), Y, None)


def _array_mapped(folder, X, y, labels, weight):
    np.save(folder / "X.npy", X)
    return Case(ArraySource(np.load(folder / "X.npy", mmap_mode="r"), y), X, y, None)


def _array_sparse(folder, X, y, labels, weight):
    X = np.where(X > 0, X, 0.0)
    return Case(ArraySource(sparse.coo_array(X), y, weight), X, y, weight)


def _npy(folder, X, y, labels, weight):
    np.save(folder / "X.npy", X)
    np.save(folder / "labels.npy", labels)
    return Case(NpySource(folder / "X.npy", folder / "labels.npy"), X, labels, None)


def _npy_fortran_integers(folder, X, y, labels, weight):
    X = np.asfortranarray((X * 10).astype(np.int16))
    np.save(folder / "X.npy", X)
    return Case(NpySource(folder / "X.npy"), X.astype(float), None, None)


def _npz_stored(folder, X, y, labels, weight):
    path = write_npz(folder / "rows.npz", np.savez, X=X, y=labels)
    return Case(NpzSource(path), X, labels, None)


def _npz_compressed(folder, X, y, labels, weight):
    single = X.astype(">f4")
    Y = np.column_stack([y, y + 1])
    path = write_npz(folder / "rows.npz", np.savez_compressed, Z=single, t=Y, w=weight)
    return Case(NpzSource(path, X="Z", y="t", weight="w"), single.astype(np.float32), Y, weight)


def _npz_fortran(folder, X, y, labels, weight):
    path = write_npz(folder / "rows.npz", np.savez_compressed, X=np.asfortranarray(X), y=y)
    return Case(NpzSource(path), X, y, None)


def _csv(folder, X, y, labels, weight):
    pa.csv.write_csv(table(X, kind=labels, w=weight), folder / "rows.csv")
    return Case(CsvSource(folder / "rows.csv", "kind", "w"), X, labels, weight)


def _csv_packed(folder, X, y, labels, weight):
    pa.csv.write_csv(table(X, t=y), folder / "rows.csv")
    with gzip.open(folder / "rows.csv.gz", "wb") as stream:
        stream.write((folder / "rows.csv").read_bytes())
    source = CsvSource(folder / "rows.csv.gz", target="t", columns=["c", "a"])
    return Case(source, X[:, [2, 0]], y, None)


def _tsv(folder, X, y, labels, weight):
    options = pa.csv.WriteOptions(delimiter="\t")
    pa.csv.write_csv(table(X), folder / "rows.tsv", options)
    return Case(CsvSource(folder / "rows.tsv"), X, None, None)


def _parquet(folder, X, y, labels, weight):
    pq.write_table(table(X, kind=labels, w=weight), folder / "rows.parquet", row_group_size=10)
    return Case(ParquetSource(folder / "rows.parquet", "kind", "w"), X, labels, weight)


def _parquet_one_group(folder, X, y, labels, weight):
    single = X.astype(np.float32)
    pq.write_table(table(single, t=y), folder / "rows.parquet")
    source = ParquetSource(folder / "rows.parquet", target="t", columns=["b", "c"])
    return Case(source, single[:, 1:], y, None)


def write_parts(folder, X, y, weight):
    whole = table(X, t=y, w=weight)
    for name, start, stop in (("2", 20, 53), ("0", 0, 19), ("1", 19, 20)):
        part = whole.slice(start, stop - start)
        pq.write_table(part, folder / f"part-{name}.parquet", row_group_size=7)


def _parquet_folder(folder, X, y, labels, weight):
    write_parts(folder, X, y, weight)
    return Case(ParquetSource(folder, "t", "w"), X, y, weight)


def _parquet_list(folder, X, y, labels, weight):
    write_parts(folder, X, y, weight)
    files = [folder / f"part-{number}.parquet" for number in (2, 0, 1)]
    order = [*range(20, 53), *range(20)]
    source = ParquetSource(files, target="t", columns=["a", "b", "c"])
    return Case(source, X[order], y[order], None)


def _array_queries(folder, X, y, labels, weight):
    source = ArraySource(X, y, weight, query=list(NAMED_QUERY))
    return Case(source, X, y, weight, NAMED_QUERY)


def _array_sparse_queries(folder, X, y, labels, weight):
    X = np.where(X > 0, X, 0.0)
    return Case(ArraySource(sparse.csr_array(X), y).with_queries(QUERY), X, y, None, QUERY)


def _npz_queries(folder, X, y, labels, weight):
    path = write_npz(folder / "rows.npz", np.savez_compressed, X=X, w=weight, qid=QUERY)
    return Case(NpzSource(path, weight="w", query="qid"), X, None, weight, QUERY)


def _npz_named_queries(folder, X, y, labels, weight):
    path = write_npz(folder / "rows.npz", np.savez, X=X, y=labels, q=NAMED_QUERY)
    return Case(NpzSource(path, query="q"), X, labels, None, NAMED_QUERY)


def _csv_queries(folder, X, y, labels, weight):
    pa.csv.write_csv(table(X, t=y, q=QUERY), folder / "rows.csv")
    return Case(CsvSource(folder / "rows.csv", "t", query="q"), X, y, None, QUERY)


def _csv_named_queries(folder, X, y, labels, weight):
    pa.csv.write_csv(table(X, q=NAMED_QUERY, kind=labels, w=weight), folder / "rows.csv")
    source = CsvSource(folder / "rows.csv", "kind", "w", query="q")
    return Case(source, X, labels, weight, NAMED_QUERY)


def _parquet_queries(folder, X, y, labels, weight):
    columns = table(X, q=QUERY, t=y, w=weight)
    pq.write_table(columns, folder / "rows.parquet", row_group_size=10)
    source = ParquetSource(folder / "rows.parquet", "t", "w", query="q")
    return Case(source, X, y, weight, QUERY)


def _parquet_named_queries(folder, X, y, labels, weight):
    columns = table(X, q=pa.array(NAMED_QUERY).dictionary_encode())
    pq.write_table(columns, folder / "rows.parquet", row_group_size=10)
    return Case(ParquetSource(folder, columns=["b"], query="q"), X[:, [1]], None, None, NAMED_QUERY)


def _svmlight(folder, X, y, labels, weight):
    write_svmlight(folder / "rows.svm", X, y)
    return Case(SvmlightSource(folder / "rows.svm"), X, y, None)


def _svmlight_queries_in_chunks(folder, X, y, labels, weight):
    X = np.where(X > 0, X, 0.0)
    write_svmlight(folder / "rows.letor", X, y / 3, QUERY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "CHUNK_BYTES", 300)
        patch.setattr(svmlight, "CHUNK_ROWS", 4)
        source = SvmlightSource(folder / "rows.letor")
    return Case(source, X, y / 3, None, QUERY)


CASES = [
    _array,
    _array_two_outputs,
    _array_mapped,
    _array_sparse,
    _npy,
    _npy_fortran_integers,
    _npz_stored,
    _npz_compressed,
    _npz_fortran,
    _csv,
    _csv_packed,
    _tsv,
    _parquet,
    _parquet_one_group,
    _parquet_folder,
    _parquet_list,
    _array_queries,
    _array_sparse_queries,
    _npz_queries,
    _npz_named_queries,
    _csv_queries,
    _csv_named_queries,
    _parquet_queries,
    _parquet_named_queries,
    _svmlight,
    _svmlight_queries_in_chunks,
]


@pytest.fixture(scope="session", params=CASES, ids=lambda make: make.__name__.strip("_"))
def case(request, tmp_path_factory, X, y, labels, weight) -> Case:
    """A source, written once for all tests: they only read it."""
    return request.param(tmp_path_factory.mktemp("case"), X, y, labels, weight)
